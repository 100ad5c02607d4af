#include "recipes/request_time/steps.h"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "recipes/host_activity/host_activity.h"
#include "recipes/request_time/usual.h"

namespace sonde::recipes {
namespace {

using store::EngineStepRow;

constexpr double kSlowShare = 0.5;      // of the usual length: what is less is noise
constexpr int64_t kSlowNs = 1'000'000;  // and what is less is not worth a part
constexpr double kSlowestShare = 0.5;   // of what a step is longer, one rank's own work
constexpr int64_t kMillion = 1'000'000;

using StepKey = std::pair<int32_t, int64_t>;  // engine and number

// How long the thread of a step was ready to run while others had the processor; 0 where a store
// does not record that.
template <class Row>
int64_t ProcessorWaitOf(const Row& row) {
  return std::max<int64_t>(row.processor_wait_ns, 0);
}

// What one rank did in an engine step.
struct RankStep {
  int32_t rank = -1;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  int64_t processor_wait_ns = 0;
  int64_t communication_ns = 0;
  int64_t idle_ns = 0;  // waiting for the engine's next call

  int64_t Own() const {
    return std::max<int64_t>(end_ns - begin_ns - communication_ns - idle_ns, 0);
  }
};
using RanksOfStep = std::map<int32_t, RankStep>;  // by process

// When a worker waited for its next call, by process: python/sonde/vllm/_worker.py names it.
std::map<int32_t, std::vector<Interval>> IdleTimes(const store::RowTables& tables) {
  constexpr std::string_view kIdle = "idle";
  const auto names = tables.Rows<store::NameRow>();
  const auto name = std::find_if(names.begin(), names.end(),
                                 [&](const store::NameRow& row) { return row.name == kIdle; });
  std::map<int32_t, std::vector<Interval>> times;
  if (name == names.end()) return times;
  const auto number = static_cast<int32_t>(name - names.begin());
  const auto tracks = tables.Rows<store::TrackRow>();
  for (const store::SliceRow& row : tables.Rows<store::SliceRow>()) {
    if (row.name != number || row.dur <= 0) continue;
    times[tracks[static_cast<size_t>(row.track_id)].process_id].push_back(
        {row.ts, row.ts + row.dur});
  }
  for (auto& [process, idle] : times) idle = Merge(std::move(idle));
  return times;
}

int64_t OverlapNs(const std::vector<Interval>& times, int64_t begin_ns, int64_t end_ns) {
  auto place = std::partition_point(times.begin(), times.end(),
                                    [&](const Interval& one) { return one.end_ns <= begin_ns; });
  int64_t sum = 0;
  for (; place != times.end() && place->start_ns < end_ns; ++place) {
    sum += std::min(place->end_ns, end_ns) - std::max(place->start_ns, begin_ns);
  }
  return sum;
}

void AddIdleTimes(const store::RowTables& tables, std::map<StepKey, RanksOfStep>& steps) {
  const std::map<int32_t, std::vector<Interval>> idle = IdleTimes(tables);
  for (auto& [key, ranks] : steps) {
    for (auto& [process, rank] : ranks) {
      const auto times = idle.find(process);
      if (times == idle.end()) continue;
      rank.idle_ns = OverlapNs(times->second, rank.begin_ns, rank.end_ns);
    }
  }
}

// Flows lead from the steps of an engine to those of its ranks: engines number theirs alike.
std::map<StepKey, RanksOfStep> RankSteps(const store::RowTables& tables) {
  std::map<int32_t, StepKey> step_of_slice;
  for (const EngineStepRow& row : tables.Rows<EngineStepRow>()) {
    if (row.slice_id >= 0) step_of_slice[row.slice_id] = {row.engine, row.step_id};
  }
  std::map<int32_t, const store::StepRow*> ranks;
  for (const store::StepRow& row : tables.Rows<store::StepRow>()) ranks[row.slice_id] = &row;
  std::map<StepKey, RanksOfStep> found;
  std::map<int32_t, int32_t> engine_of_process;
  for (const store::FlowRow& row : tables.Rows<store::FlowRow>()) {
    const auto step = step_of_slice.find(row.slice_out);
    const auto rank = ranks.find(row.slice_in);
    if (step == step_of_slice.end() || rank == ranks.end()) continue;
    const store::StepRow& of_rank = *rank->second;
    engine_of_process[of_rank.process_id] = step->second.first;
    if (of_rank.dur < 0) continue;
    found[step->second][of_rank.process_id] = {static_cast<int32_t>(of_rank.rank), of_rank.ts,
                                               of_rank.ts + of_rank.dur, ProcessorWaitOf(of_rank)};
  }
  for (const auto& row : tables.Rows<store::CommunicationOpRow>()) {
    const auto engine = engine_of_process.find(row.process_id);
    if (row.step_id < 0 || row.dur <= 0 || engine == engine_of_process.end()) continue;
    const auto step = found.find({engine->second, row.step_id});
    if (step == found.end()) continue;
    const auto rank = step->second.find(row.process_id);
    if (rank != step->second.end()) rank->second.communication_ns += row.dur;
  }
  return found;
}

// Slices of all processes in which a host was at this.
std::vector<Interval> TimesOf(const store::RowTables& tables, HostActivity activity) {
  std::map<int32_t, bool> names;
  std::vector<Interval> times;
  for (const store::SliceRow& row : tables.Rows<store::SliceRow>()) {
    if (row.dur <= 0 || row.name < 0) continue;
    const auto [name, is_new] = names.try_emplace(row.name);
    if (is_new) name->second = ActivityOf(NameIn(tables, row.name)) == activity;
    const bool is_collection =
        activity == HostActivity::kGarbageCollection && NameIn(tables, row.category) == "gc";
    if (name->second || is_collection) times.push_back({row.ts, row.ts + row.dur});
  }
  return Merge(std::move(times));
}

// How much of its prompt a request had computed before a step, of the one that had most. A piece of
// a prompt costs more behind a long one: each token attends to all before it.
std::map<StepKey, int64_t> ComputedBefore(const store::RowTables& tables) {
  std::map<int32_t, std::vector<const store::RequestStepRow*>> by_request;
  for (const store::RequestStepRow& row : tables.Rows<store::RequestStepRow>()) {
    by_request[row.request_id].push_back(&row);
  }
  std::map<StepKey, int64_t> before;
  for (auto& [request, rows] : by_request) {
    std::sort(rows.begin(), rows.end(),
              [](const auto* a, const auto* b) { return a->step_id < b->step_id; });
    int64_t computed = 0;
    for (const store::RequestStepRow* row : rows) {
      int64_t& most = before[{row->engine, row->step_id}];
      most = std::max(most, computed);
      computed += row->tokens;
      if (row->output_tokens > 0) break;
    }
  }
  return before;
}

class Times {
 public:
  Times(const store::RowTables& tables, const std::vector<EngineStep>& steps)
      : steps_(steps),
        ranks_(RankSteps(tables)),
        computed_(ComputedBefore(tables)),
        compiling_(TimesOf(tables, HostActivity::kCompilation)),
        collecting_(TimesOf(tables, HostActivity::kGarbageCollection)) {
    AddIdleTimes(tables, ranks_);
    LearnLengths();
    LearnRanks();
  }

