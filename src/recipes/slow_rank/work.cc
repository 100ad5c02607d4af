#include "recipes/slow_rank/work.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/host/json.h"
#include "base/strings.h"
#include "recipes/intervals.h"
#include "recipes/meaning/meaning.h"
#include "recipes/trace/counted_steps.h"
#include "recipes/trace/processor_use.h"
#include "recipes/trace/work_kinds.h"

namespace sonde::recipes::slow_rank {
namespace {

// Texts of a rank by their place.
class Texts {
 public:
  Texts(const TraceData& data, RankWork& work)
      : data_(data), texts_(work.texts), place_of_name_(data.names.size(), -1) {}
  int32_t Of(std::string_view text) {
    const auto [found, is_new] =
        places_.try_emplace(std::string(text), static_cast<int32_t>(places_.size()));
    if (is_new) texts_.Add(text);
    return found->second;
  }
  // The same of a name of the trace, most of which come again and again.
  int32_t OfName(int32_t name) {
    if (name == store::kNone) return Of({});
    int32_t& place = place_of_name_[static_cast<size_t>(name)];
    if (place < 0) place = Of(data_.Name(name));
    return place;
  }

 private:
  const TraceData& data_;
  WorkTexts& texts_;
  std::unordered_map<std::string, int32_t> places_;
  std::vector<int32_t> place_of_name_;
};

// How much of a window lies in a merged list.
class Cover {
 public:
  explicit Cover(std::vector<Interval> merged) : list_(std::move(merged)) {
    sums_.reserve(list_.size() + 1);
    sums_.push_back(0);
    for (const Interval& one : list_) sums_.push_back(sums_.back() + one.end_ns - one.start_ns);
  }
  int64_t Of(int64_t begin, int64_t end) const {
    return end > begin ? Before(end) - Before(begin) : 0;
  }
  const std::vector<Interval>& list() const { return list_; }

 private:
  int64_t Before(int64_t ts) const {
    const auto next = std::partition_point(list_.begin(), list_.end(),
                                           [ts](const Interval& one) { return one.end_ns <= ts; });
    const int64_t whole = sums_[static_cast<size_t>(next - list_.begin())];
    return next == list_.end() ? whole : whole + std::max<int64_t>(ts - next->start_ns, 0);
  }
  std::vector<Interval> list_;
  std::vector<int64_t> sums_;
};

struct Launched {
  int64_t ts = 0;
  int64_t end = 0;
  int64_t launch = 0;
};

struct Sets {
  std::vector<Interval> compute;
  std::vector<Interval> copies;
  std::vector<Interval> communication;
};

class Reader {
 public:
  Reader(const DeviceView& view, int64_t step_id, RankWork& part)
      : view_(view), data_(*view.data), step_id_(step_id), part_(part), texts_(*view.data, part) {}

  void Run() {
    Collect();
    MakeSteps();
    if (steps_.empty()) return;
    Cover compute(Merge(std::move(sets_.compute)));
    const Cover communication(Merge(std::move(sets_.communication)));
    const auto busy = Unite(compute.list(), communication.list());
    const Cover copies(Subtract(Merge(std::move(sets_.copies)), busy));
    const Cover exposed(Subtract(communication.list(), compute.list()));
    const std::vector<Interval> window = {{steps_.front().begin_ns, steps_.back().end_ns}};
    const Cover own(Subtract(window, exposed.list()));
    const Cover free(Subtract(window, Unite(busy, copies.list())));
    for (WorkStep& step : steps_) {
      step.compute_ns = compute.Of(step.begin_ns, step.end_ns);
      step.copy_ns = copies.Of(step.begin_ns, step.end_ns);
      step.free_ns = free.Of(step.begin_ns, step.end_ns);
      step.exposed_ns = exposed.Of(step.begin_ns, step.end_ns);
    }
    AddLate(free);
    AddUnserved();
    AddFrequency(compute);
    AddTasks();
    AddOperations(own);
    AddHost(free);
    AddFacts();
    part_.Rows<WorkStep>() = std::move(steps_);
  }

 private:
  const store::TaskKindRow& KindOf(const store::DeviceTaskRow& task) const {
    return data_.kinds[static_cast<size_t>(task.kind_id)];
  }

  Work MeaningOf(const store::DeviceTaskRow& task) const {
    return meanings_[static_cast<size_t>(task.kind_id)];
  }

