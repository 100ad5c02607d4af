// Tasks of devices: kernels and copies, or the innermost ops where the CPU did all the work.
#include <algorithm>
#include <unordered_map>
#include <vector>

#include "base/strings.h"
#include "importers/capture/helper_ops.h"
#include "importers/kineto/trace.h"
#include "store/table_writer.h"

namespace sonde::importers::kineto {
namespace {

using store::DeviceTaskRow;
using store::TaskKindRow;
using trace_events::EventStage;
using trace_events::StagedSlice;
using trace_events::TrackEntry;

// "aten::add" -> "add": operators of one library are of one type whatever its prefix.
std::string_view OpType(std::string_view name) {
  const size_t colon = name.rfind("::");
  return colon == std::string_view::npos ? name : name.substr(colon + 2);
}

class Kinds {
 public:
  // The kind of a name with some other number that tells kinds apart; `fill` completes a new one.
  template <class Fill>
  int32_t Find(int32_t name, int32_t other, Fill&& fill) {
    const uint64_t key =
        (uint64_t{static_cast<uint32_t>(name)} << 32U) | static_cast<uint32_t>(other);
    const auto [place, is_new] = ids_.try_emplace(key, static_cast<int32_t>(rows_.size()));
    if (is_new) {
      TaskKindRow row;
      row.kind_id = place->second;
      row.name = name;
      fill(row);
      rows_.push_back(row);
    }
    return place->second;
  }

  Status Write(store::Transaction& transaction) const {
    SONDE_ASSIGN_OR_RETURN(auto writer, store::TableWriter<TaskKindRow>::Open(transaction));
    for (const TaskKindRow& row : rows_) writer.Append(row);
    return writer.Close();
  }

 private:
  std::unordered_map<uint64_t, int32_t> ids_;
  std::vector<TaskKindRow> rows_;
};

const char* TaskType(SliceClass slice_class) {
  if (slice_class == SliceClass::kMemcpy) return "MEMCPY";
  return slice_class == SliceClass::kMemset ? "MEMSET" : "KERNEL";
}

bool IsCommunication(const KinetoTrace& trace, int32_t slice_id) {
  return trace.stage().Captured(slice_id, kCollective).has_value() ||
         base::ToLower(trace.NameAt(slice_id).substr(0, 4)) == "nccl";
}

// The type of the op that launched the task; without one, the first word of the task's name.
int32_t TypeOfTask(const KinetoTrace& trace, int32_t slice_id, int32_t launch) {
  const std::string_view name = trace.NameAt(launch >= 0 ? launch : slice_id);
  // A copy: what is interned must not lie in the pool that grows by it.
  const std::string type(launch >= 0 ? OpType(name) : name.substr(0, name.find_first_of(" (<")));
  return trace.names().Intern(type);
}

Result<int64_t> WriteDeviceWork(const KinetoTrace& trace, store::Transaction& transaction) {
  const EventStage& stage = trace.stage();
  Kinds kinds;
  SONDE_ASSIGN_OR_RETURN(auto writer, store::TableWriter<DeviceTaskRow>::Open(transaction));
  std::unordered_map<int32_t, int64_t> end_before;  // by device
  int32_t task_id = 0;
  base::SpillSteps steps(stage.pool());
  for (const int32_t id : trace.device_work()) {
    steps.Next();
    const StagedSlice& slice = stage.Slice(id);
    const int32_t launch = trace.LaunchOp(id);
    const SliceClass slice_class = trace.ClassAt(id);
    DeviceTaskRow row;
    row.task_id = task_id++;
    row.slice_id = id;
    row.track_id = stage.arrangement().track_ids[static_cast<size_t>(slice.track)];
    row.ts = slice.ts;
    row.dur = slice.dur;
    const auto [before, first] = end_before.try_emplace(stage.TrackOf(slice).process, slice.ts);
    row.wait_ns = std::max<int64_t>(0, slice.ts - before->second);
    before->second = slice.ts + slice.dur;
    row.kind_id = kinds.Find(
        slice.name, launch < 0 ? launch : stage.Slice(launch).name, [&](TaskKindRow& kind) {
          kind.op_type = TypeOfTask(trace, id, launch);
          kind.core = trace.names().Intern(IsCommunication(trace, id) ? "COMMUNICATION" : "GPU");
          kind.task_type = trace.names().Intern(TaskType(slice_class));
        });
    row.launch_slice_id = launch;
    row.connection_id = stage.Captured(id, kCorrelation).value_or(store::kNone);
    row.step_id = trace.StepAt(slice.ts);
    writer.Append(row);
  }
  SONDE_RETURN_IF_ERROR(writer.Close());
  SONDE_RETURN_IF_ERROR(kinds.Write(transaction));
  return task_id;
}

// The CPU as device: every innermost op is a task on the stream of its thread, except that an op
// which computes takes in the helpers that it calls (capture/helper_ops.h).
class CpuTasks {
 public:
  explicit CpuTasks(const KinetoTrace& trace) : trace_(trace), stage_(trace.stage()) {
    FindWork();
    base::SpillSteps steps(stage_.pool());
    for (const int32_t id : stage_.arrangement().preorder) {
      steps.Next();
      Take(id);
    }
    std::stable_sort(tasks_.begin(), tasks_.end(), [&](const Task& a, const Task& b) {
      return stage_.Slice(a.slice).ts < stage_.Slice(b.slice).ts;
    });
  }

