// Tasks of devices: kernels and copies, or the innermost ops where the CPU did all the work.
#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "importers/common/kernel_name.h"
#include "importers/common/own_time.h"
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

constexpr store::IssueKind kAmbiguousLaunch{
    "trace_launch_ambiguous", store::Severity::kWarning,
    "work of a device has the number of launches in several processes (a file joined of several "
    "ranks): it is assigned to no operator"};
constexpr store::IssueKind kDeviceNotRecorded{
    "device_not_recorded", store::Severity::kWarning,
    "calls launched work on a device, but the file has none of it: the profiler lost its records, "
    "and host times do not replace them"};

class Kinds {
 public:
  // The kind of a name with a second number that distinguishes kinds; `fill` completes a new one.
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

std::string_view TaskType(const KinetoTrace& trace, int32_t slice_id) {
  const SliceClass slice_class = trace.ClassAt(slice_id);
  if (slice_class == SliceClass::kMemcpy) return "MEMCPY";
  if (slice_class == SliceClass::kMemset) return "MEMSET";
  return common::KernelTaskType(trace.NameAt(slice_id));
}

// Compiled code, steps and ranges of the user hold operators; they are none themselves.
bool IsOperator(const KinetoTrace& trace, int32_t op) {
  const std::string_view name = trace.NameAt(op);
  const capture::Scope scope = ScopeOf(name, trace.ClassAt(op));
  if (scope == capture::Scope::kBackward) return !name.starts_with("CompiledFunction");
  return scope == capture::Scope::kOp;
}

// The type of the op that launched the task; without one, the kernel's function, or the kind of
// copy.
int32_t TypeOfTask(const KinetoTrace& trace, int32_t slice_id, int32_t launch,
                   std::string_view task_type) {
  const bool has_op = launch >= 0 && IsOperator(trace, launch);
  const std::string_view name = trace.NameAt(has_op ? launch : slice_id);
  if (!has_op && task_type == "KERNEL") return trace.names().Intern(common::KernelFunction(name));
  // A copy: the argument of Intern must not be in the pool, which grows.
  const std::string type(has_op ? OpType(name) : name.substr(0, name.find_first_of(" (<")));
  return trace.names().Intern(type);
}

// Copies and fills have no core, like Ascend's copies.
void Complete(const KinetoTrace& trace, int32_t slice_id, int32_t launch, TaskKindRow& kind) {
  const std::string_view task_type = TaskType(trace, slice_id);
  kind.op_type = TypeOfTask(trace, slice_id, launch, task_type);
  kind.task_type = trace.names().Intern(task_type);
  if (task_type != "KERNEL") return;
  const bool computes = DeviceCollective(trace, slice_id).empty();
  kind.core = trace.names().Intern(computes ? "GPU" : "COMMUNICATION");
}

Result<int64_t> WriteDeviceWork(const KinetoTrace& trace, store::Transaction& transaction) {
  const EventStage& stage = trace.stage();
  Kinds kinds;
  SONDE_ASSIGN_OR_RETURN(auto writer, store::TableWriter<DeviceTaskRow>::Open(transaction));
  std::map<std::pair<int32_t, int32_t>, int64_t> end_before;  // by process and device
  int64_t ambiguous = 0;
  int32_t task_id = 0;
  base::SpillSteps steps(stage.pool());
  for (const int32_t id : trace.device_work()) {
    steps.Next();
    const StagedSlice& slice = stage.Slice(id);
    const KinetoTrace::Launch launch = trace.LaunchOf(id);
    ambiguous += launch.is_ambiguous ? 1 : 0;
    const TrackEntry& track = stage.TrackOf(slice);
    DeviceTaskRow row;
    row.task_id = task_id++;
    row.slice_id = id;
    row.track_id = stage.arrangement().track_ids[static_cast<size_t>(slice.track)];
    row.ts = slice.ts;
    row.dur = slice.dur;
    int64_t& before =
        end_before.try_emplace({track.process, track.device_id}, slice.ts).first->second;
    row.wait_ns = std::max<int64_t>(0, slice.ts - before);
    before = std::max(before, slice.ts + slice.dur);
    row.kind_id = kinds.Find(slice.name, launch.op < 0 ? store::kNone : stage.Slice(launch.op).name,
                             [&](TaskKindRow& kind) { Complete(trace, id, launch.op, kind); });
    row.launch_slice_id = launch.op;
    row.connection_id = stage.Captured(id, kCorrelation).value_or(store::kNone);
    row.step_id = trace.StepOfWork(id, launch);
    writer.Append(row);
  }
  if (ambiguous > 0) trace.stage().issues().Add(kAmbiguousLaunch, stage.path(), -1, ambiguous);
  SONDE_RETURN_IF_ERROR(writer.Close());
  SONDE_RETURN_IF_ERROR(kinds.Write(transaction));
  return task_id;
}

// The CPU as device: every op is a task on the stream of its thread, as long as its own time.
class CpuTasks {
 public:
  explicit CpuTasks(const KinetoTrace& trace) : trace_(trace), stage_(trace.stage()) {
    base::SpillSteps steps(stage_.pool());
    OwnTime<int32_t> own;
    const auto task = [this](int64_t ts, int64_t dur, int32_t id) { Add(ts, dur, id); };
    int32_t track = store::kNone;
    for (const int32_t id : stage_.arrangement().preorder) {
      steps.Next();
      const StagedSlice& slice = stage_.Slice(id);
      if (slice.track != track) own.End(task);
      track = slice.track;
      if (IsOp(id) && slice.dur >= 0) own.Take(slice.ts, slice.ts + slice.dur, id, true, task);
    }
    own.End(task);
    std::stable_sort(tasks_.begin(), tasks_.end(),
                     [](const Task& a, const Task& b) { return a.ts < b.ts; });
  }

