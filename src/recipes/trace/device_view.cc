#include "recipes/trace/device_view.h"

#include <algorithm>
#include <map>

#include "recipes/communication/naming.h"
#include "recipes/meaning/meaning.h"

namespace sonde::recipes {
namespace {

constexpr size_t kNoDevice = SIZE_MAX;

// Garbled numbers leave no room behind them: those count as none.
int64_t LastConnection(const TraceData& data) {
  constexpr int64_t kMost = int64_t{1} << 61U;
  int64_t last = 0;
  const auto note = [&](int64_t id) { last = id < kMost ? std::max(last, id) : last; };
  for (const store::DeviceTaskRow& task : data.tasks) note(task.connection_id);
  for (const store::CommunicationOpRow& op : data.communications) note(op.connection_id);
  for (const store::ApiCallRow& call : data.api_calls) note(call.connection_id);
  return last;
}

class ViewMaker {
 public:
  explicit ViewMaker(const TraceData& data) : data_(data) {
    view_.data = &data;
    view_.settings = CaptureSettings::FromTrace(data);
    view_.last_connection = LastConnection(data);
  }

  DeviceView Make(bool with_times) {
    FindDevices();
    NameCommunications();
    NumberFlows();
    if (with_times) Summarise();
    return std::move(view_);
  }

 private:
  size_t DeviceIndex(int32_t process_id, int64_t device_id, bool is_cpu) {
    if (device_id < 0) device_id = std::max<int64_t>(view_.settings.local_rank, 0);
    for (size_t i = 0; i < view_.devices.size(); ++i) {
      const Device& device = view_.devices[i];
      if (device.process_id == process_id && device.device_id == device_id) return i;
    }
    Device device;
    device.process_id = process_id;
    device.pid = data_.PidOf(process_id);
    device.device_id = device_id;
    device.is_cpu = is_cpu;
    view_.devices.push_back(std::move(device));
    return view_.devices.size() - 1;
  }

  void FindDevices() {
    view_.device_of_track.assign(data_.tracks.size(), kNoDevice);
    for (const store::DeviceTaskRow& task : data_.tasks) {
      size_t& device = view_.device_of_track[static_cast<size_t>(task.track_id)];
      if (device != kNoDevice) continue;
      const store::TrackRow& track = data_.tracks[static_cast<size_t>(task.track_id)];
      const auto& kind = data_.kinds[static_cast<size_t>(task.kind_id)];
      device = DeviceIndex(track.process_id, track.device_id, data_.Name(kind.core) == "CPU");
    }
  }

  void NameCommunications() {
    std::map<uint64_t, size_t> numbers;
    std::vector<std::vector<int64_t>> lane_ends;  // by group
    for (const store::CommunicationOpRow& op : data_.communications) {
      CommunicationView shown;
      shown.group_hash = static_cast<uint64_t>(op.group_hash);
      shown.group_name = data_.Name(op.group_name);
      const std::string_view given = data_.Name(op.name);
      const std::string_view type = data_.Name(op.op_type);
      const size_t number = numbers[shown.group_hash]++;
      shown.name = given.starts_with("hcom_") ? std::string(given)
                                              : HcomName(type, shown.group_hash, number);
      shown.type = HcomType(type);
      shown.is_p2p = op.is_p2p != 0 || IsPointToPoint(shown.name);
      shown.device = DeviceIndex(op.process_id, op.device_id, op.device_id < 0);
      auto& hashes = view_.group_hashes;
      const auto found = std::find(hashes.begin(), hashes.end(), shown.group_hash);
      shown.group = static_cast<size_t>(found - hashes.begin());
      if (found == hashes.end()) {
        hashes.push_back(shown.group_hash);
        lane_ends.emplace_back();
      }
      shown.lane = TakeLane(lane_ends[shown.group], op.ts, view_.EndNs(op));
      view_.communications.push_back(std::move(shown));
    }
    for (const auto& lanes : lane_ends) view_.group_lanes.push_back(lanes.size());
  }

