// Rows of what an accelerator did, where its vendor's library told of it.
#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "importers/ascend/groups.h"
#include "importers/capture/trace.h"
#include "importers/common/communication_names.h"
#include "store/table_writer.h"

namespace sonde::importers::capture_import {
namespace {

using capture::DeviceRecordKind;
using store::DeviceTaskRow;
using store::TaskKindRow;

constexpr std::string_view kCopy = "MEMCPY_ASYNC";
constexpr std::string_view kSet = "MEMSET_ASYNC";
// By the vendor's numbers; names as deliverables have them.
constexpr auto kCommunicationTypes = std::to_array<std::string_view>(
    {"INT8", "INT16", "INT32", "FP16", "FP32", "INT64", "UINT64", "UINT8", "UINT16", "UINT32",
     "FP64", "BFP16", "INT128", "", "HIF8", "FP8E4M3", "FP8E5M2", "FP8E8M0"});

// "KERNEL_AIVEC", as the runtime names kinds of kernels, to the cores as deliverables do.
std::string_view CoreOf(std::string_view type) {
  if (type == "KERNEL_AICORE") return "AI_CORE";
  if (type == "KERNEL_AIVEC") return "AI_VECTOR_CORE";
  if (type == "KERNEL_AICPU") return "AI_CPU";
  constexpr std::string_view kPrefix = "KERNEL_";
  return type.starts_with(kPrefix) ? type.substr(kPrefix.size()) : "N/A";
}

// Kernels of aclnn operators are named "aclnnAdd_AddAiCore_Add": the last part is the type.
std::string_view TypeOf(std::string_view name) {
  const size_t line = name.rfind('_');
  return name.starts_with("aclnn") && line != std::string_view::npos ? name.substr(line + 1) : name;
}

// By call. A task belongs to the step that launched it, however late it runs.
std::vector<int64_t> StepsOfCalls(const CaptureTrace& trace, const std::vector<StepRange>& steps) {
  const auto& calls = trace.device.calls;
  std::vector<size_t> order(calls.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return calls[a].ts < calls[b].ts; });
  StepCursor cursor(steps);
  std::vector<int64_t> found(calls.size(), store::kNone);
  for (const size_t i : order) found[i] = cursor.At(calls[i].ts, calls[i].thread_id);
  return found;
}

class Writer {
 public:
  explicit Writer(CaptureTrace& trace) : trace_(trace) {}

  Result<int64_t> Write(const std::vector<StepRange>& steps, store::Transaction& transaction) {
    const std::vector<int64_t> steps_of_calls = StepsOfCalls(trace_, steps);
    SONDE_ASSIGN_OR_RETURN(auto writer, store::TableWriter<DeviceTaskRow>::Open(transaction));
    std::map<int32_t, int64_t> busy_until;  // by device
    int32_t task_id = 0;
    for (const DeviceTask* task : ByTime()) {
      if (task->kind == DeviceRecordKind::kCommunication) {
        int64_t& end = busy_until.try_emplace(task->device, task->ts).first->second;
        end = std::max(end, task->end);
        continue;
      }
      DeviceTaskRow row;
      row.task_id = task_id++;
      row.slice_id = task->slice_id;
      row.track_id = task->track_id;
      row.ts = task->ts;
      row.dur = task->end - task->ts;
      int64_t& end = busy_until.try_emplace(task->device, task->ts).first->second;
      row.wait_ns =
          task->kind == DeviceRecordKind::kKernel ? std::max<int64_t>(0, task->ts - end) : 0;
      end = std::max(end, task->end);
      row.kind_id = KindOf(*task);
      row.connection_id = static_cast<int64_t>(task->correlation);
      if (task->call != kNoNode) {
        const auto call = static_cast<size_t>(task->call);
        row.launch_slice_id = trace_.device.calls[call].op_slice;
        row.step_id = steps_of_calls[call];
      }
      writer.Append(row);
    }
    SONDE_RETURN_IF_ERROR(writer.Close());
    SONDE_ASSIGN_OR_RETURN(auto kinds, store::TableWriter<TaskKindRow>::Open(transaction));
    for (const TaskKindRow& kind : kinds_) kinds.Append(kind);
    SONDE_RETURN_IF_ERROR(kinds.Close());
    return task_id;
  }

 private:
  std::vector<const DeviceTask*> ByTime() const {
    std::vector<const DeviceTask*> tasks;
    for (const DeviceTask& task : trace_.device.tasks) tasks.push_back(&task);
    std::stable_sort(tasks.begin(), tasks.end(),
                     [](const auto* a, const auto* b) { return a->ts < b->ts; });
    return tasks;
  }

  int32_t KindOf(const DeviceTask& task) {
    const auto [known, is_new] = numbers_.try_emplace({task.kind, task.name, task.type},
                                                      static_cast<int32_t>(kinds_.size()));
    if (is_new) kinds_.push_back(NewKind(task, known->second));
    return known->second;
  }

  TaskKindRow NewKind(const DeviceTask& task, int32_t number) {
    TaskKindRow row;
    row.kind_id = number;
    if (task.kind != DeviceRecordKind::kKernel) {
      row.name = trace_.names.Intern(task.kind == DeviceRecordKind::kMemcpy ? kCopy : kSet);
      row.task_type = row.name;
      return row;
    }
    row.name = trace_.NameId(task.name);
    if (row.name == store::kNone) row.name = trace_.unknown_name;
    row.op_type = trace_.names.Intern(TypeOf(trace_.names.Text(row.name)));
    row.task_type = trace_.NameId(task.type);
    row.core = trace_.names.Intern(CoreOf(trace_.dictionary.Name(task.type)));
    return row;
  }