  std::vector<StepTime> Take() const {
    std::vector<StepTime> times;
    times.reserve(steps_.size());
    for (const EngineStep& step : steps_) times.push_back(Of(step));
    return times;
  }

 private:
  int64_t UsualDecode(const EngineStepRow& row, int64_t length) const {
    return row.decode_tokens == 0 ? 0 : decode_.Of(row.decode_tokens, length);
  }

  void LearnLengths() {
    std::vector<std::pair<int64_t, int64_t>> decodes;
    for (const EngineStep& step : steps_) {
      if (step.row->prefill_requests == 0) {
        decodes.emplace_back(step.row->decode_tokens, step.Length());
      }
    }
    decode_ = UsualBySize(decodes);
    std::map<int64_t, std::vector<std::pair<int64_t, int64_t>>> prefills;
    for (const EngineStep& step : steps_) {
      if (step.row->prefill_requests == 0) continue;
      const int64_t rest = step.Length() - UsualDecode(*step.row, step.Length());
      prefills[DepthOf(*step.row)].emplace_back(step.row->prefill_tokens,
                                                std::max<int64_t>(rest, 0));
    }
    for (const auto& [depth, values] : prefills) prefill_[depth] = UsualBySize(values);
  }

  // Pieces of prompts are compared with those behind about as many tokens.
  int64_t DepthOf(const EngineStepRow& row) const {
    constexpr uint64_t kShort = 256;
    const auto place = computed_.find({row.engine, row.step_id});
    if (place == computed_.end()) return 0;
    return static_cast<int64_t>(std::bit_width(static_cast<uint64_t>(place->second) / kShort));
  }

  const RanksOfStep* RanksOf(const EngineStep& step) const {
    const auto place = ranks_.find({step.row->engine, step.row->step_id});
    return place == ranks_.end() ? nullptr : &place->second;
  }

  static int64_t LastEnd(const RanksOfStep& ranks) {
    int64_t end_ns = 0;
    for (const auto& [process, rank] : ranks) end_ns = std::max(end_ns, rank.end_ns);
    return end_ns;
  }