  void Collect() {
    const LaunchTimes launches(data_);
    const auto add = [&](const auto& work, int64_t end, std::vector<Interval>& set) {
      set.push_back({work.ts, end});
      launched_.push_back({work.ts, end, launches.Of(work)});
    };
    for (const store::DeviceTaskRow& task : data_.tasks) {
      const Work meaning = MeaningOf(task);
      const int64_t end = task.ts + std::max<int64_t>(task.dur, 0);
      if (meaning == Work::kComputing) add(task, end, sets_.compute);
      if (meaning == Work::kCopy) add(task, end, sets_.copies);
    }
    for (const store::CommunicationOpRow& op : data_.communications) {
      add(op, view_.EndNs(op), sets_.communication);
    }
    std::sort(launched_.begin(), launched_.end(),
              [](const Launched& a, const Launched& b) { return a.ts < b.ts; });
  }

  // When the device had done what was launched before a moment, which may have passed by then.
  std::vector<int64_t> BordersOf(const std::vector<int64_t>& moments) const {
    std::vector<std::pair<int64_t, int64_t>> ends;  // launch, end
    for (const Launched& one : launched_) {
      ends.emplace_back(one.launch == LaunchTimes::kUnknown ? one.ts : one.launch, one.end);
    }
    std::sort(ends.begin(), ends.end());
    std::vector<int64_t> borders;
    int64_t done = INT64_MIN;
    size_t next = 0;
    for (const int64_t moment : moments) {
      for (; next < ends.size() && ends[next].first < moment; ++next) {
        done = std::max(done, ends[next].second);
      }
      borders.push_back(std::max(moment, done));
    }
    return borders;
  }

  void MakeSteps() {
    if (launched_.empty()) return;
    std::vector<const store::StepRow*> known;
    std::set<int64_t> ids;
    for (const store::StepRow& step : data_.steps) {
      if (ids.insert(step.step_id).second) known.push_back(&step);
      uses_[step.step_id].Add(step);
    }
    if (known.empty()) {
      int64_t last = INT64_MIN;
      for (const Launched& one : launched_) last = std::max(last, one.end);
      steps_.push_back({.begin_ns = launched_.front().ts, .end_ns = last});
      return;
    }
    std::vector<int64_t> moments;
    for (const store::StepRow* step : known) moments.push_back(step->ts);
    const store::StepRow& last = *known.back();
    moments.push_back(last.dur < 0 ? launched_.back().ts + 1 : last.ts + last.dur);
    const std::vector<int64_t> borders = BordersOf(moments);
    std::vector<StepLength> lengths;
    for (size_t i = 0; i < known.size(); ++i) {
      lengths.push_back({borders[i + 1] - borders[i], known[i]->dur < 0});
    }
    const CountedSteps counted = CountSteps(lengths);
    for (size_t i = 0; i < known.size(); ++i) {
      const bool is_wanted = step_id_ < 0 ? counted.Has(i) : known[i]->step_id == step_id_;
      if (!is_wanted) continue;
      steps_.push_back(
          {.step = known[i]->step_id, .begin_ns = borders[i], .end_ns = borders[i + 1]});
    }
  }

  // The step in which a moment lies; -1: none.
  int32_t StepAt(int64_t ts) const {
    const auto next = std::partition_point(
        steps_.begin(), steps_.end(), [ts](const WorkStep& step) { return step.end_ns <= ts; });
    return next == steps_.end() || ts < next->begin_ns
               ? -1
               : static_cast<int32_t>(next - steps_.begin());
  }

  void AddLate(const Cover& free) {
    for (const Interval& gap : free.list()) {
      auto next = std::partition_point(launched_.begin(), launched_.end(),
                                       [&](const Launched& one) { return one.ts < gap.end_ns; });
      bool is_late = true;
      for (; next != launched_.end() && next->ts == gap.end_ns; ++next) {
        is_late = next->launch == LaunchTimes::kUnknown || next->launch > gap.start_ns;
      }
      if (!is_late) continue;
      for (WorkStep& step : steps_) {
        step.late_ns += std::max<int64_t>(
            std::min(gap.end_ns, step.end_ns) - std::max(gap.start_ns, step.begin_ns), 0);
      }
    }
  }

  void AddUnserved() {
    const bool is_host = !view_.devices.empty() && view_.devices.front().is_cpu;
    for (WorkStep& step : steps_) {
      const auto use = uses_.find(step.step);
      if (use == uses_.end()) continue;
      const int64_t late_ns = std::min(step.late_ns, step.free_ns);
      const int64_t own_ns = step.own_ns();
      if (!is_host) {
        // Its thread waits for the device by computing, so that its own time leaves nothing.
        step.unserved_ns = step.unserved_late_ns =
            std::min(late_ns, use->second.UnservedNs(std::numeric_limits<int64_t>::max()));
        continue;
      }
      step.unserved_ns = use->second.UnservedNs(own_ns);
      if (own_ns <= 0) continue;
      const double late_share = static_cast<double>(late_ns) / static_cast<double>(own_ns);
      step.unserved_late_ns = std::llround(late_share * static_cast<double>(step.unserved_ns));
    }
  }

