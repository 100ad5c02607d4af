// What ran on the device.
#include <algorithm>
#include <optional>

#include "exporters/ascend_db/db_tables.h"
#include "exporters/ascend_db/enum_tables.h"

namespace sonde::exporters {
namespace {

using recipes::TraceData;

constexpr std::string_view kTaskColumns =
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

void AddTask(const TraceData& data, const recipes::DeviceView& view, size_t i, int64_t type,
             SqliteTable& table) {
  const store::DeviceTaskRow& task = data.tasks[i];
  const store::TaskKindRow& kind = data.kinds[static_cast<size_t>(task.kind_id)];
  const recipes::Device& device = view.DeviceOfTask(task);
  table.Int(task.ts).Int(task.ts + task.dur).Int(device.device_id).Int(view.ConnectionOf(task));
  table.Int(task.task_id).Int(device.pid).Int(type);
  table.Int(kind.context_id < 0 ? kNone32 : kind.context_id).Int(view.StreamOf(task));
  table.Int(task.task_id).Int(kind.model_id < 0 ? kNone32 : kind.model_id).End();
}

// One task for each operation, on a stream of its own for each group, after the computing streams.
void AddCommunicationTasks(DbContext& context, SqliteTable& table) {
  const TraceData& data = context.data();
  int64_t first_stream = 0;
  for (const store::DeviceTaskRow& task : data.tasks) {
    first_stream = std::max(first_stream, context.view.StreamOf(task) + 1);
  }
  const int64_t type = context.ids.Id(StringRange::kDevice, "COMMUNICATION");
  for (size_t i = 0; i < data.communications.size(); ++i) {
    const store::CommunicationOpRow& op = data.communications[i];
    const recipes::CommunicationView& shown = context.view.communications[i];
    const recipes::Device& device = context.view.devices[shown.device];
    const int64_t id = CommunicationTaskId(data, op.communication_id);
    table.Int(op.ts).Int(context.view.EndNs(op)).Int(device.device_id);
    table.Int(context.view.ConnectionOf(op)).Int(id).Int(device.pid).Int(type).Int(kNone32);
    table.Int(first_stream + static_cast<int64_t>(shown.group)).Int(id).Int(kNone32).End();
  }
}

Status WriteTasks(DbContext& context) {
  const TraceData& data = context.data();
  if (data.tasks.empty() && data.communications.empty()) return {};
  SONDE_ASSIGN_OR_RETURN(SqliteTable table,
                         SqliteTable::Create(context.file, "TASK", kTaskColumns));
  for (size_t i = 0; i < data.tasks.size(); ++i) {
    const store::TaskKindRow& kind = data.kinds[static_cast<size_t>(data.tasks[i].kind_id)];
    AddTask(data, context.view, i, TextId(context, kind.task_type), table);
  }
  AddCommunicationTasks(context, table);
  return table.Close();
}

Status WriteComputeTasks(DbContext& context) {
  const TraceData& data = context.data();
  if (data.tasks.empty()) return {};
  SONDE_ASSIGN_OR_RETURN(SqliteTable table,
                         SqliteTable::Create(context.file, "COMPUTE_TASK_INFO", kComputeColumns));
  for (const store::DeviceTaskRow& task : data.tasks) {
    const store::TaskKindRow& kind = data.kinds[static_cast<size_t>(task.kind_id)];
    table.Int(TextId(context, kind.name)).Int(task.task_id);
    table.Int(std::max<int64_t>(0, kind.block_num)).Int(std::max<int64_t>(0, kind.mix_block_num));
    for (const int32_t name :
         {kind.core, kind.op_type, kind.input_formats, kind.input_types, kind.input_shapes,
          kind.output_formats, kind.output_types, kind.output_shapes}) {
      table.Int(TextId(context, name));
    }
    table.Int(context.ids.Id(StringRange::kDevice, kNotAvailable));
    table.Int(TextId(context, kind.op_state)).Int(TextId(context, kind.hf32));
    const int64_t none = context.ids.Id(StringRange::kDevice, kNotAvailable);
    table.Int(none).Int(none).End();
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

std::optional<ApiType> ApiTypeOf(std::string_view level) {
  if (level == "acl") return ApiType::kAcl;
  if (level == "runtime") return ApiType::kRuntime;
  if (level == "node") return ApiType::kNode;
  if (level == "model") return ApiType::kModel;
  if (level == "communication") return ApiType::kCommunication;
  return std::nullopt;
}

Status WriteApiCalls(DbContext& context) {
  const TraceData& data = context.data();
  if (data.api_calls.empty()) return {};
  SONDE_ASSIGN_OR_RETURN(
      SqliteTable table,
      SqliteTable::Create(context.file, "CANN_API",
                          "startNs INTEGER,endNs INTEGER,type INTEGER,globalTid INTEGER,"
                          "connectionId INTEGER PRIMARY KEY,name INTEGER"));
  for (const store::ApiCallRow& call : data.api_calls) {
    const std::optional<ApiType> type = ApiTypeOf(data.Name(call.level));
    if (!type) continue;
    const store::SliceRow& slice = data.Slice(call.slice_id);
    const store::TrackRow& track = data.TrackOf(slice);
    table.Int(slice.ts).Int(data.EndNs(slice)).Int(static_cast<int64_t>(*type));
    table.Int(GlobalTid(data.PidOf(track.process_id), data.TidOf(track.thread_id)));
    table.KnownInt(call.connection_id).Int(TextId(context, slice.name)).End();
  }
  return table.Close();
}

}  // namespace

Status WriteDeviceTables(DbContext& context) {
  SONDE_RETURN_IF_ERROR(WriteTasks(context));
  SONDE_RETURN_IF_ERROR(WriteComputeTasks(context));
  SONDE_RETURN_IF_ERROR(WriteOverlap(context));
  SONDE_RETURN_IF_ERROR(WriteApiCalls(context));
  return context.file.Execute(
      "CREATE INDEX IF NOT EXISTS TaskIndex ON TASK (startNs,globalTaskId)");
}

}  // namespace sonde::exporters