  CaptureTrace& trace_;
  std::map<std::tuple<DeviceRecordKind, uint32_t, uint32_t>, int32_t> numbers_;
  std::vector<TaskKindRow> kinds_;
};

std::string_view LevelOf(std::string_view name) {
  if (name.starts_with("aclrt") || name.starts_with("rt")) return "runtime";
  if (name.starts_with("Hccl") || name.starts_with("hcom")) return "communication";
  return name.starts_with("acl") ? "acl" : "node";
}

}  // namespace

DeviceCategories::DeviceCategories(store::NamePool& names)
    : kernel(names.Intern("kernel")),
      task(names.Intern("device_task")),
      communication(names.Intern("communication")),
      call(names.Intern("api")),
      copy_name(names.Intern(kCopy)),
      set_name(names.Intern(kSet)) {}

void WriteDeviceSlices(const CaptureTrace& trace, const DeviceCategories& categories,
                       store::TableWriter<store::SliceRow>& writer) {
  for (const DeviceCall& call : trace.device.calls) {
    store::SliceRow row;
    row.slice_id = call.slice_id;
    row.ts = call.ts;
    row.dur = call.end - call.ts;
    row.track_id = call.track_id;
    row.name = trace.NameId(call.name);
    row.category = categories.call;
    row.depth = call.depth;
    row.parent_id = call.parent;
    row.args_id = store::kNone;
    writer.Append(row);
  }
  for (const DeviceTask& task : trace.device.tasks) {
    const bool is_kernel = task.kind == DeviceRecordKind::kKernel;
    const bool is_communication = task.kind == DeviceRecordKind::kCommunication;
    store::SliceRow row;
    row.slice_id = task.slice_id;
    row.ts = task.ts;
    row.dur = task.end - task.ts;
    row.track_id = task.track_id;
    row.name = is_kernel || is_communication            ? trace.NameId(task.name)
               : task.kind == DeviceRecordKind::kMemcpy ? categories.copy_name
                                                        : categories.set_name;
    row.category = is_communication ? categories.communication
                   : is_kernel      ? categories.kernel
                                    : categories.task;
    row.depth = task.depth;
    row.parent_id = store::kNone;
    row.args_id = store::kNone;
    writer.Append(row);
  }
}

Result<int64_t> WriteDeviceTasks(CaptureTrace& trace, const std::vector<StepRange>& steps,
                                 store::Transaction& transaction) {
  return Writer(trace).Write(steps, transaction);
}

std::vector<store::CommunicationOpRow> DeviceOperations(CaptureTrace& trace,
                                                        const std::vector<StepRange>& steps) {
  std::vector<store::CommunicationOpRow> rows;
  const std::vector<int64_t> steps_of_calls = StepsOfCalls(trace, steps);
  for (const DeviceTask& task : trace.device.tasks) {
    if (task.kind != DeviceRecordKind::kCommunication) continue;
    store::CommunicationOpRow row;
    const std::string group(trace.dictionary.Name(task.group));
    const std::string type = CommunicationType(trace.dictionary.Name(task.name));
    row.slice_id = task.slice_id;
    row.process_id = kProcessId;
    row.device_id = task.device;
    row.ts = task.ts;
    row.dur = task.end - task.ts;
    row.name = trace.NameId(task.name);
    row.op_type = trace.names.Intern(type);
    row.group_name = trace.names.Intern(group);
    row.group_hash = static_cast<int64_t>(common::GroupHash(group));
    row.is_p2p = common::IsPointToPoint(type) ? 1 : 0;
    row.algorithm = trace.NameId(task.type);
    row.count = task.size <= INT64_MAX ? static_cast<int64_t>(task.size) : -1;
    if (task.code < kCommunicationTypes.size() && !kCommunicationTypes[task.code].empty()) {
      row.data_type = trace.names.Intern(kCommunicationTypes[task.code]);
      const int64_t bytes = ElementBytes(kCommunicationTypes[task.code]);
      if (row.count < 0 || __builtin_mul_overflow(row.count, bytes, &row.size_bytes)) {
        row.size_bytes = store::kNone;
      }
    }
    row.connection_id = static_cast<int64_t>(task.correlation);
    if (task.call != kNoNode) {
      const DeviceCall& call = trace.device.calls[static_cast<size_t>(task.call)];
      row.launch_slice_id = call.collective != kNoNode ? call.collective : call.op_slice;
      row.step_id = steps_of_calls[static_cast<size_t>(task.call)];
    }
    rows.push_back(row);
  }
  return rows;
}

Status WriteApiCalls(CaptureTrace& trace, store::Transaction& transaction) {
  SONDE_ASSIGN_OR_RETURN(auto writer, store::TableWriter<store::ApiCallRow>::Open(transaction));
  for (const DeviceCall& call : trace.device.calls) {
    store::ApiCallRow row;
    row.slice_id = call.slice_id;
    row.level = trace.names.Intern(LevelOf(trace.dictionary.Name(call.name)));
    row.connection_id = static_cast<int64_t>(call.correlation);
    writer.Append(row);
  }
  return writer.Close();
}

}  // namespace sonde::importers::capture_import
