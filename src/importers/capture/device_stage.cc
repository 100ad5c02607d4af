#include "importers/capture/device_stage.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "base/strings.h"
#include "importers/capture/device_words.h"
#include "importers/capture/issues.h"
#include "importers/capture/trace.h"
#include "importers/common/nester.h"

namespace sonde::importers::capture_import {
namespace {

using base::Concat;
using capture::DeviceRecord;
using capture::DeviceRecordKind;
using capture::RecordKind;

// Small numbers only reach columns of 32 bits; larger ones of the vendor mean "none".
int32_t Small(uint32_t number) { return number <= INT32_MAX ? static_cast<int32_t>(number) : -1; }

struct OpenNode {
  int64_t end;
  const Node* node;
};

// Finds the innermost ranges of one thread at moments that come in ascending order.
class OpenRanges {
 public:
  explicit OpenRanges(const ThreadStage& stage) : stage_(stage) {}

  void MoveTo(int64_t ts) {
    for (; next_ < stage_.nodes.size() && stage_.nodes[next_].ts <= ts; ++next_) {
      const Node& node = stage_.nodes[next_];
      if (!IsOfFramework(node.kind)) continue;
      open_.CloseUntil(node.ts);
      open_.Open({node.end, &node});
    }
    open_.CloseUntil(ts);
  }
  const Node* Operator() const {
    return Innermost([](RecordKind kind) { return kind != RecordKind::kCollective; });
  }
  int32_t Collective() const {
    const Node* node = Innermost([](RecordKind kind) { return kind == RecordKind::kCollective; });
    return node == nullptr ? kNoNode : node->slice_id;
  }

 private:
  static bool IsOfFramework(RecordKind kind) {
    return kind == RecordKind::kOp || kind == RecordKind::kBackwardNode ||
           kind == RecordKind::kFrameworkRange || kind == RecordKind::kCompiledRegion ||
           kind == RecordKind::kCollective;
  }
  template <class Is>
  const Node* Innermost(const Is& is) const {
    const auto& frames = open_.frames();
    for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
      if (is(frame->node->kind)) return frame->node;
    }
    return nullptr;
  }

  const ThreadStage& stage_;
  size_t next_ = 0;
  Nester<OpenNode> open_;
};

class Stager {
 public:
  explicit Stager(CaptureTrace& trace) : trace_(trace), device_(trace.device) {}

  void Run() {
    device_.vendor = trace_.device_records.vendor;
    for (const DeviceRecord& record : trace_.device_records.records) Take(record);
    trace_.device_records.records = {};
    JoinCalls();
    PlaceCalls();
    PlaceTasks();
    JoinTasks();
  }

 private:
  void Take(const DeviceRecord& record) {
    const int64_t ts = record.start_ns + trace_.device_offset_ns;
    const int64_t end = record.end_ns + trace_.device_offset_ns;
    const auto kind = static_cast<DeviceRecordKind>(record.kind);
    if (kind == DeviceRecordKind::kApi) {
      DeviceCall call;
      call.ts = ts;
      call.end = end;
      call.correlation = record.correlation;
      call.name = record.name;
      call.tid = record.stream;
      device_.calls.push_back(call);
      return;
    }
    DeviceTask task;
    task.ts = ts;
    task.end = end;
    task.correlation = record.correlation;
    task.size = record.size;
    task.kind = kind;
    task.code = record.code;
    task.device = Small(record.device);
    task.stream = Small(record.stream);
    task.name = record.name;
    task.type = record.type;
    task.group = record.group;
    device_.tasks.push_back(task);
  }

  // Finds the ranges that were open on the threads of the calls when these began.
  void JoinCalls() {
    std::sort(device_.calls.begin(), device_.calls.end(), [](const auto& a, const auto& b) {
      return a.tid != b.tid ? a.tid < b.tid : BeginsBefore(a.ts, a.end, b.ts, b.end);
    });
    std::map<uint32_t, const ThreadStage*> by_tid;
    for (const ThreadStage& stage : trace_.stages) {
      const ThreadEntry* entry = trace_.dictionary.FindThread(stage.thread_index);
      if (entry != nullptr) by_tid[entry->tid] = &stage;
    }
    for (size_t first = 0; first < device_.calls.size();) {
      const uint32_t tid = device_.calls[first].tid;
      const auto known = by_tid.find(tid);
      size_t last = first;
      while (last < device_.calls.size() && device_.calls[last].tid == tid) ++last;
      if (known != by_tid.end()) JoinThread(*known->second, first, last);
      first = last;
    }
  }

  void JoinThread(const ThreadStage& stage, size_t first, size_t last) {
    OpenRanges open(stage);
    for (size_t i = first; i < last; ++i) {
      DeviceCall& call = device_.calls[i];
      open.MoveTo(call.ts);
      call.thread_id = stage.thread_id;
      if (const Node* op = open.Operator()) {
        call.op_slice = op->slice_id;
        const bool is_operator =
            op->kind == RecordKind::kOp || op->kind == RecordKind::kBackwardNode;
        call.op_name = is_operator ? op->name : 0;
      }
      call.collective = open.Collective();
    }
  }