  // Of the rank with the least of something.
  static int64_t Least(const RanksOfStep& ranks, int64_t RankStep::* what) {
    int64_t least = INT64_MAX;
    for (const auto& [process, rank] : ranks) least = std::min(least, rank.*what);
    return least;
  }

  // Of the rank that waited longest, and of the engine outside the work of its ranks: while these
  // are at work it only asks for their answer, and whether it has a processor does not matter.
  static int64_t ProcessorWait(const EngineStep& step, const RanksOfStep* ranks) {
    if (ranks == nullptr) return ProcessorWaitOf(*step.row);
    int64_t wait_ns = 0;
    int64_t work_ns = 0;
    for (const auto& [process, rank] : *ranks) {
      wait_ns = std::max(wait_ns, rank.processor_wait_ns);
      work_ns = std::max(work_ns, rank.end_ns - rank.begin_ns - rank.idle_ns);
    }
    const int64_t outside_ns = std::max<int64_t>(step.Length() - work_ns, 0);
    return wait_ns + std::min(ProcessorWaitOf(*step.row), outside_ns);
  }

  static int64_t MillionthsOf(const EngineStep& step, int64_t ns) {
    return ns * kMillion / std::max<int64_t>(step.Length(), 1);
  }

  // How long the engine is at work outside its ranks, and how long each works by itself.
  void LearnRanks() {
    std::vector<int64_t> tails;
    std::vector<int64_t> schedules;
    std::vector<int64_t> waits;
    std::vector<int64_t> communication;
    std::vector<int64_t> idle;
    std::map<int32_t, std::vector<std::pair<int64_t, int64_t>>> own;
    for (const EngineStep& step : steps_) {
      schedules.push_back(step.row->schedule_ns);
      const auto* ranks = RanksOf(step);
      waits.push_back(MillionthsOf(step, ProcessorWait(step, ranks)));
      if (ranks == nullptr) continue;
      tails.push_back(std::max<int64_t>(step.end_ns - LastEnd(*ranks), 0));
      communication.push_back(Least(*ranks, &RankStep::communication_ns));
      idle.push_back(Least(*ranks, &RankStep::idle_ns));
      const int64_t tokens = step.row->prefill_tokens + step.row->decode_tokens;
      for (const auto& [process, rank] : *ranks) own[process].emplace_back(tokens, rank.Own());
    }
    tail_ns_ = MedianOf(std::move(tails));
    wait_millionths_ = MedianOf(std::move(waits));
    schedule_ns_ = MedianOf(std::move(schedules));
    communication_ns_ = MedianOf(std::move(communication));
    idle_ns_ = MedianOf(std::move(idle));
    for (const auto& [process, values] : own) own_[process] = UsualBySize(values);
  }

  StepTime Of(const EngineStep& step) const {
    const EngineStepRow& row = *step.row;
    const int64_t length = step.Length();
    StepTime time;
    time.decode_ns = UsualDecode(row, length);
    time.usual_ns = time.decode_ns;
    if (row.prefill_requests > 0) {
      const int64_t rest = std::max<int64_t>(length - time.decode_ns, 0);
      time.usual_ns += prefill_.at(DepthOf(row)).Of(row.prefill_tokens, rest);
    }
    const int64_t excess = length - time.usual_ns;
    const auto least = static_cast<int64_t>(kSlowShare * static_cast<double>(time.usual_ns));
    time.usual_ns = std::min(time.usual_ns, length);
    time.decode_ns = std::min(time.decode_ns, length);
    if (excess > std::max(least, kSlowNs)) Divide(step, excess, time);
    return time;
  }

  // In the order of how certain it is.
  void Divide(const EngineStep& step, int64_t excess, StepTime& time) const {
    const auto take = [&](RequestPart part, int64_t ns) {
      ns = std::clamp<int64_t>(ns, 0, excess);
      time.excess[part] += ns;
      excess -= ns;
    };
    take(RequestPart::kGarbage, OverlapNs(collecting_, step.begin_ns, step.end_ns));
    take(RequestPart::kCompiling, OverlapNs(compiling_, step.begin_ns, step.end_ns));
    const auto* ranks = RanksOf(step);
    // On a busy machine long steps wait more often than short ones.
    take(RequestPart::kProcessor,
         ProcessorWait(step, ranks) - step.Length() / kMillion * wait_millionths_);
    const bool began_free = step.begin_ns == step.row->ts;
    if (began_free) take(RequestPart::kEngine, step.row->schedule_ns - schedule_ns_);
    if (ranks == nullptr) {
      take(RequestPart::kSlowStep, excess);
      return;
    }
    take(RequestPart::kEngine, step.end_ns - LastEnd(*ranks) - tail_ns_);
    take(RequestPart::kEngine, Least(*ranks, &RankStep::idle_ns) - idle_ns_);
    DivideRanks(step, *ranks, excess, time);
  }

