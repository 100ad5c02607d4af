#include "recipes/request_time/steps.h"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "recipes/request_time/host_times.h"
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

// How long the thread of a step was neither at work nor ready for it: it slept, or its process was
// stopped. 0 where a store does not record that.
template <class Row>
int64_t AwayOf(const Row& row) {
  if (row.processor_ns < 0) return 0;
  return std::max<int64_t>(row.dur - row.processor_ns - ProcessorWaitOf(row), 0);
}

// Pages that any thread of the process waited for; 0 where a store does not record that.
template <class Row>
int64_t MajorFaultsOf(const Row& row) {
  return std::max<int64_t>(row.process_major_faults, 0);
}

// What one rank did in an engine step.
struct RankStep {
  int32_t rank = -1;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  int64_t processor_wait_ns = 0;
  int64_t away_ns = 0;
  int64_t major_faults = 0;  // of its process
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
    found[step->second][of_rank.process_id] = {
        static_cast<int32_t>(of_rank.rank), of_rank.ts,      of_rank.ts + of_rank.dur,
        ProcessorWaitOf(of_rank),           AwayOf(of_rank), MajorFaultsOf(of_rank)};
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
        compiling_(HostTimes(tables, HostActivity::kCompilation)),
        collecting_(HostTimes(tables, HostActivity::kGarbageCollection)) {
    AddIdleTimes(tables, ranks_);
    LeaveOutStopped();
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

  // Ranks ask for their next call all the time. One that slept instead, under an engine that asked
  // for its answer, was stopped itself: that is no wait for the engine.
  void LeaveOutStopped() {
    std::vector<int64_t> idle;
    std::vector<int64_t> away;
    for (const auto& [key, ranks] : ranks_) {
      for (const auto& [process, rank] : ranks) {
        idle.push_back(rank.idle_ns);
        away.push_back(rank.away_ns);
      }
    }
    if (2 * MedianOf(std::move(away)) >= MedianOf(std::move(idle))) return;  // they sleep in it
    for (const EngineStep& step : steps_) {
      const auto ranks = ranks_.find({step.row->engine, step.row->step_id});
      if (ranks == ranks_.end() || step.row->processor_ns < 0) continue;
      for (auto& [process, rank] : ranks->second) {
        const int64_t much_ns = rank.idle_ns / 2;
        if (rank.away_ns > much_ns && AwayOf(*step.row) < much_ns) rank.idle_ns = 0;
      }
    }
  }

  // What the engine's step took besides the work of its ranks.
  static int64_t OutsideRanks(const EngineStep& step, const RanksOfStep& ranks) {
    int64_t work_ns = 0;
    for (const auto& [process, rank] : ranks) {
      work_ns = std::max(work_ns, rank.end_ns - rank.begin_ns - rank.idle_ns);
    }
    return std::max<int64_t>(step.Length() - work_ns, 0);
  }

  // Of the rank that waited longest, and of the engine outside the work of its ranks: while these
  // are at work it only asks for their answer, and whether it has a processor does not matter.
  static int64_t ProcessorWait(const EngineStep& step, const RanksOfStep* ranks) {
    if (ranks == nullptr) return ProcessorWaitOf(*step.row);
    int64_t wait_ns = 0;
    for (const auto& [process, rank] : *ranks) wait_ns = std::max(wait_ns, rank.processor_wait_ns);
    return wait_ns + std::min(ProcessorWaitOf(*step.row), OutsideRanks(step, *ranks));
  }

  // How long the step may have waited for pages: of the rank with most, and of the engine outside
  // the work of its ranks.
  static int64_t FaultTime(const EngineStep& step, const RanksOfStep* ranks) {
    const int64_t of_engine = MajorFaultsOf(*step.row) * kLongestFaultNs;
    if (ranks == nullptr) return of_engine;
    int64_t most = 0;
    for (const auto& [process, rank] : *ranks) most = std::max(most, rank.major_faults);
    return most * kLongestFaultNs + std::min(of_engine, OutsideRanks(step, *ranks));
  }

  static int64_t MillionthsOf(const EngineStep& step, int64_t ns) {
    return ns * kMillion / std::max<int64_t>(step.Length(), 1);
  }

  // How long the engine is at work outside its ranks, and how long each works by itself.
  void LearnRanks() {
    std::vector<int64_t> tails;
    std::vector<int64_t> schedules;
    std::vector<int64_t> waits;
    std::vector<int64_t> faults;
    std::vector<int64_t> communication;
    std::vector<int64_t> idle;
    std::map<int32_t, std::vector<std::pair<int64_t, int64_t>>> own;
    for (const EngineStep& step : steps_) {
      schedules.push_back(step.row->schedule_ns);
      const auto* ranks = RanksOf(step);
      waits.push_back(MillionthsOf(step, ProcessorWait(step, ranks)));
      faults.push_back(FaultTime(step, ranks));
      if (ranks == nullptr) continue;
      tails.push_back(std::max<int64_t>(step.end_ns - LastEnd(*ranks), 0));
      communication.push_back(Least(*ranks, &RankStep::communication_ns));
      idle.push_back(Least(*ranks, &RankStep::idle_ns));
      const int64_t tokens = step.row->prefill_tokens + step.row->decode_tokens;
      for (const auto& [process, rank] : *ranks) own[process].emplace_back(tokens, rank.Own());
    }
    tail_ns_ = MedianOf(std::move(tails));
    wait_millionths_ = MedianOf(std::move(waits));
    fault_ns_ = MedianOf(std::move(faults));
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
    take(RequestPart::kMajorFaults, FaultTime(step, ranks) - fault_ns_);
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
  int64_t fault_ns_ = 0;
  int64_t schedule_ns_ = 0;
  int64_t communication_ns_ = 0;
};

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

}  // namespace sonde::recipes
