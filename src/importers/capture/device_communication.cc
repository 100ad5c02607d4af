// Communication of an accelerator, as its vendor's library reported it: records of their own
// (Ascend), or kernels that are recognized by name (NVIDIA).
#include <algorithm>
#include <array>

#include "importers/ascend/groups.h"
#include "importers/capture/device_words.h"
#include "importers/capture/trace.h"
#include "importers/common/communication_names.h"

namespace sonde::importers::capture_import {
namespace {

using capture::DeviceRecordKind;
using store::CommunicationOpRow;

// By the vendor's numbers; names as deliverables have them.
constexpr auto kCommunicationTypes = std::to_array<std::string_view>(
    {"INT8", "INT16", "INT32", "FP16", "FP32", "INT64", "UINT64", "UINT8", "UINT16", "UINT32",
     "FP64", "BFP16", "INT128", "", "HIF8", "FP8E4M3", "FP8E5M2", "FP8E8M0"});

CommunicationOpRow RowOf(CaptureTrace& trace, const DeviceTask& task, std::string_view type,
                         const std::vector<int64_t>& steps_of_calls) {
  CommunicationOpRow row;
  row.slice_id = task.slice_id;
  row.process_id = kProcessId;
  row.device_id = task.device;
  row.ts = task.ts;
  row.dur = task.end - task.ts;
  row.name = trace.NameId(task.name);
  row.op_type = trace.names.Intern(type);
  row.is_p2p = common::IsPointToPoint(type) ? 1 : 0;
  row.connection_id = static_cast<int64_t>(task.correlation);
  if (task.call != kNoNode) {
    const DeviceCall& call = trace.device.calls[static_cast<size_t>(task.call)];
    row.launch_slice_id = call.collective != kNoNode ? call.collective : call.op_slice;
    row.step_id = steps_of_calls[static_cast<size_t>(task.call)];
  }
  return row;
}

void AddRecorded(CaptureTrace& trace, const DeviceTask& task, CommunicationOpRow& row) {
  const std::string group(trace.dictionary.Name(task.group));
  row.group_name = trace.names.Intern(group);
  row.group_hash = static_cast<int64_t>(common::GroupHash(group));
  row.algorithm = trace.NameId(task.type);
  row.count = task.size <= INT64_MAX ? static_cast<int64_t>(task.size) : -1;
  if (task.code >= kCommunicationTypes.size() || kCommunicationTypes[task.code].empty()) return;
  row.data_type = trace.names.Intern(kCommunicationTypes[task.code]);
  const int64_t bytes = ElementBytes(kCommunicationTypes[task.code]);
  if (row.count < 0 || __builtin_mul_overflow(row.count, bytes, &row.size_bytes)) {
    row.size_bytes = store::kNone;
  }
}

}  // namespace

std::vector<CommunicationOpRow> DeviceOperations(CaptureTrace& trace,
                                                 const std::vector<StepRange>& steps) {
  std::vector<CommunicationOpRow> rows;
  const std::vector<int64_t> steps_of_calls = StepsOfCalls(trace, steps);
  for (const DeviceTask& task : trace.device.tasks) {
    const std::string_view name = trace.dictionary.Name(task.name);
    if (task.kind == DeviceRecordKind::kCommunication) {
      rows.push_back(RowOf(trace, task, CommunicationType(name), steps_of_calls));
      AddRecorded(trace, task, rows.back());
    } else if (const std::string type = CollectiveOf(trace.device.vendor, task.kind, name);
               !type.empty()) {
      rows.push_back(RowOf(trace, task, type, steps_of_calls));
    }
  }
  return rows;
}

}  // namespace sonde::importers::capture_import