  // Values hold from their moment on.
  void AddFrequency(const Cover& compute) {
    std::vector<std::pair<int64_t, double>> values;
    for (const store::CounterRow& counter : data_.counters) {
      const store::TrackRow& track = data_.tracks[static_cast<size_t>(counter.track_id)];
      if (store::IsCoreFrequency(data_.Name(track.name))) {
        values.emplace_back(counter.ts, counter.value);
      }
    }
    std::sort(values.begin(), values.end());
    if (values.empty()) return;
    for (WorkStep& step : steps_) {
      double sum = 0;
      double weight = 0;
      for (size_t i = 0; i < values.size(); ++i) {
        const int64_t begin = i == 0 ? INT64_MIN : values[i].first;
        const int64_t end = i + 1 < values.size() ? values[i + 1].first : INT64_MAX;
        const auto ns = static_cast<double>(
            compute.Of(std::max(begin, step.begin_ns), std::min(end, step.end_ns)));
        sum += ns * values[i].second;
        weight += ns;
      }
      if (weight > 0) step.mhz = sum / weight;
    }
  }

  // Of the kernel, else of the operator that launched it; a name of the trace.
  int32_t ShapesOf(const store::DeviceTaskRow& task, const store::TaskKindRow& kind) const {
    if (kind.input_shapes != store::kNone) return kind.input_shapes;
    const int32_t op = task.launch_slice_id < 0 ? -1 : data_.OpOf(task.launch_slice_id);
    if (op < 0) return store::kNone;
    const int32_t signature = data_.ops[static_cast<size_t>(op)].signature_id;
    return signature < 0 ? store::kNone
                         : data_.signatures[static_cast<size_t>(signature)].input_shapes;
  }

  // Names of Ascend's kernels are those of calls; the type is what they have in common.
  int32_t WorkName(const store::TaskKindRow& kind, bool is_copy) const {
    const std::string_view type = data_.Name(kind.op_type);
    const int32_t name = !is_copy && !type.empty() && type != "N/A" ? kind.op_type : kind.name;
    return data_.Name(name).empty() ? kind.task_type : name;
  }

  void AddTasks() {
    std::map<std::tuple<int32_t, int32_t, int32_t, WorkKind>, WorkTasks> sums;
    for (const store::DeviceTaskRow& task : data_.tasks) {
      const store::TaskKindRow& kind = KindOf(task);
      const bool is_copy = MeaningOf(task) == Work::kCopy;
      const int32_t step = StepAt(task.ts);
      if (step < 0 || (!is_copy && MeaningOf(task) != Work::kComputing)) continue;
      const WorkKind work = is_copy ? WorkKind::kCopy : WorkKind::kCompute;
      const int32_t name_id = texts_.OfName(WorkName(kind, is_copy));
      const int32_t shapes = texts_.OfName(ShapesOf(task, kind));
      WorkTasks& sum = sums[{step, name_id, shapes, work}];
      if (sum.count == 0) sum = {.step = step, .name = name_id, .shapes = shapes, .kind = work};
      const int64_t dur = std::max<int64_t>(task.dur, 0);
      ++sum.count;
      sum.dur_ns += dur;
      if (dur > sum.longest_ns) std::tie(sum.longest_ns, sum.ts) = std::pair(dur, task.ts);
    }
    for (const auto& [key, sum] : sums) part_.Rows<WorkTasks>().push_back(sum);
  }

  void AddOperations(const Cover& own) {
    std::vector<size_t> order(data_.communications.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return data_.communications[a].ts < data_.communications[b].ts;
    });
    auto& segments = part_.Rows<WorkSegment>();
    std::vector<int64_t> begins;
    for (const WorkStep& step : steps_) begins.push_back(step.begin_ns);
    for (const size_t i : order) {
      const store::CommunicationOpRow& op = data_.communications[i];
      const int32_t step = StepAt(op.ts);
      if (step < 0) continue;
      const CommunicationView& shown = view_.communications[i];
      const bool is_p2p = op.is_p2p != 0 || IsSendOrReceive(base::ToLower(shown.name));
      const int32_t name = texts_.Of(shown.name);
      part_.Rows<WorkCollective>().push_back({.step = step,
                                              .group = texts_.Of(shown.group_name),
                                              .type = texts_.Of(NamedCommunicationType(shown)),
                                              .name = name,
                                              .is_p2p = is_p2p,
                                              .ts = op.ts,
                                              .dur_ns = view_.EndNs(op) - op.ts,
                                              .transit_ns = op.transit_ns,
                                              .size_bytes = op.size_bytes});
      int64_t& begin = begins[static_cast<size_t>(step)];
      segments.push_back({step, name, begin, own.Of(begin, op.ts)});
      begin = op.ts;
    }
    for (size_t i = 0; i < steps_.size(); ++i) {
      segments.push_back(
          {static_cast<int32_t>(i), -1, begins[i], own.Of(begins[i], steps_[i].end_ns)});
    }
    std::stable_sort(segments.begin(), segments.end(),
                     [](const auto& a, const auto& b) { return a.step < b.step; });
  }

