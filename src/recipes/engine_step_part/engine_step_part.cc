#include "recipes/engine_step_part/engine_step_part.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/strings.h"
#include "recipes/recipe.h"
#include "recipes/request_time/steps.h"

namespace sonde::recipes {
namespace {

using store::EngineStepRow;

// What the rank that ended last did in a step; ends of 0: not recorded.
struct LastRankWork {
  Interval step;
  Interval execute;   // of the model's runner
  Interval forward;   // within it
  Interval sampling;  // behind it
};

bool IsRecorded(const Interval& one) { return one.end_ns > one.start_ns; }

// The step of a rank that ended last.
const store::StepRow* LastRank(const store::RowTables& tables, const EngineStepRow& row) {
  std::set<int32_t> slices;
  for (const store::FlowRow& flow : tables.Rows<store::FlowRow>()) {
    if (row.slice_id >= 0 && flow.slice_out == row.slice_id) slices.insert(flow.slice_in);
  }
  const store::StepRow* last = nullptr;
  for (const store::StepRow& rank : tables.Rows<store::StepRow>()) {
    if (rank.dur < 0 || !slices.contains(rank.slice_id)) continue;
    if (last == nullptr || rank.ts + rank.dur > last->ts + last->dur) last = &rank;
  }
  return last;
}

// Spans everything that it is given.
void Widen(Interval& span, int64_t begin_ns, int64_t end_ns) {
  if (!IsRecorded(span)) {
    span = {begin_ns, end_ns};
    return;
  }
  span.start_ns = std::min(span.start_ns, begin_ns);
  span.end_ns = std::max(span.end_ns, end_ns);
}

LastRankWork LastRankWorkOf(const store::RowTables& tables, const store::StepRow& rank) {
  std::set<int32_t> tracks;
  for (const store::TrackRow& track : tables.Rows<store::TrackRow>()) {
    if (track.process_id == rank.process_id) tracks.insert(track.track_id);
  }
  LastRankWork work;
  work.step = {rank.ts, rank.ts + rank.dur};
  std::vector<Interval> modules;
  Interval scope;
  for (const store::SliceRow& slice : tables.Rows<store::SliceRow>()) {
    const int64_t end_ns = slice.ts + slice.dur;
    if (slice.dur < 0 || slice.ts < work.step.start_ns || end_ns > work.step.end_ns) continue;
    if (!tracks.contains(slice.track_id)) continue;
    const std::string_view name = NameIn(tables, slice.name);
    if (name == "execute model") Widen(work.execute, slice.ts, end_ns);
    if (name == "sample tokens") Widen(work.sampling, slice.ts, end_ns);
    if (name == "gpu_model_runner: forward") Widen(scope, slice.ts, end_ns);
    if (NameIn(tables, slice.category) == "module") modules.push_back({slice.ts, end_ns});
  }
  // The sampler is a module, too.
  for (const Interval& module : modules) {
    if (module.start_ns < work.execute.start_ns || module.end_ns > work.execute.end_ns) continue;
    Widen(work.forward, module.start_ns, module.end_ns);
  }
  if (IsRecorded(scope)) work.forward = scope;
  return work;
}

// Goes through a step from its begin to its end.
class StepWalk {
 public:
  explicit StepWalk(const EngineStep& step) : at_ns_(step.begin_ns) {
    const EngineStepRow& row = *step.row;
    parts_.step_id = row.step_id;
    parts_.engine = row.engine;
    parts_.requests = row.prefill_requests + row.decode_requests;
    parts_.tokens = row.prefill_tokens + row.decode_tokens;
    parts_.begin_ns = step.begin_ns;
  }

  void Until(int64_t to_ns, StepPart part) {
    if (to_ns <= at_ns_) return;
    parts_.ns[static_cast<size_t>(part)] += to_ns - at_ns_;
    at_ns_ = to_ns;
  }
  // From the end of the engine's choice to the end of the rank's work.
  void Work(const LastRankWork& work) {
    Until(work.step.start_ns, StepPart::kHandOver);
    if (IsRecorded(work.execute) && IsRecorded(work.forward)) {
      Until(work.forward.start_ns, StepPart::kPreprocess);
      Until(work.forward.end_ns, StepPart::kForward);
      Until(work.execute.end_ns, StepPart::kPostprocess);
    } else if (IsRecorded(work.execute)) {
      Until(work.execute.start_ns, StepPart::kNotCovered);
      Until(work.execute.end_ns, StepPart::kExecute);
    }
    if (IsRecorded(work.sampling)) {
      // A second call of the engine.
      Until(work.sampling.start_ns,
            IsRecorded(work.execute) ? StepPart::kHandOver : StepPart::kNotCovered);
      Until(work.sampling.end_ns, StepPart::kSampling);
    }
    Until(work.step.end_ns, StepPart::kNotCovered);
  }
  StepParts Take() const { return parts_; }

