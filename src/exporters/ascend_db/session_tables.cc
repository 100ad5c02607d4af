// When, where and how the capture was made.
#include <string>
#include <string_view>

#include "base/host/json.h"
#include "base/strings.h"
#include "exporters/ascend_db/db_tables.h"
#include "exporters/span_files.h"
#include "importers/ascend/machine.h"
#include "recipes/communication/naming.h"

namespace sonde::exporters {
namespace {

using recipes::TraceData;
using report::SqliteTable;

constexpr const char* kSchema[][2] = {{"SCHEMA_VERSION", "1.2.0"},
                                      {"SCHEMA_VERSION_MAJOR", "1"},
                                      {"SCHEMA_VERSION_MINOR", "2"},
                                      {"SCHEMA_VERSION_MICRO", "0"}};

Status WriteMetadata(DbContext& context) {
  SONDE_ASSIGN_OR_RETURN(SqliteTable table,
                         SqliteTable::Create(context.file, "META_DATA", "name TEXT,value TEXT"));
  for (const auto& [name, value] : kSchema) table.Text(name).Text(value).End();
  const std::string metadata = ProfilerMetadataJson(context.data());
  if (!metadata.empty()) {
    SONDE_ASSIGN_OR_RETURN(const base::JsonDocument document,
                           base::JsonDocument::Parse(metadata, "profiler metadata"));
    for (const auto& [key, value] : document.root().Members()) {
      if (importers::ascend::IsMachineFact(key)) continue;  // has a table of its own
      table.Text(key).Text(value.Dump()).End();
    }
  }
  return table.Close();
}

// What databases reported about themselves (importers/ascend_db); nothing else does.
std::string TextOfMetadata(const TraceData& data, std::string_view key) {
  const auto found = data.metadata.find(key);
  if (found == data.metadata.end()) return {};
  const auto document = base::JsonDocument::Parse(found->second, "metadata");
  if (!document.ok()) return {};
  const auto text = document->root().AsString();
  return text.ok() ? *text : std::string();
}

int64_t TimeOfMetadata(const TraceData& data, std::string_view key, int64_t otherwise) {
  const auto found = data.metadata.find(key);
  if (found == data.metadata.end()) return otherwise;
  return base::ParseInt64(found->second).value_or(otherwise);
}

// The peer hashes the network addresses of the machine; a capture knows only its name.
Status WriteHost(DbContext& context) {
  const TraceData& data = context.data();
  if (data.processes.empty()) return {};
  const std::string_view host = data.Name(data.processes.front().host);
  SONDE_ASSIGN_OR_RETURN(SqliteTable table, SqliteTable::Create(context.file, "HOST_INFO",
                                                                "hostUid TEXT,hostName TEXT"));
  const std::string uid = TextOfMetadata(data, "host_uid");
  table.Text(uid.empty() ? std::to_string(recipes::GroupHash(host)) : uid).Text(host).End();
  return table.Close();
}

}  // namespace

Status WriteSessionTables(DbContext& context) {
  const TraceData& data = context.data();
  SONDE_ASSIGN_OR_RETURN(SqliteTable session,
                         SqliteTable::Create(context.file, "SESSION_TIME_INFO",
                                             "startTimeNs INTEGER,endTimeNs INTEGER"));
  session.Int(TimeOfMetadata(data, "session_begin_ns", data.first_ns))
      .Int(TimeOfMetadata(data, "session_end_ns", data.last_ns))
      .End();
  SONDE_RETURN_IF_ERROR(session.Close());
  SONDE_ASSIGN_OR_RETURN(SqliteTable devices,
                         SqliteTable::Create(context.file, "NPU_INFO", "id INTEGER,name TEXT"));
  for (const recipes::Device& device : context.view.devices) {
    const std::string name =
        TextOfMetadata(data, base::Concat("npu_name_", std::to_string(device.device_id)));
    // As the device's tool calls a chip that it does not know.
    const std::string_view kind = device.is_cpu ? "CPU" : "UNKNOWN";
    devices.Int(device.device_id).Text(name.empty() ? kind : name).End();
  }
  SONDE_RETURN_IF_ERROR(devices.Close());
  SONDE_ASSIGN_OR_RETURN(
      SqliteTable ranks,
      SqliteTable::Create(context.file, "RANK_DEVICE_MAP", "rankId INTEGER, deviceId INTEGER"));
  for (const recipes::Device& device : context.view.devices) {
    ranks.Int(context.view.settings.rank.value_or(-1)).Int(device.device_id).End();
  }
  SONDE_RETURN_IF_ERROR(ranks.Close());
  SONDE_RETURN_IF_ERROR(WriteHost(context));
  return WriteMetadata(context);
}

}  // namespace sonde::exporters