  // Names that do not describe the work: steps, and slices for a thread as a whole.
  bool IsUninformative(int32_t slice) const {
    return data_.Name(data_.Slice(slice).name).starts_with("ProfilerStep");
  }

  bool IsHost(const store::TrackRow& track) const {
    for (const TrackKind kind :
         {TrackKind::kThread, TrackKind::kPython, TrackKind::kGarbageCollection, TrackKind::kApi,
          TrackKind::kMark, TrackKind::kModule, TrackKind::kOsRuntime}) {
      if (data_.IsOfKind(track, kind)) return true;
    }
    return false;
  }

  void AddHost(const Cover& free) {
    std::vector<char> is_host;  // by track
    for (const store::TrackRow& track : data_.tracks) is_host.push_back(IsHost(track) ? 1 : 0);
    std::vector<int64_t> self(data_.slices.size(), 0);
    for (const int32_t id : data_.preorder) {
      const store::SliceRow& slice = data_.Slice(id);
      if (is_host[static_cast<size_t>(slice.track_id)] == 0) continue;
      const int64_t inside = free.Of(slice.ts, data_.EndNs(slice));
      if (inside == 0) continue;
      self[static_cast<size_t>(id)] += inside;
      if (slice.parent_id >= 0) self[static_cast<size_t>(slice.parent_id)] -= inside;
    }
    std::map<std::pair<int32_t, int32_t>, WorkHost> sums;
    for (const int32_t id : data_.preorder) {
      const int64_t ns = self[static_cast<size_t>(id)];
      if (ns <= 0 || IsUninformative(id)) continue;
      const store::SliceRow& slice = data_.Slice(id);
      // Where most of it lies: steps begin on the device later than on the host.
      const int32_t step = StepAt(slice.ts + (data_.EndNs(slice) - slice.ts) / 2);
      if (step < 0) continue;
      const int32_t name = texts_.OfName(slice.name);
      WorkHost& sum =
          sums.try_emplace({step, name}, WorkHost{.step = step, .name = name}).first->second;
      sum.self_ns += ns;
      if (ns > sum.longest_ns) std::tie(sum.longest_ns, sum.ts) = std::pair(ns, slice.ts);
    }
    for (const auto& [key, sum] : sums) part_.Rows<WorkHost>().push_back(sum);
  }

  void AddFacts() {
    WorkFacts facts;
    const int64_t rank = data_.rank.value_or(view_.settings.rank.value_or(-1));
    facts.world = view_.settings.world_size;
    for (const CommunicationGroup& group : data_.groups) {
      if (!base::ToLower(data_.Name(group.description)).starts_with("pp")) continue;
      const auto list = base::JsonDocument::Parse(group.rank_list, "rank_list");
      if (!list.ok()) continue;
      int64_t place = 0;
      for (const base::JsonValue& member : list->root().Elements()) {
        if (member.AsInt().value_or(-1) == rank) facts.stage = place;
        ++place;
      }
    }
    std::set<std::pair<int32_t, int32_t>> partners;
    for (const WorkCollective& op : part_.Rows<WorkCollective>()) {
      if (!op.is_p2p) continue;
      if (facts.transfers.empty()) facts.transfers = part_.texts.At(op.type);
      partners.insert({op.group, op.type});
    }
    facts.transfers += base::Concat(" ", std::to_string(partners.size()));
    part_.Rows<WorkFacts>().push_back(std::move(facts));
  }

  const DeviceView& view_;
  const TraceData& data_;
  std::vector<Work> meanings_ = MeaningsOf(data_);
  int64_t step_id_;
  RankWork& part_;
  Texts texts_;
  Sets sets_;
  std::vector<Launched> launched_;  // by begin
  std::vector<WorkStep> steps_;
  std::map<int64_t, StepUse> uses_;  // by number of the step
};

}  // namespace

RankWork WorkOf(const DeviceView& view, int64_t step_id) {
  RankWork work;
  work.rank = view.settings.rank.value_or(-1);
  Reader(view, step_id, work).Run();
  // Those of many ranks are in memory together.
  work.texts.ShrinkToFit();
  std::apply([](auto&... lists) { (lists.shrink_to_fit(), ...); }, work.rows);
  return work;
}

}  // namespace sonde::recipes::slow_rank