 private:
  int64_t at_ns_;
  StepParts parts_;
};

// When the last token of each step was sent.
using SentTimes = std::map<std::pair<int32_t, int64_t>, int64_t>;  // by engine and step

SentTimes SentTimesOf(const store::RowTables& tables) {
  SentTimes sent;
  for (const store::RequestStepRow& part : tables.Rows<store::RequestStepRow>()) {
    int64_t& last_ns = sent[{part.engine, part.step_id}];
    last_ns = std::max(last_ns, part.sent_ts);
  }
  return sent;
}

int64_t EndWithDelivery(const EngineStep& step, const SentTimes& sent) {
  const auto last = sent.find({step.row->engine, step.row->step_id});
  return last == sent.end() ? step.end_ns : std::max(step.end_ns, last->second);
}

StepParts StepPartsOf(const store::RowTables& tables, const EngineStep& step,
                      const SentTimes& sent) {
  const EngineStepRow& row = *step.row;
  StepWalk walk(step);
  walk.Until(row.ts + row.schedule_ns, StepPart::kSchedule);
  const store::StepRow* rank = LastRank(tables, row);
  if (rank != nullptr) walk.Work(LastRankWorkOf(tables, *rank));
  const StepPart waiting = rank != nullptr ? StepPart::kHandBack : StepPart::kNotCovered;
  if (row.update_ns >= 0) {
    walk.Until(step.end_ns - row.update_ns, waiting);
    walk.Until(step.end_ns, StepPart::kUpdate);
  }
  walk.Until(step.end_ns, StepPart::kNotCovered);
  walk.Until(EndWithDelivery(step, sent), StepPart::kDelivery);
  return walk.Take();
}

std::string MsOf(int64_t ns) {
  const int64_t hundredths = (ns + 5'000) / 10'000;
  const std::string rest = std::to_string(hundredths % 100);
  return base::Concat(std::to_string(hundredths / 100), rest.size() < 2 ? ".0" : ".", rest, " ms");
}

void WriteStep(const StepComparison& one, store::RowSink& rows) {
  const auto write = [&](std::string_view part, const std::string& label,
                         const std::string& label_zh, int64_t median_ns, int64_t slowest_ns) {
    EngineStepPartRow{one.kind,
                      part,
                      label,
                      label_zh,
                      median_ns,
                      slowest_ns,
                      slowest_ns - median_ns,
                      one.steps,
                      one.median.step_id,
                      one.slowest.step_id,
                      one.median.tokens,
                      one.slowest.tokens,
                      one.median.begin_ns,
                      one.slowest.begin_ns}
        .Write(rows);
  };
  for (size_t i = 0; i < kStepPartKeys.size(); ++i) {
    if (one.median.ns[i] == 0 && one.slowest.ns[i] == 0) continue;
    const auto part = static_cast<StepPart>(i);
    write(kStepPartKeys[i], LabelOf(part), LabelOf(part, Language::kChinese), one.median.ns[i],
          one.slowest.ns[i]);
  }
  write("all", SentenceOf(one), SentenceOf(one, Language::kChinese), one.median.Sum(),
        one.slowest.Sum());
}

void RunEngineStepPart(const DeviceView& view, store::RowSink& rows) {
  if (view.data->tables == nullptr) return;
  for (const StepComparison& one : CompareSteps(*view.data->tables)) WriteStep(one, rows);
}

}  // namespace

int64_t StepParts::Sum() const {
  int64_t sum = 0;
  for (const int64_t one : ns) sum += one;
  return sum;
}

std::vector<StepComparison> CompareSteps(const store::RowTables& tables) {
  std::vector<EngineStep> decodes;
  std::vector<EngineStep> prefills;
  for (const EngineStep& step : RunningSteps(tables.Rows<EngineStepRow>())) {
    (step.row->prefill_requests > 0 ? prefills : decodes).push_back(step);
  }
  const SentTimes sent = SentTimesOf(tables);
  std::vector<StepComparison> found;
  for (const auto& [kind, steps] :
       {std::pair{"decode", &decodes}, std::pair{"prefill", &prefills}}) {
    if (steps->empty()) continue;
    const auto whole = [&](const EngineStep& step) {
      return EndWithDelivery(step, sent) - step.begin_ns;
    };
    std::stable_sort(steps->begin(), steps->end(),
                     [&](const EngineStep& a, const EngineStep& b) { return whole(a) < whole(b); });
    found.push_back({kind, static_cast<int64_t>(steps->size()),
                     StepPartsOf(tables, (*steps)[(steps->size() - 1) / 2], sent),
                     StepPartsOf(tables, steps->back(), sent)});
  }
  return found;
}

std::string LabelOf(StepPart part, Language language) {
  return FilledText(base::Concat("step_part.", kStepPartKeys[static_cast<size_t>(part)]), {},
                    language);
}

std::string LabelOf(const StepComparison& one, Language language) {
  return FilledText(base::Concat("step_kind.", one.kind), {}, language);
}

std::string SentenceOf(const StepComparison& one, Language language) {
  size_t most = 0;
  const auto more = [&](size_t i) { return one.slowest.ns[i] - one.median.ns[i]; };
  for (size_t i = 1; i < kStepPartKeys.size(); ++i) {
    if (more(i) > more(most)) most = i;
  }
  const std::vector<std::string> arguments = {base::Concat("@step_kind.", one.kind),
                                              std::to_string(one.slowest.step_id),
                                              MsOf(one.slowest.Sum()),
                                              MsOf(one.median.Sum()),
                                              base::Concat("@step_part.", kStepPartKeys[most]),
                                              MsOf(more(most)),
                                              std::to_string(one.slowest.tokens),
                                              std::to_string(one.median.tokens)};
  // A larger batch is what it is slower for, whichever part that makes longer.
  const bool has_more = 4 * one.slowest.tokens > 5 * one.median.tokens;
  const bool is_slower = more(most) > 0;
  return FilledText(!is_slower ? "step_slowest.alike"
                    : has_more ? "step_slowest.larger"
                               : "step_slowest.longer",
                    arguments, language);
}

extern const Recipe kEngineStepPartRecipe;
constexpr Recipe kEngineStepPartRecipe = {&kEngineStepPart,
                                          Reads<store::EngineStepRow, store::RequestStepRow,
                                                store::FlowRow, store::StepRow, store::SliceRow>(),
                                          &RunEngineStepPart};

}  // namespace sonde::recipes
