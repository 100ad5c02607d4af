// Rows of an accelerator's work, where its vendor's library reported it.
#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "importers/capture/device_words.h"
#include "importers/capture/trace.h"
#include "store/table_writer.h"

namespace sonde::importers::capture_import {
namespace {

using capture::DeviceRecordKind;
using capture::DeviceVendor;
using store::DeviceTaskRow;
using store::TaskKindRow;

constexpr std::string_view kCopy = "MEMCPY_ASYNC";
constexpr std::string_view kSet = "MEMSET_ASYNC";
class DeviceRowWriter {
 public:
  explicit DeviceRowWriter(CaptureTrace& trace) : trace_(trace) {}

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

  // Kernels of one name are of one kind, except on GPUs: there the operator gives the type.
  int32_t KindOf(const DeviceTask& task) {
    const bool by_op = trace_.device.vendor == DeviceVendor::kNvidia && task.call != kNoNode;
    const uint32_t op =
        by_op ? trace_.device.calls[static_cast<size_t>(task.call)].op_name : uint32_t{0};
    const auto [known, is_new] = numbers_.try_emplace({task.kind, task.name, task.type, op},
                                                      static_cast<int32_t>(kinds_.size()));
    if (is_new) kinds_.push_back(NewKind(task, op, known->second));
    return known->second;
  }

  TaskKindRow NewKind(const DeviceTask& task, uint32_t op, int32_t number) {
    TaskKindRow row;
    row.kind_id = number;
    row.name = trace_.NameId(task.name);
    if (row.name == store::kNone && task.kind != DeviceRecordKind::kKernel) {
      row.name = trace_.names.Intern(task.kind == DeviceRecordKind::kMemcpy ? kCopy : kSet);
    }
    if (row.name == store::kNone) row.name = trace_.unknown_name;
    // A copy: the argument of Intern must not be in the pool, which grows.
    const std::string name(trace_.names.Text(row.name));
    const TaskWords words = WordsOf(trace_.device.vendor, task.kind, name,
                                    trace_.dictionary.Name(task.type), trace_.dictionary.Name(op));
    const auto intern = [&](const std::string& text) {
      return text.empty() ? store::kNone : trace_.names.Intern(text);
    };
    row.op_type = intern(words.op_type);
    row.task_type = intern(words.task_type);
    row.core = intern(words.core);
    return row;
  }

  CaptureTrace& trace_;
  std::map<std::tuple<DeviceRecordKind, uint32_t, uint32_t, uint32_t>, int32_t> numbers_;
  std::vector<TaskKindRow> kinds_;
};

}  // namespace

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

DeviceCategories::DeviceCategories(store::NamePool& names, DeviceVendor vendor)
    : kernel(names.Intern("kernel")),
      copy(names.Intern(vendor == DeviceVendor::kNvidia ? "gpu_memcpy" : "device_task")),
      set(names.Intern(vendor == DeviceVendor::kNvidia ? "gpu_memset" : "device_task")),
      communication(names.Intern("communication")),
      call(names.Intern(CallCategory(vendor, "cuda"))),
      driver_call(names.Intern(CallCategory(vendor, "cu"))),
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
    const bool is_of_driver = !trace.dictionary.Name(call.name).starts_with("cuda");
    row.category = is_of_driver ? categories.driver_call : categories.call;
    row.depth = call.depth;
    row.parent_id = call.parent;
    row.args_id = store::kNone;
    writer.Append(row);
  }
  for (const DeviceTask& task : trace.device.tasks) {
    store::SliceRow row;
    row.slice_id = task.slice_id;
    row.ts = task.ts;
    row.dur = task.end - task.ts;
    row.track_id = task.track_id;
    row.name = trace.NameId(task.name);
    if (task.kind == DeviceRecordKind::kMemcpy) {
      row.category = categories.copy;
      if (row.name == store::kNone) row.name = categories.copy_name;
    } else if (task.kind == DeviceRecordKind::kMemset) {
      row.category = categories.set;
      if (row.name == store::kNone) row.name = categories.set_name;
    } else {
      const bool is_kernel = task.kind == DeviceRecordKind::kKernel;
      row.category = is_kernel ? categories.kernel : categories.communication;
    }
    row.depth = task.depth;
    row.parent_id = store::kNone;
    row.args_id = store::kNone;
    writer.Append(row);
  }
}

Result<int64_t> WriteDeviceTasks(CaptureTrace& trace, const std::vector<StepRange>& steps,
                                 store::Transaction& transaction) {
  return DeviceRowWriter(trace).Write(steps, transaction);
}

Status WriteApiCalls(CaptureTrace& trace, store::Transaction& transaction) {
  SONDE_ASSIGN_OR_RETURN(auto writer, store::TableWriter<store::ApiCallRow>::Open(transaction));
  for (const DeviceCall& call : trace.device.calls) {
    store::ApiCallRow row;
    row.slice_id = call.slice_id;
    const std::string_view name = trace.dictionary.Name(call.name);
    row.level = trace.names.Intern(CallLevel(trace.device.vendor, name));
    row.connection_id = static_cast<int64_t>(call.correlation);
    writer.Append(row);
  }
  return writer.Close();
}

}  // namespace sonde::importers::capture_import
