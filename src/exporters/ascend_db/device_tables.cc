// Work of the device.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "exporters/ascend_db/db_tables.h"
#include "exporters/ascend_db/enum_tables.h"
#include "exporters/format/task_shapes.h"
#include "importers/ascend/device_model.h"
#include "recipes/communication/traffic.h"

namespace sonde::exporters {
namespace {

using recipes::TraceData;
using report::SqliteTable;

constexpr std::string_view kDeviceTaskColumns =
    "startNs INTEGER,endNs INTEGER,deviceId INTEGER,connectionId INTEGER,globalTaskId INTEGER,"
    "globalPid INTEGER,taskType INTEGER,contextId INTEGER,streamId INTEGER,taskId INTEGER,"
    "modelId INTEGER";
constexpr std::string_view kComputeColumns =
    "name INTEGER,globalTaskId INTEGER PRIMARY KEY,blockNum INTEGER,mixBlockNum INTEGER,"
    "taskType INTEGER,opType INTEGER,inputFormats INTEGER,inputDataTypes INTEGER,"
    "inputShapes INTEGER,outputFormats INTEGER,outputDataTypes INTEGER,outputShapes INTEGER,"
    "attrInfo INTEGER,opState INTEGER,hf32Eligible INTEGER,gridDim INTEGER,blockDim INTEGER";
constexpr std::string_view kNotAvailable = "N/A";

int64_t TextId(DbContext& context, int32_t name) {
  const std::string_view text = context.data().Name(name);
  return context.ids.NameId(StringRange::kDevice, text.empty() ? store::kNone : name,
                            text.empty() ? kNotAvailable : text);
}

// A timeline names what a task that is no kernel does, and has the type that the hardware's queue
// gave it ("SDMA_SQE"); a database has the former as its type ("MEMCPY_ASYNC").
int32_t DbTaskType(const TraceData& data, const store::TaskKindRow& kind) {
  const bool is_of_queue = data.Name(kind.task_type).ends_with("_SQE");
  return is_of_queue && kind.core == store::kNone && kind.name != store::kNone ? kind.name
                                                                               : kind.task_type;
}

void AddTask(const TraceData& data, const recipes::DeviceView& view, size_t i, int64_t type,
             SqliteTable& table) {
  const store::DeviceTaskRow& task = data.tasks[i];
  const store::TaskKindRow& kind = data.kinds[static_cast<size_t>(task.kind_id)];
  const recipes::Device& device = view.DeviceOfTask(task);
  table.Int(task.ts).Int(task.ts + task.dur).Int(device.device_id).Int(view.ConnectionOf(task));
  table.Int(task.task_id).Int(device.pid).Int(type);
  table.Int(kind.context_id < 0 ? kNone32 : kind.context_id).Int(view.StreamOf(task));
  table.Int(task.queue_number >= 0 ? task.queue_number : task.task_id);
  table.Int(kind.model_id < 0 ? kNone32 : kind.model_id).End();
}

// Shapes of accelerators' kernels hold quotes of their own.
int64_t ShapesId(DbContext& context, const recipes::Device& device, const store::TaskKindRow& kind,
                 int32_t shapes, int32_t types) {
  const TraceData& data = context.data();
  if (!HasShapes(data, kind, shapes, types)) return TextId(context, store::kNone);
  const std::string_view text = data.Name(shapes);
  if (device.is_cpu) return context.ids.Id(StringRange::kDevice, text);
  return context.ids.Id(StringRange::kDevice, base::Concat("\"", text, "\""));
}

// One task for each operation and transfer, on a stream of its own for each group, after the
// computing streams.
void AddCommunicationTasks(DbContext& context, SqliteTable& table) {
  const TraceData& data = context.data();
  int64_t first_stream = 0;
  for (const store::DeviceTaskRow& task : data.tasks) {
    first_stream = std::max(first_stream, context.view.StreamOf(task) + 1);
  }
  const int64_t type = context.ids.Id(StringRange::kDevice, "COMMUNICATION");
  const auto transfers = TransferTasks(context.view);
  for (size_t i = 0; i < data.communications.size(); ++i) {
    const store::CommunicationOpRow& op = data.communications[i];
    const recipes::CommunicationView& shown = context.view.communications[i];
    const recipes::Device& device = context.view.devices[shown.device];
    const int64_t id = CommunicationTaskId(data, op.communication_id);
    const auto add = [&](int64_t task_id, int64_t ts, int64_t end, int64_t task_type) {
      table.Int(ts).Int(end).Int(device.device_id).Int(context.view.ConnectionOf(op));
      table.Int(task_id).Int(device.pid).Int(task_type).Int(kNone32);
      table.Int(first_stream + static_cast<int64_t>(shown.group)).Int(id).Int(kNone32).End();
    };
    add(id, op.ts, context.view.EndNs(op), type);
    for (const TransferTask& task : transfers[i]) {
      const auto transport = recipes::TransportOf(data.Name(task.transfer->transport));
      const char* name = transport == recipes::Transport::kRdma ? "RDMA" : "SDMA";
      add(task.id, task.ts, task.ts + task.dur, context.ids.Id(StringRange::kDevice, name));
    }
  }
}

// Tasks on a plane of communication that are no task of a stream in the trace.
void AddPlaneTasks(DbContext& context, SqliteTable& table) {
  const TraceData& data = context.data();
  for (const PlaneSlice& plane : context.planes) {
    if (plane.task >= 0) continue;
    const store::SliceRow& slice = data.Slice(plane.slice_id);
    const recipes::Device& device = context.view.devices[plane.device];
    const int64_t id = PlaneTaskId(context, plane);
    table.Int(slice.ts).Int(data.EndNs(slice)).Int(device.device_id);
    table.Int(plane.operation == SIZE_MAX
                  ? kNone32
                  : context.view.ConnectionOf(data.communications[plane.operation]));
    table.Int(id).Int(device.pid).Int(TextId(context, slice.name)).Int(kNone32);
    table.Int(context.arguments.Int(plane.slice_id, "stream id").value_or(0)).Int(id).Int(kNone32);
    table.End();
  }
}

Status WriteTasks(DbContext& context) {
  const TraceData& data = context.data();
  if (data.tasks.empty() && data.communications.empty()) return {};
  SONDE_ASSIGN_OR_RETURN(SqliteTable table,
                         SqliteTable::Create(context.file, "TASK", kDeviceTaskColumns));
  for (size_t i = 0; i < data.tasks.size(); ++i) {
    const store::TaskKindRow& kind = data.kinds[static_cast<size_t>(data.tasks[i].kind_id)];
    AddTask(data, context.view, i, TextId(context, DbTaskType(data, kind)), table);
  }
  if (context.planes.empty()) {
    AddCommunicationTasks(context, table);
  } else {
    AddPlaneTasks(context, table);
  }
  SONDE_RETURN_IF_ERROR(table.Close());
  return context.file.Execute("CREATE INDEX TaskIndex ON TASK (startNs,globalTaskId)");
}

// What the vendor's library reports of the operator.
std::string_view AttributesOf(const TraceData& data, const store::DeviceTaskRow& task) {
  if (task.slice_id < 0) return {};
  return data.TextArgument(data.Slice(task.slice_id).args_id, importers::ascend::kAttributes);
}

Status WriteComputeTasks(DbContext& context) {
  const TraceData& data = context.data();
  if (data.tasks.empty()) return {};
  SONDE_ASSIGN_OR_RETURN(SqliteTable table,
                         SqliteTable::Create(context.file, "COMPUTE_TASK_INFO", kComputeColumns));
  for (const store::DeviceTaskRow& task : data.tasks) {
    const store::TaskKindRow& kind = data.kinds[static_cast<size_t>(task.kind_id)];
    if (kind.core == store::kNone) continue;  // a copy, wait or event
    const recipes::Device& device = context.view.DeviceOfTask(task);
    table.Int(TextId(context, kind.name)).Int(task.task_id);
    table.Int(std::max<int64_t>(0, kind.block_num)).Int(std::max<int64_t>(0, kind.mix_block_num));
    table.Int(TextId(context, kind.core)).Int(TextId(context, kind.op_type));
    table.Int(TextId(context, kind.input_formats)).Int(TextId(context, kind.input_types));
    table.Int(ShapesId(context, device, kind, kind.input_shapes, kind.input_types));
    table.Int(TextId(context, kind.output_formats)).Int(TextId(context, kind.output_types));
    table.Int(ShapesId(context, device, kind, kind.output_shapes, kind.output_types));
    const std::string_view attributes = AttributesOf(data, task);
    table.Int(context.ids.Id(StringRange::kDevice,
                             attributes.empty() ? std::string_view(kNotAvailable) : attributes));
    table.Int(TextId(context, kind.op_state)).Int(TextId(context, kind.hf32));
    const int64_t none = context.ids.Id(StringRange::kDevice, kNotAvailable);
    table.Int(none).Int(none).End();
  }
  return table.Close();
}

// Hardware counters. Times are nanoseconds here and microseconds in the store, as in CSV files.
Status WriteCounters(DbContext& context) {
  const TraceData& data = context.data();
  if (data.pmu.empty()) return {};
  SONDE_ASSIGN_OR_RETURN(SqliteTable table,
                         SqliteTable::Create(context.file, "TASK_PMU_INFO",
                                             "globalTaskId INTEGER,name INTEGER,value NUMERIC"));
  for (const store::DeviceTaskPmuRow& row : data.pmu) {
    std::string name(data.Name(row.metric));
    double value = row.value;
    if (name.ends_with("_time(us)")) {
      value *= 1000;
      name = name == "aicore_time(us)" ? "aic_total_time"
             : name == "aiv_time(us)"  ? "aiv_total_time"
                                       : name.substr(0, name.size() - 4);
    }
    table.Int(row.task_id).Int(context.ids.Id(StringRange::kDevice, name)).Double(value).End();
  }
  return table.Close();
}

Status WriteOverlap(DbContext& context) {
  SONDE_ASSIGN_OR_RETURN(
      SqliteTable table,
      SqliteTable::Create(context.file, "OVERLAP_ANALYSIS",
                          "id INTEGER PRIMARY KEY,deviceId INTEGER,startNs NUMERIC,endNs NUMERIC,"
                          "type INTEGER"));
  int64_t id = 0;
  for (const recipes::Device& device : context.view.devices) {
    const std::pair<const std::vector<recipes::Interval>&, OverlapType> parts[] = {
        {device.overlap.computing, OverlapType::kComputing},
        {device.overlap.communication, OverlapType::kCommunication},
        {device.overlap.not_overlapped, OverlapType::kNotOverlapped},
        {device.overlap.free, OverlapType::kFree}};
    for (const auto& [intervals, type] : parts) {
      for (const recipes::Interval& interval : intervals) {
        table.Int(id++).Int(device.device_id).Int(interval.start_ns).Int(interval.end_ns);
        table.Int(static_cast<int64_t>(type)).End();
      }
    }
  }
  return table.Close();
}

}  // namespace

Status WriteDeviceTables(DbContext& context) {
  SONDE_RETURN_IF_ERROR(WriteTasks(context));
  SONDE_RETURN_IF_ERROR(WriteComputeTasks(context));
  SONDE_RETURN_IF_ERROR(WriteCounters(context));
  SONDE_RETURN_IF_ERROR(WriteOverlap(context));
  return WriteHostCalls(context);
}

}  // namespace sonde::exporters