  // Calls are in the order of threads and begin; those that do not nest are on a lane below.
  void PlaceCalls() {
    struct Frame {
      int64_t end;
      size_t index;
    };
    Nester<Frame> open;
    std::vector<int32_t> parents(device_.calls.size(), kNoNode);
    for (size_t i = 0; i < device_.calls.size(); ++i) {
      DeviceCall& call = device_.calls[i];
      if (i == 0 || call.tid != device_.calls[i - 1].tid) {
        open.Clear();
        AddTrack(
            {.kind = TrackKind::kApi,
             .label = Concat("Thread ", std::to_string(call.tid), " ", InterfaceOf(device_.vendor)),
             .thread_id = call.thread_id});
      }
      open.CloseUntil(call.ts);
      if (!open.Holds(call.end)) {  // times of one thread nest
        call.end = open.innermost().end;
        trace_.issues.Add(kDeviceCallCut, "");
      }
      call.track_id = device_.tracks.back().track_id;
      call.depth = static_cast<int32_t>(open.depth());
      if (!open.empty()) parents[i] = static_cast<int32_t>(open.innermost().index);
      open.Open({call.end, i});
    }
    NumberCalls(parents);
  }

  void NumberCalls(const std::vector<int32_t>& parents) {
    std::vector<size_t> order(device_.calls.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [this](size_t a, size_t b) {
      return Key(device_.calls[a], a) < Key(device_.calls[b], b);
    });
    for (const size_t i : order) {
      device_.calls[i].slice_id = static_cast<int32_t>(trace_.slices++);
    }
    for (size_t i = 0; i < parents.size(); ++i) {
      if (parents[i] == kNoNode) continue;
      device_.calls[i].parent = device_.calls[static_cast<size_t>(parents[i])].slice_id;
    }
    std::sort(device_.calls.begin(), device_.calls.end(),
              [](const auto& a, const auto& b) { return a.slice_id < b.slice_id; });
  }

  template <class Item>
  static std::tuple<int32_t, int32_t, int64_t, size_t> Key(const Item& item, size_t index) {
    return {item.track_id, item.depth, item.ts, index};
  }

  // Streams in order, then communicators; a task that overlaps another one of its stream is on a
  // lane below.
  void PlaceTasks() {
    const auto place = [](const DeviceTask& task) {
      const bool is_group = task.kind == DeviceRecordKind::kCommunication;
      return std::tuple(is_group, task.device, is_group ? -1 : task.stream,
                        is_group ? task.group : 0);
    };
    std::stable_sort(device_.tasks.begin(), device_.tasks.end(), [&](const auto& a, const auto& b) {
      return std::tuple(place(a), a.ts) < std::tuple(place(b), b.ts);
    });
    std::vector<int64_t> lane_ends;
    for (size_t i = 0; i < device_.tasks.size(); ++i) {
      DeviceTask& task = device_.tasks[i];
      if (i == 0 || place(task) != place(device_.tasks[i - 1])) {
        lane_ends.clear();
        AddTaskTrack(task);
      }
      const auto lane = std::find_if(lane_ends.begin(), lane_ends.end(),
                                     [&](int64_t end) { return end <= task.ts; });
      task.track_id = device_.tracks.back().track_id;
      task.depth = static_cast<int32_t>(lane - lane_ends.begin());
      if (lane == lane_ends.end()) {
        lane_ends.push_back(task.end);
      } else {
        *lane = task.end;
      }
    }
    std::stable_sort(device_.tasks.begin(), device_.tasks.end(), [](const auto& a, const auto& b) {
      return std::tuple(a.track_id, a.depth, a.ts) < std::tuple(b.track_id, b.depth, b.ts);
    });
    for (DeviceTask& task : device_.tasks) task.slice_id = static_cast<int32_t>(trace_.slices++);
  }

  void AddTaskTrack(const DeviceTask& task) {
    if (task.kind == DeviceRecordKind::kCommunication) {
      const std::string_view group = trace_.dictionary.Name(task.group);
      AddTrack(
          {.kind = TrackKind::kCommunicationGroup,
           .label = group.empty() ? "Communication" : Concat("Group ", group, " Communication"),
           .device_id = task.device});
      return;
    }
    AddTrack({.kind = TrackKind::kStream,
              .label = Concat("Stream ", std::to_string(task.stream)),
              .device_id = task.device,
              .stream_id = task.stream});
  }

  void AddTrack(DeviceTrack track) {
    track.track_id = trace_.tracks++;
    device_.tracks.push_back(std::move(track));
  }

  // The innermost call of a correlation is the one that launched.
  void JoinTasks() {
    std::unordered_map<uint64_t, int32_t> calls;
    for (size_t i = 0; i < device_.calls.size(); ++i) {
      if (device_.calls[i].correlation != 0) {
        calls[device_.calls[i].correlation] = static_cast<int32_t>(i);
      }
    }
    for (DeviceTask& task : device_.tasks) {
      const auto call = calls.find(task.correlation);
      if (call != calls.end()) task.call = call->second;
      const bool is_joined =
          task.call != kNoNode && device_.calls[static_cast<size_t>(task.call)].op_slice != kNoNode;
      if (!is_joined && task.kind != DeviceRecordKind::kCommunication) {
        trace_.issues.Add(kDeviceUnjoined, "");
      }
    }
  }

  CaptureTrace& trace_;
  DeviceStage& device_;
};

}  // namespace

void StageDevice(CaptureTrace& trace) { Stager(trace).Run(); }

}  // namespace sonde::importers::capture_import