  Result<int64_t> Write(store::Transaction& transaction) {
    SONDE_RETURN_IF_ERROR(WriteStreams(transaction));
    SONDE_ASSIGN_OR_RETURN(auto writer, store::TableWriter<DeviceTaskRow>::Open(transaction));
    const int32_t cpu = trace_.names().Intern("CPU");
    int32_t task_id = 0;
    int64_t end_before = tasks_.empty() ? 0 : tasks_[0].ts;
    for (const Task& task : tasks_) {
      const StagedSlice& slice = stage_.Slice(task.slice);
      DeviceTaskRow row;
      row.task_id = task_id++;
      row.slice_id = task.slice;
      row.track_id = stage_.arrangement().track_count + task.stream;
      row.ts = task.ts;
      row.dur = task.dur;
      row.wait_ns = std::max<int64_t>(0, task.ts - end_before);
      end_before = std::max(end_before, task.ts + task.dur);
      row.kind_id = kinds_.Find(slice.name, store::kNone, [&](TaskKindRow& kind) {
        const std::string type(OpType(trace_.NameOf(slice.name)));  // a copy, as above
        kind.op_type = trace_.names().Intern(type);
        kind.core = cpu;
        kind.task_type = cpu;
      });
      row.launch_slice_id = task.slice;
      row.step_id = trace_.StepAt(task.slice, slice.ts);
      writer.Append(row);
    }
    SONDE_RETURN_IF_ERROR(writer.Close());
    SONDE_RETURN_IF_ERROR(kinds_.Write(transaction));
    return task_id;
  }

 private:
  struct Task {
    int64_t ts;
    int64_t dur;
    int32_t slice;
    int32_t stream;
  };

  bool IsOp(int32_t id) const {
    return trace_.ClassAt(id) == SliceClass::kOp &&
           ScopeOf(trace_.NameAt(id), SliceClass::kOp) == capture::Scope::kOp;
  }

  void Add(int64_t ts, int64_t dur, int32_t id) {
    const TrackEntry& track = stage_.TrackOf(stage_.Slice(id));
    const auto [stream, is_new] =
        streams_.try_emplace(track.thread, static_cast<int32_t>(stream_threads_.size()));
    if (is_new) stream_threads_.push_back(track.thread);
    tasks_.push_back({ts, dur, id, stream->second});
  }

  Status WriteStreams(store::Transaction& transaction) {
    SONDE_ASSIGN_OR_RETURN(auto writer, store::TableWriter<store::TrackRow>::Open(transaction));
    const int32_t kind = trace_.names().Intern(capture::TextOf(capture::TrackKind::kStream));
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

  const KinetoTrace& trace_;
  const EventStage& stage_;
  Kinds kinds_;
  std::unordered_map<int32_t, int32_t> streams_;  // by thread
  std::vector<int32_t> stream_threads_;
  std::vector<Task> tasks_;
};

}  // namespace

Result<int64_t> WriteDeviceTasks(const KinetoTrace& trace, store::Transaction& transaction) {
  if (!trace.device_work().empty()) return WriteDeviceWork(trace, transaction);
  if (trace.launch_calls() > 0) {
    trace.stage().issues().Add(kDeviceNotRecorded, trace.stage().path(), -1, trace.launch_calls());
    return 0;
  }
  return CpuTasks(trace).Write(transaction);
}

}  // namespace sonde::importers::kineto
