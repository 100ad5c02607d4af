// Collectives and transfers between ranks.
#include <map>
#include <utility>

#include "base/strings.h"
#include "exporters/ascend_db/db_tables.h"
#include "exporters/ascend_db/enum_tables.h"
#include "recipes/communication/naming.h"
#include "recipes/communication/traffic.h"

namespace sonde::exporters {
namespace {

using recipes::TraceData;
using report::SqliteTable;

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

int64_t LinkCode(const TraceData& data, const store::CommunicationTransitRow& row) {
  const std::string_view link = data.Name(row.link_type);
  if (!link.empty()) return HcclLinkCode(link);
  switch (recipes::TransportOf(data.Name(row.transport))) {
    case recipes::Transport::kHccs:
      return HcclLinkCode("HCCS");
    case recipes::Transport::kPcie:
      return HcclLinkCode("PCIE");
    case recipes::Transport::kSio:
      return HcclLinkCode("SIO");
    case recipes::Transport::kLocal:
      return HcclLinkCode("ON_CHIP");
    case recipes::Transport::kRdma:
      return HcclLinkCode("ROCE");
    case recipes::Transport::kSdma:
      break;
  }
  return kNoLinkType;
}

int64_t KnownRank(int32_t rank) { return rank < 0 ? kNone32 : rank; }

// Cells of COMMUNICATION_TASK_INFO for a transfer.
struct LinkRow {
  int64_t task_id;
  std::string_view kind = "Memcpy";
  int64_t plane = 0;
  int64_t src_rank = kNone32;
  int64_t dst_rank = kNone32;
  int64_t transport_code = kNoLinkType;
  int64_t link_code = kNoLinkType;
  int64_t size_bytes = 0;
  int64_t time_ns = 0;
};

void AddLink(DbContext& context, size_t index, const LinkRow& row, SqliteTable& table) {
  const TraceData& data = context.data();
  const store::CommunicationOpRow& op = data.communications[index];
  const recipes::CommunicationView& shown = context.view.communications[index];
  const auto id = [&](std::string_view text) { return context.ids.Id(StringRange::kDevice, text); };
  table.Int(id(shown.name)).Int(row.task_id).Int(id(row.kind)).Int(row.plane);
  table.Int(id(shown.group_name)).Int(kNoNotify).Int(kNoRdma).Int(row.src_rank).Int(row.dst_rank);
  table.Int(row.transport_code).Int(row.size_bytes);
  table.Int(HcclDataTypeCode(recipes::HcclDataType(data.Name(op.data_type))));
  table.Int(row.link_code).Int(op.communication_id).Int(row.plane == 0 ? 1 : 0);
  // bytes a nanosecond are GB/s
  table.Double(row.time_ns > 0
                   ? static_cast<double>(row.size_bytes) / static_cast<double>(row.time_ns)
                   : 0.0);
  table.End();
}

// Links inside a machine are ways of SDMA.
int64_t TransportCode(recipes::Transport transport) {
  const bool is_other =
      transport == recipes::Transport::kRdma || transport == recipes::Transport::kLocal;
  return HcclTransportCode(
      recipes::TransportName(is_other ? transport : recipes::Transport::kSdma));
}

// In GB/s, as the device's tool works it out where the trace does not have it.
double Bandwidth(const TraceData& data, const PlaneSlice& plane, const DbContext& context) {
  const auto dur_ns = static_cast<double>(data.DurationNs(data.Slice(plane.slice_id)));
  const int64_t bytes = context.arguments.Int(plane.slice_id, "size(Byte)").value_or(0);
  return dur_ns > 0 ? static_cast<double>(bytes) / dur_ns : 0;
}

// As the device reported it.
void AddPlane(DbContext& context, const PlaneSlice& plane, SqliteTable& table) {
  const TraceData& data = context.data();
  const auto id = [&](std::string_view text) { return context.ids.Id(StringRange::kDevice, text); };
  const auto text = [&](std::string_view key) {
    return context.arguments.Text(plane.slice_id, key);
  };
  const auto number = [&](std::string_view key, int64_t none) {
    return context.arguments.Int(plane.slice_id, key).value_or(none);
  };
  const auto code = [](int64_t found, std::string_view name) {
    return name.empty() ? kNoLinkType : found;
  };
  const bool has_operation = plane.operation != SIZE_MAX;
  const auto* shown = has_operation ? &context.view.communications[plane.operation] : nullptr;
  const std::string_view kind = data.Name(data.Slice(plane.slice_id).name);
  table.Int(id(has_operation ? std::string_view(shown->name) : "N/A"));
  table.Int(PlaneTaskId(context, plane)).Int(id(kind)).Int(plane.plane);
  table.Int(id(has_operation ? std::string_view(shown->group_name) : "N/A"));
  table.Int(number("notify_id", kNoNotify)).Int(number("rdma type", kNoRdma));
  table.Int(number("src rank", kNone32)).Int(number("dst rank", kNone32));
  table.Int(code(HcclTransportCode(text("transport type")), text("transport type")));
  table.Int(number("size(Byte)", 0));
  table.Int(code(HcclDataTypeCode(text("data type")), text("data type")));
  table.Int(code(HcclLinkCode(text("link type")), text("link type")));
  table.KnownInt(has_operation ? data.communications[plane.operation].communication_id : -1);
  table.Int(plane.plane == 0 ? 1 : 0);
  table.Double(
      base::ParseDouble(text("bandwidth(GB/s)")).value_or(Bandwidth(data, plane, context)));
  table.End();
}

// One row a transfer. An operation without any has one row, by which readers find its task.
Status WriteLinks(DbContext& context) {
  const TraceData& data = context.data();
  SONDE_ASSIGN_OR_RETURN(
      SqliteTable table,
      SqliteTable::Create(context.file, "COMMUNICATION_TASK_INFO", kTaskColumns));
  for (const PlaneSlice& plane : context.planes) AddPlane(context, plane, table);
  const auto transfers = TransferTasks(context.view);
  const size_t without_planes = context.planes.empty() ? data.communications.size() : 0;
  for (size_t i = 0; i < without_planes; ++i) {
    for (const TransferTask& task : transfers[i]) {
      const store::CommunicationTransitRow& row = *task.transfer;
      AddLink(context, i,
              {.task_id = task.id,
               .plane = task.plane,
               .src_rank = KnownRank(row.src_rank),
               .dst_rank = KnownRank(row.dst_rank),
               .transport_code = TransportCode(recipes::TransportOf(data.Name(row.transport))),
               .link_code = LinkCode(data, row),
               .size_bytes = task.size_bytes,
               .time_ns = task.dur},
              table);
    }
    if (!transfers[i].empty()) continue;
    AddLink(context, i,
            {.task_id = CommunicationTaskId(data, data.communications[i].communication_id),
             .kind = "N/A"},
            table);
  }
  SONDE_RETURN_IF_ERROR(table.Close());
  return context.file.Execute(
      "CREATE INDEX CommunicationTaskIndex ON COMMUNICATION_TASK_INFO (globalTaskId)");
}

// The transfers of one row, which have one size. Counts of garbled files are not believed: beyond
// what an operation can do they stay one transfer.
void AddTransfers(const store::CommunicationTransitRow& row, TransferTask next,
                  std::vector<TransferTask>& tasks) {
  constexpr int64_t kMany = 1 << 16;
  const int64_t count = row.packet_count > 0 && row.packet_count <= kMany ? row.packet_count : 1;
  next.transfer = &row;
  next.size_bytes = row.size_bytes / count;
  for (int64_t i = 0; i < count; ++i) {
    next.dur = row.duration_ns / count + (i < row.duration_ns % count ? 1 : 0);
    tasks.push_back(next);
    ++next.id;
    next.ts += next.dur;
  }
}

}  // namespace

std::vector<std::vector<TransferTask>> TransferTasks(const recipes::DeviceView& view) {
  const TraceData& data = *view.data;
  std::vector<std::vector<TransferTask>> all(data.communications.size());
  if (view.settings.level == recipes::ProfilerLevel::kLevel0) return all;
  int64_t id = CommunicationTaskId(data, static_cast<int64_t>(all.size()));
  for (size_t i = 0; i < all.size(); ++i) {
    std::map<std::pair<int32_t, int32_t>, std::pair<int64_t, int64_t>> links;  // plane, next start
    for (const store::CommunicationTransitRow& row : recipes::TransfersOf(view, i)) {
      const auto plane = static_cast<int64_t>(links.size());
      auto& [link_plane, ts] =
          links.try_emplace({row.src_rank, row.dst_rank}, plane, data.communications[i].ts)
              .first->second;
      AddTransfers(row, {.id = id, .plane = link_plane, .ts = ts}, all[i]);
      id = all[i].back().id + 1;
      ts = all[i].back().ts + all[i].back().dur;
    }
  }
  return all;
}

Status WriteCommunicationTables(DbContext& context) {
  if (context.data().communications.empty() && context.planes.empty()) return {};
  SONDE_RETURN_IF_ERROR(WriteOperations(context));
  // Transfers are worked out from level 1 on; what a trace has is written at any.
  const bool is_level_0 = context.view.settings.level == recipes::ProfilerLevel::kLevel0;
  return is_level_0 && context.planes.empty() ? Status() : WriteLinks(context);
}

}  // namespace sonde::exporters
