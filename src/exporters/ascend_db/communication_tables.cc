// Collectives and transfers between ranks.
#include "base/strings.h"
#include "exporters/ascend_db/db_tables.h"
#include "exporters/ascend_db/enum_tables.h"
#include "recipes/communication/naming.h"
#include "recipes/communication/traffic.h"

namespace sonde::exporters {
namespace {

using recipes::TraceData;

constexpr std::string_view kOpColumns =
    "opName INTEGER,startNs INTEGER,endNs INTEGER,connectionId INTEGER,groupName INTEGER,"
    "opId INTEGER PRIMARY KEY,relay INTEGER,retry INTEGER,dataType INTEGER,algType INTEGER,"
    "count NUMERIC,opType INTEGER,deviceId INTEGER,rankSize INTEGER";
constexpr std::string_view kTaskColumns =
    "name INTEGER,globalTaskId INTEGER,taskType INTEGER,planeId INTEGER,groupName INTEGER,"
    "notifyId INTEGER,rdmaType INTEGER,srcRank INTEGER,dstRank INTEGER,transportType INTEGER,"
    "size INTEGER,dataType INTEGER,linkType INTEGER,opId INTEGER,isMaster INTEGER,"
    "bandwidth NUMERIC";
constexpr int64_t kNoNotify = 9223372036854775807;
constexpr int64_t kNoRdma = 65535;
constexpr int64_t kNoLinkType = 65534;

Status WriteOperations(DbContext& context) {
  const TraceData& data = context.data();
  SONDE_ASSIGN_OR_RETURN(SqliteTable table,
                         SqliteTable::Create(context.file, "COMMUNICATION_OP", kOpColumns));
  for (size_t i = 0; i < data.communications.size(); ++i) {
    const store::CommunicationOpRow& op = data.communications[i];
    const recipes::CommunicationView& shown = context.view.communications[i];
    const auto id = [&](std::string_view text) {
      return context.ids.Id(StringRange::kDevice, text);
    };
    table.Int(id(shown.name)).Int(op.ts).Int(context.view.EndNs(op));
    table.Int(context.view.ConnectionOf(op)).Int(id(shown.group_name)).Int(op.communication_id);
    table.Int(0).Int(0);  // relay, retry
    table.Int(HcclDataTypeCode(recipes::HcclDataType(data.Name(op.data_type))));
    const std::string_view algorithm = data.Name(op.algorithm);
    table.Int(id(algorithm.empty() ? "N/A" : algorithm)).KnownInt(op.count).Int(id(shown.type));
    table.Int(context.view.devices[shown.device].device_id).KnownInt(op.rank_size).End();
  }
  return table.Close();
}

// One row a link. Where no transfers were measured these are the nominal ones of traffic.h.
Status WriteLinks(DbContext& context) {
  const TraceData& data = context.data();
  SONDE_ASSIGN_OR_RETURN(
      SqliteTable table,
      SqliteTable::Create(context.file, "COMMUNICATION_TASK_INFO", kTaskColumns));
  const int64_t memcpy_id = context.ids.Id(StringRange::kDevice, "Memcpy");
  for (size_t i = 0; i < data.communications.size(); ++i) {
    const store::CommunicationOpRow& op = data.communications[i];
    const recipes::CommunicationView& shown = context.view.communications[i];
    int64_t plane = 0;
    for (const recipes::Link& link : recipes::LinksOf(context.view, i)) {
      table.Int(context.ids.Id(StringRange::kDevice, shown.name));
      table.Int(CommunicationTaskId(data, op.communication_id)).Int(memcpy_id).Int(plane);
      table.Int(context.ids.Id(StringRange::kDevice, shown.group_name)).Int(kNoNotify);
      table.Int(kNoRdma).Int(link.src_rank).Int(link.dst_rank);
      table.Int(HcclTransportCode(recipes::TransportName(link.transport))).Int(link.size_bytes);
      table.Int(HcclDataTypeCode(recipes::HcclDataType(data.Name(op.data_type))));
      table.Int(kNoLinkType).Int(op.communication_id).Int(plane == 0 ? 1 : 0);
      // bytes a nanosecond are GB/s
      table.Double(link.time_ns > 0
                       ? static_cast<double>(link.size_bytes) / static_cast<double>(link.time_ns)
                       : 0.0);
      table.End();
      ++plane;
    }
  }
  SONDE_RETURN_IF_ERROR(table.Close());
  return context.file.Execute(
      "CREATE INDEX CommunicationTaskIndex ON COMMUNICATION_TASK_INFO (globalTaskId)");
}

}  // namespace

Status WriteCommunicationTables(DbContext& context) {
  if (context.data().communications.empty()) return {};
  SONDE_RETURN_IF_ERROR(WriteOperations(context));
  if (context.view.settings.level == recipes::ProfilerLevel::kLevel0) return {};
  return WriteLinks(context);
}

}  // namespace sonde::exporters