  // The first lane that is free at `start_ns`.
  static size_t TakeLane(std::vector<int64_t>& lane_ends, int64_t start_ns, int64_t end_ns) {
    for (size_t lane = 0; lane < lane_ends.size(); ++lane) {
      if (lane_ends[lane] <= start_ns) {
        lane_ends[lane] = end_ns;
        return lane;
      }
    }
    lane_ends.push_back(end_ns);
    return lane_ends.size() - 1;
  }

  void NumberFlows() {
    const auto& tasks = data_.tasks;
    const auto& ops = data_.communications;
    view_.task_flow_ns.resize(tasks.size());
    view_.communication_flow_ns.resize(ops.size());
    int64_t last_ns = INT64_MIN;
    size_t op = 0;
    size_t task = 0;
    while (task < tasks.size() || op < ops.size()) {
      const bool is_task =
          op == ops.size() || (task < tasks.size() && tasks[task].ts <= ops[op].ts);
      const int64_t start_ns = is_task ? tasks[task].ts : ops[op].ts;
      last_ns = start_ns > last_ns ? start_ns : last_ns + 1;
      (is_task ? view_.task_flow_ns[task++] : view_.communication_flow_ns[op++]) = last_ns;
    }
  }

  // Overlap and steps of each device.
  void Summarise() {
    for (size_t i = 0; i < view_.devices.size(); ++i) {
      Device& device = view_.devices[i];
      std::vector<Interval> computing = ComputingOf(i);
      std::vector<Interval> communication;
      std::vector<Interval> receives;
      for (size_t k = 0; k < data_.communications.size(); ++k) {
        if (view_.communications[k].device != i) continue;
        const auto& op = data_.communications[k];
        communication.push_back({op.ts, view_.EndNs(op)});
        if (view_.communications[k].name.starts_with("hcom_receive")) {
          receives.push_back(communication.back());
        }
      }
      const std::vector<StepRange> steps = StepsOf(i);
      if (RunInParallel(steps)) {
        device.steps = RowsOfOwnTasks(i, steps);
      } else {
        device.steps = StepTraceFromTasks({.computing = computing,
                                           .communication = communication,
                                           .receives = receives,
                                           .steps = steps,
                                           .first_op_start_ns = data_.first_ns});
      }
      device.overlap = AnalyseOverlap(std::move(computing), std::move(communication));
    }
  }

  std::vector<Interval> ComputingOf(size_t device) const {
    std::vector<Interval> computing;
    computing.reserve(data_.tasks.size());
    ForEachComputing(device, [&](const store::DeviceTaskRow&, const Interval& interval) {
      computing.push_back(interval);
    });
    return computing;
  }

  template <class Take>
  void ForEachComputing(size_t device, Take&& take) const {
    // Kinds are few: whether a kind counts is found out once.
    const std::vector<Work> meanings = MeaningsOf(data_);
    for (const store::DeviceTaskRow& task : data_.tasks) {
      if (view_.device_of_track[static_cast<size_t>(task.track_id)] != device) continue;
      if (meanings[static_cast<size_t>(task.kind_id)] != Work::kComputing) continue;
      take(task, Interval{task.ts, task.ts + std::max<int64_t>(task.dur, 0)});
    }
  }

  // Calls of a model on several threads, or streams of a device that work on different steps.
  static bool RunInParallel(const std::vector<StepRange>& steps) {
    int64_t end_ns = INT64_MIN;
    for (const StepRange& step : steps) {
      if (step.start_ns < end_ns) return true;
      end_ns = std::max(end_ns, step.end_ns);
    }
    return false;
  }