  Result<int64_t> Write(store::Transaction& transaction) {
    SONDE_RETURN_IF_ERROR(WriteStreams(transaction));
    SONDE_ASSIGN_OR_RETURN(auto writer, store::TableWriter<DeviceTaskRow>::Open(transaction));
    const int32_t cpu = trace_.names().Intern("CPU");
    int32_t task_id = 0;
    int64_t end_before = tasks_.empty() ? 0 : stage_.Slice(tasks_[0].slice).ts;
    for (const Task& task : tasks_) {
      const StagedSlice& slice = stage_.Slice(task.slice);
      DeviceTaskRow row;
      row.task_id = task_id++;
      row.slice_id = task.slice;
      row.track_id = stage_.arrangement().track_count + task.stream;
      row.ts = slice.ts;
      row.dur = slice.dur;
      row.wait_ns = std::max<int64_t>(0, slice.ts - end_before);
      end_before = slice.ts + slice.dur;
      row.kind_id = kinds_.Find(slice.name, store::kNone, [&](TaskKindRow& kind) {
        const std::string type(OpType(trace_.NameOf(slice.name)));  // a copy, as above
        kind.op_type = trace_.names().Intern(type);
        kind.core = cpu;
        kind.task_type = cpu;
      });
      row.launch_slice_id = task.slice;
      row.step_id = trace_.StepAt(slice.ts);
      writer.Append(row);
    }
    SONDE_RETURN_IF_ERROR(writer.Close());
    SONDE_RETURN_IF_ERROR(kinds_.Write(transaction));
    return task_id;
  }

 private:
  enum class Place : uint8_t { kPlain, kHasOpInside, kHasWorkInside, kInTask };
  struct Task {
    int32_t slice;
    int32_t stream;
  };

  bool IsOp(int32_t id) const {
    return trace_.ClassAt(id) == SliceClass::kOp &&
           ScopeOf(trace_.NameAt(id), SliceClass::kOp) == 0;
  }
  bool IsHelper(int32_t id) {
    const int32_t name = stage_.Slice(id).name;
    const auto [place, is_new] = helper_.try_emplace(name, false);
    if (is_new) place->second = capture_import::IsHelperOp(trace_.NameOf(name));
    return place->second;
  }

  // From the innermost out: a parent comes before its children in preorder.
  void FindWork() {
    places_.assign(static_cast<size_t>(stage_.slice_count()), Place::kPlain);
    const auto& preorder = stage_.arrangement().preorder;
    base::SpillSteps steps(stage_.pool());
    for (size_t i = preorder.size(); i-- > 0;) {
      steps.Next();
      const int32_t id = preorder[i];
      const int32_t parent = stage_.Parent(id);
      if (parent < 0) continue;
      Place inside = At(id);
      if (IsOp(id))
        inside = std::max(inside, IsHelper(id) ? Place::kHasOpInside : Place::kHasWorkInside);
      At(parent) = std::max(At(parent), inside);
    }
  }

  void Take(int32_t id) {
    const int32_t parent = stage_.Parent(id);
    if (parent >= 0 && At(parent) == Place::kInTask) {
      At(id) = Place::kInTask;
      return;
    }
    if (!IsOp(id) || stage_.Slice(id).dur < 0) return;
    const bool is_task =
        At(id) == Place::kPlain || (At(id) == Place::kHasOpInside && !IsHelper(id));
    if (!is_task) return;
    At(id) = Place::kInTask;
    const TrackEntry& track = stage_.TrackOf(stage_.Slice(id));
    const auto [stream, is_new] =
        streams_.try_emplace(track.thread, static_cast<int32_t>(stream_threads_.size()));
    if (is_new) stream_threads_.push_back(track.thread);
    tasks_.push_back({id, stream->second});
  }

  Status WriteStreams(store::Transaction& transaction) {
    SONDE_ASSIGN_OR_RETURN(auto writer, store::TableWriter<store::TrackRow>::Open(transaction));
    const int32_t kind = trace_.names().Intern("stream");
    for (size_t i = 0; i < stream_threads_.size(); ++i) {
      const auto thread = static_cast<size_t>(stream_threads_[i]);
      const auto process = static_cast<size_t>(stage_.tracks().threads[thread].process);
      const auto stream = static_cast<int32_t>(i);
      store::TrackRow row;
      row.track_id = stage_.arrangement().track_count + stream;
      row.kind = kind;
      row.name = trace_.names().Intern(base::Concat("Stream ", std::to_string(i)));
      row.process_id = stage_.arrangement().process_ids[process];
      row.thread_id = stage_.arrangement().thread_ids[thread];
      row.stream_id = stream;
      row.sort_index = row.track_id;
      writer.Append(row);
    }
    return writer.Close();
  }

  Place& At(int32_t id) { return places_[static_cast<size_t>(id)]; }

  const KinetoTrace& trace_;
  const EventStage& stage_;
  Kinds kinds_;
  std::vector<Place> places_;  // by slice_id
  std::unordered_map<int32_t, bool> helper_;
  std::unordered_map<int32_t, int32_t> streams_;  // by thread
  std::vector<int32_t> stream_threads_;
  std::vector<Task> tasks_;
};

}  // namespace

Result<int64_t> WriteDeviceTasks(const KinetoTrace& trace, store::Transaction& transaction) {
  if (!trace.device_work().empty()) return WriteDeviceWork(trace, transaction);
  return CpuTasks(trace).Write(transaction);
}

}  // namespace sonde::importers::kineto
