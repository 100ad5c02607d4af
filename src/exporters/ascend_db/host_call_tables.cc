// Calls of the host's interface to the device: CANN_API.
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "exporters/ascend_db/db_tables.h"
#include "exporters/ascend_db/enum_tables.h"
#include "exporters/format/rest_slices.h"

namespace sonde::exporters {
namespace {

using recipes::TraceData;
using report::SqliteTable;

constexpr std::string_view kHostCallColumns =
    "startNs INTEGER,endNs INTEGER,type INTEGER,globalTid INTEGER,"
    "connectionId INTEGER PRIMARY KEY,name INTEGER";

// A call by the vendor's interface, or, where that was not recorded, what stands for one: the slice
// that launched a task or an operation of communication.
struct Call {
  int32_t slice = store::kNone;
  ApiType type = ApiType::kNode;
  int64_t connection = -1;
  std::string_view name;
  int32_t known_name = store::kNone;  // number of `name` in the store, none where it has no own
};

std::optional<ApiType> ApiTypeOf(std::string_view level) {
  if (level == "acl") return ApiType::kAcl;
  if (level == "runtime") return ApiType::kRuntime;
  if (level == "node") return ApiType::kNode;
  if (level == "model") return ApiType::kModel;
  if (level == "communication") return ApiType::kCommunication;
  return std::nullopt;
}

// Timelines put the layer before the name: "AscendCL@aclrtMemcpyAsync".
std::string_view WithoutLayer(std::string_view name) {
  return name.substr(name.find('@') + 1);  // npos + 1 is 0
}

std::vector<Call> RecordedCalls(const TraceData& data) {
  std::vector<Call> calls;
  for (const store::ApiCallRow& call : data.api_calls) {
    const std::optional<ApiType> type = ApiTypeOf(data.Name(call.level));
    if (!type) continue;
    const std::string_view name = data.Name(data.Slice(call.slice_id).name);
    calls.push_back({call.slice_id, *type, call.connection_id, WithoutLayer(name)});
  }
  return calls;
}

// Calls of a GPU's runtime, which Kineto gives as slices of their threads; arrows lead from them to
// the work of the device.
std::vector<Call> RuntimeCalls(const DbContext& context) {
  const TraceData& data = context.data();
  std::vector<Call> calls;
  for (const int32_t id : RestSlices(context.view)) {
    const store::SliceRow& slice = data.Slice(id);
    if (!IsRuntimeCall(data, slice)) continue;
    calls.push_back({id, ApiType::kRuntime, -1, data.Name(slice.name), slice.name});
  }
  if (calls.empty()) return calls;
  std::unordered_map<int32_t, int64_t> connections;  // of the work by its slice
  for (const store::DeviceTaskRow& task : data.tasks) {
    connections.emplace(task.slice_id, context.view.ConnectionOf(task));
  }
  std::unordered_map<int32_t, int64_t> launches;  // by the slice of the call
  for (const store::FlowRow& flow : data.flows) {
    if (data.Name(flow.kind) != "host_to_device") continue;
    const auto work = connections.find(flow.slice_in);
    if (work != connections.end()) launches.emplace(flow.slice_out, work->second);
  }
  for (Call& call : calls) {
    const auto launch = launches.find(call.slice);
    if (launch != launches.end()) call.connection = launch->second;
  }
  return calls;
}

// As `api_statistic` counts them.
std::vector<Call> Launches(const DbContext& context) {
  const TraceData& data = context.data();
  std::vector<Call> calls = RuntimeCalls(context);
  if (!calls.empty()) return calls;
  for (const store::DeviceTaskRow& task : data.tasks) {
    if (task.launch_slice_id < 0) continue;
    const int32_t name = data.Slice(task.launch_slice_id).name;
    calls.push_back({task.launch_slice_id, ApiType::kNode, context.view.ConnectionOf(task),
                     data.Name(name), name});
  }
  for (size_t i = 0; i < data.communications.size(); ++i) {
    const store::CommunicationOpRow& op = data.communications[i];
    if (op.launch_slice_id < 0) continue;
    calls.push_back({op.launch_slice_id, ApiType::kCommunication, context.view.ConnectionOf(op),
                     context.view.communications[i].type});
  }
  return calls;
}

void AddCall(DbContext& context, const Call& call, bool has_key, SqliteTable& table) {
  const TraceData& data = context.data();
  const store::SliceRow& slice = data.Slice(call.slice);
  const store::TrackRow& track = data.TrackOf(slice);
  table.Int(slice.ts).Int(data.EndNs(slice)).Int(static_cast<int64_t>(call.type));
  table.Int(GlobalTid(data.PidOf(track.process_id), data.TidOf(track.thread_id)));
  table.KnownInt(has_key ? call.connection : -1);
  const bool is_named = !call.name.empty();
  table.Int(context.ids.NameId(StringRange::kDevice, is_named ? call.known_name : store::kNone,
                               is_named ? call.name : "N/A"));
  table.End();
}

}  // namespace

Status WriteHostCalls(DbContext& context) {
  const TraceData& data = context.data();
  const std::vector<Call> calls = data.api_calls.empty() ? Launches(context) : RecordedCalls(data);
  if (calls.empty()) return {};
  SONDE_ASSIGN_OR_RETURN(SqliteTable table,
                         SqliteTable::Create(context.file, "CANN_API", kHostCallColumns));
  // The key must be unique; SQLite numbers rows without one, after all that have one.
  std::set<int64_t> used;
  std::vector<const Call*> without_key;
  for (const Call& call : calls) {
    if (call.connection >= 0 && used.insert(call.connection).second) {
      AddCall(context, call, /*has_key=*/true, table);
    } else {
      without_key.push_back(&call);
    }
  }
  for (const Call* call : without_key) AddCall(context, *call, /*has_key=*/false, table);
  return table.Close();
}

}  // namespace sonde::exporters