  // Of steps that overlap each has the work that is assigned to it, not all that starts in its
  // time.
  std::vector<StepTraceRow> RowsOfOwnTasks(size_t index,
                                           const std::vector<StepRange>& steps) const {
    struct Own {
      std::vector<Interval> computing, communication, receives;
    };
    std::map<int64_t, Own> own;
    ForEachComputing(index, [&](const store::DeviceTaskRow& task, const Interval& interval) {
      own[task.step_id].computing.push_back(interval);
    });
    for (size_t k = 0; k < data_.communications.size(); ++k) {
      if (view_.communications[k].device != index) continue;
      const auto& op = data_.communications[k];
      Own& step = own[op.step_id];
      step.communication.push_back({op.ts, view_.EndNs(op)});
      if (view_.communications[k].name.starts_with("hcom_receive")) {
        step.receives.push_back(step.communication.back());
      }
    }
    std::vector<StepTraceRow> rows;
    for (const StepRange& step : steps) {
      const Own& part = own[step.step_id];
      for (StepTraceRow& row : StepTraceFromTasks({.computing = part.computing,
                                                   .communication = part.communication,
                                                   .receives = part.receives,
                                                   .steps = {&step, 1},
                                                   .first_op_start_ns = data_.first_ns})) {
        rows.push_back(row);
      }
    }
    return rows;
  }

  // Text deliverables put the tasks of a CPU, too, into a process of the device.
  bool HasThreads(int32_t process_id) const {
    return std::any_of(data_.tracks.begin(), data_.tracks.end(), [&](const auto& track) {
      return track.process_id == process_id && data_.IsOfKind(track, TrackKind::kThread);
    });
  }

  // A step that was open when recording ended would count as a short one: it is left out, unless
  // nothing else is there (a program that was killed in its first step).
  std::vector<StepRange> StepsOf(size_t index) const {
    const Device& device = view_.devices[index];
    if (!device.is_cpu) {
      std::vector<StepRange> steps = StepsOfAccelerator(index);
      if (!steps.empty()) return steps;  // else its tasks are assigned to none
    }
    std::vector<StepRange> finished;
    std::vector<StepRange> unfinished;
    const bool is_apart = !HasThreads(device.process_id);
    for (const store::StepRow& step : data_.steps) {
      if (step.process_id != device.process_id && !is_apart) continue;
      const bool is_open = step.dur < 0;
      const int64_t end_ns = is_open ? data_.last_ns : step.ts + step.dur;
      (is_open ? unfinished : finished).push_back({step.step_id, step.ts, end_ns, step.ts});
    }
    return finished.empty() ? unfinished : finished;
  }

  // A device of its own works behind the host: the step is where the work lies that its tasks and
  // operations are assigned to.
  std::vector<StepRange> StepsOfAccelerator(size_t index) const {
    std::map<int64_t, StepRange> ranges;
    const auto cover = [&](int64_t step_id, int64_t ts) {
      if (step_id < 0) return;
      const auto [range, is_new] = ranges.try_emplace(step_id, StepRange{step_id, ts, ts + 1, ts});
      range->second.start_ns = std::min(range->second.start_ns, ts);
      range->second.end_ns = std::max(range->second.end_ns, ts + 1);
    };
    for (const store::DeviceTaskRow& task : data_.tasks) {
      if (view_.device_of_track[static_cast<size_t>(task.track_id)] != index) continue;
      cover(task.step_id, task.ts);
    }
    for (size_t k = 0; k < data_.communications.size(); ++k) {
      if (view_.communications[k].device != index) continue;
      cover(data_.communications[k].step_id, data_.communications[k].ts);
    }
    for (const store::StepRow& step : data_.steps) {
      const auto range = ranges.find(step.step_id);
      if (range != ranges.end()) range->second.host_start_ns = step.ts;
    }
    std::vector<StepRange> steps;
    for (const auto& [step_id, range] : ranges) steps.push_back(range);
    return steps;
  }

  const TraceData& data_;
  DeviceView view_;
};

}  // namespace

DeviceView DeviceView::Make(const TraceData& data, bool with_times) {
  return ViewMaker(data).Make(with_times);
}

}  // namespace sonde::recipes