  void DivideRanks(const EngineStep& step, const RanksOfStep& ranks, int64_t excess,
                   StepTime& time) const {
    const int64_t tokens = step.row->prefill_tokens + step.row->decode_tokens;
    int64_t slowest = 0;
    int64_t least = INT64_MAX;
    int32_t slow_rank = -1;
    for (const auto& [process, rank] : ranks) {
      const int64_t own = rank.Own() - own_.at(process).Of(tokens, rank.Own());
      least = std::min(least, own);
      if (own > slowest) slow_rank = rank.rank;
      slowest = std::max(slowest, own);
    }
    const auto much = static_cast<int64_t>(kSlowestShare * static_cast<double>(excess));
    const int64_t apart = slowest - std::max<int64_t>(least, 0);
    if (ranks.size() > 1 && apart >= much) {
      time.excess[RequestPart::kRankWait] += excess;
      time.slow_rank = slow_rank;
      return;
    }
    const int64_t communication = std::clamp<int64_t>(
        Least(ranks, &RankStep::communication_ns) - communication_ns_, 0, excess);
    time.excess[RequestPart::kCommunication] += communication;
    time.excess[RequestPart::kComputing] += excess - communication;
  }

  const std::vector<EngineStep>& steps_;
  std::map<StepKey, RanksOfStep> ranks_;  // by process
  std::map<StepKey, int64_t> computed_;
  std::vector<Interval> compiling_;
  std::vector<Interval> collecting_;
  UsualBySize decode_;
  std::map<int64_t, UsualBySize> prefill_;  // by depth
  std::map<int32_t, UsualBySize> own_;      // by process
  int64_t tail_ns_ = 0;
  int64_t idle_ns_ = 0;
  int64_t wait_millionths_ = 0;  // for a processor, of the length of a step
  int64_t schedule_ns_ = 0;
  int64_t communication_ns_ = 0;
};

constexpr std::string_view kLagCounter = "event loop lag ms";

}  // namespace

std::string_view NameIn(const store::RowTables& tables, int32_t id) {
  const auto names = tables.Rows<store::NameRow>();
  return id < 0 || static_cast<size_t>(id) >= names.size() ? std::string_view()
                                                           : names[static_cast<size_t>(id)].name;
}

std::vector<EngineStep> RunningSteps(std::span<const EngineStepRow> rows) {
  std::vector<EngineStep> steps;
  for (const EngineStepRow& row : rows) {
    if (row.dur >= 0) steps.push_back({&row, row.ts, row.ts + row.dur});
  }
  std::stable_sort(steps.begin(), steps.end(), [](const EngineStep& a, const EngineStep& b) {
    return a.row->engine != b.row->engine ? a.row->engine < b.row->engine : a.end_ns < b.end_ns;
  });
  for (size_t i = 1; i < steps.size(); ++i) {
    if (steps[i].row->engine != steps[i - 1].row->engine) continue;
    steps[i].begin_ns = std::max(steps[i].begin_ns, steps[i - 1].end_ns);
  }
  return steps;
}

std::vector<StepTime> TimesOfSteps(const store::RowTables& tables,
                                   const std::vector<EngineStep>& steps) {
  return Times(tables, steps).Take();
}

std::vector<Interval> LoopPauses(const store::RowTables& tables) {
  std::map<int32_t, bool> tracks;
  for (const store::TrackRow& row : tables.Rows<store::TrackRow>()) {
    if (NameIn(tables, row.name) == kLagCounter) tracks[row.track_id] = true;
  }
  std::vector<Interval> pauses;
  for (const store::CounterRow& row : tables.Rows<store::CounterRow>()) {
    if (row.value <= 0 || !tracks.contains(row.track_id)) continue;
    pauses.push_back({row.ts - static_cast<int64_t>(row.value * 1e6), row.ts});
  }
  return Merge(std::move(pauses));
}

std::vector<bool> AreCollections(const store::RowTables& tables,
                                 const std::vector<Interval>& pauses) {
  const std::vector<Interval> times = TimesOf(tables, HostActivity::kGarbageCollection);
  std::vector<bool> are_collections;
  for (const Interval& pause : pauses) {
    const int64_t collected_ns = OverlapNs(times, pause.start_ns, pause.end_ns);
    are_collections.push_back(2 * collected_ns >= pause.end_ns - pause.start_ns);
  }
  return are_collections;
}

}  // namespace sonde::recipes
