// Sampled values of devices and host, one description a table.
#include <array>
#include <cmath>
#include <optional>

#include "base/strings.h"
#include "importers/ascend_db/db_trace.h"
#include "importers/ascend_db/issues.h"

namespace sonde::importers::db_import {
namespace {

using base::Concat;

// A series is named "<label> <number or text of the key columns> <series>"; the unit is that of the
// database, written behind it.
struct Series {
  std::string_view column;
  std::string_view name;
};
struct Source {
  std::string_view table;
  std::string_view label;
  std::string_view number_key;  // column with a number of the unit, "" none
  std::string_view text_key;    // column with a text id, "" none
  std::array<Series, 21> series;
  std::string_view module_key = {};  // column with a number of ENUM_MODULE
};

// What a network port counts.
constexpr std::array<Series, 21> kPortSeries = {{{"bandwidth", "bandwidth"},
                                                 {"rxPacketRate", "rxPacketRate"},
                                                 {"rxByteRate", "rxByteRate"},
                                                 {"rxPackets", "rxPackets"},
                                                 {"rxBytes", "rxBytes"},
                                                 {"rxErrors", "rxErrors"},
                                                 {"rxDropped", "rxDropped"},
                                                 {"txPacketRate", "txPacketRate"},
                                                 {"txByteRate", "txByteRate"},
                                                 {"txPackets", "txPackets"},
                                                 {"txBytes", "txBytes"},
                                                 {"txErrors", "txErrors"},
                                                 {"txDropped", "txDropped"}}};

constexpr std::array kSources = std::to_array<Source>({
    {"AICORE_FREQ", "AI Core Freq", "dieId", "", {{{"freq", "MHz"}}}},
    {"HBM", "HBM", "hbmId", "type", {{{"bandwidth", "B/s"}}}},
    {"DDR", "DDR", "", "", {{{"read", "Read B/s"}, {"write", "Write B/s"}}}},
    {"LLC",
     "LLC",
     "llcId",
     "mode",
     {{{"hitRate", "Hit Rate %"}, {"throughput", "Throughput B/s"}}}},
    {"NPU_MEM", "NPU MEM", "", "type", {{{"ddr", "DDR B"}, {"hbm", "HBM B"}}}},
    {"NPU_MODULE_MEM", "NPU Module", "", "", {{{"totalReserved", "B"}}}, "moduleId"},
    {"ACC_PMU",
     "Acc PMU",
     "accId",
     "",
     {{{"readBwLevel", "read_bandwidth"},
       {"writeBwLevel", "write_bandwidth"},
       {"readOstLevel", "read_ost"},
       {"writeOstLevel", "write_ost"}}}},
    {"SOC_BANDWIDTH_LEVEL",
     "Stars Soc Info",
     "",
     "",
     {{{"l2BufferBwLevel", "L2 Buffer Bw Level"}, {"mataBwLevel", "Mata Bw Level"}}}},
    {"QOS", "QoS", "dieId", "eventName", {{{"bandwidth", "B/s"}}}},
    {"NIC", "NIC Port", "funcId", "", kPortSeries},
    {"ROCE", "RoCE Port", "funcId", "", kPortSeries},
    {"PCIE",
     "PCIe",
     "",
     "",
     {{{"txPostAvg", "Tx post B/s"},
       {"txNonpostAvg", "Tx nonpost B/s"},
       {"txCplAvg", "Tx cpl B/s"},
       {"txNonpostLatencyAvg", "Tx nonpost latency ns"},
       {"rxPostAvg", "Rx post B/s"},
       {"rxNonpostAvg", "Rx nonpost B/s"},
       {"rxCplAvg", "Rx cpl B/s"},
       {"txPostMin", "Tx post min B/s"},
       {"txPostMax", "Tx post max B/s"},
       {"txNonpostMin", "Tx nonpost min B/s"},
       {"txNonpostMax", "Tx nonpost max B/s"},
       {"txCplMin", "Tx cpl min B/s"},
       {"txCplMax", "Tx cpl max B/s"},
       {"txNonpostLatencyMin", "Tx nonpost latency min ns"},
       {"txNonpostLatencyMax", "Tx nonpost latency max ns"},
       {"rxPostMin", "Rx post min B/s"},
       {"rxPostMax", "Rx post max B/s"},
       {"rxNonpostMin", "Rx nonpost min B/s"},
       {"rxNonpostMax", "Rx nonpost max B/s"},
       {"rxCplMin", "Rx cpl min B/s"},
       {"rxCplMax", "Rx cpl max B/s"}}}},
    {"HCCS", "HCCS", "", "", {{{"txThroughput", "Tx B/s"}, {"rxThroughput", "Rx B/s"}}}},
    {"UB", "UB Port", "portId", "", {{{"rxUdmaBind", "rx"}, {"txUdmaBind", "tx"}}}},
    {"SIO",
     "SIO",
     "",
     "name",
     {{{"rxReq", "req_rx"},
       {"rxRsp", "rsp_rx"},
       {"rxSnp", "snp_rx"},
       {"rxDat", "dat_rx"},
       {"txReq", "req_tx"},
       {"txRsp", "rsp_tx"},
       {"txSnp", "snp_tx"},
       {"txDat", "dat_tx"}}}},
    {"NETDEV_STATS",
     "Network device",
     "",
     "",
     {{{"macTxBandwidth", "mac tx"},
       {"macRxBandwidth", "mac rx"},
       {"nicTxBandwidth", "nic tx"},
       {"nicRxBandwidth", "nic rx"},
       {"roceTxPkt", "roce tx packets"},
       {"roceRxPkt", "roce rx packets"},
       {"macTxPfcPkt", "mac tx pfc packets"},
       {"macRxPfcPkt", "mac rx pfc packets"},
       {"macTxByte", "mac tx bytes"},
       {"macRxByte", "mac rx bytes"},
       {"macTxBadByte", "mac tx bad bytes"},
       {"macRxBadByte", "mac rx bad bytes"},
       {"roceTxErrPkt", "roce tx error packets"},
       {"roceRxErrPkt", "roce rx error packets"},
       {"roceTxCnpPkt", "roce tx cnp packets"},
       {"roceRxCnpPkt", "roce rx cnp packets"},
       {"roceNewPktRty", "roce retried packets"},
       {"nicTxByte", "nic tx bytes"},
       {"nicRxByte", "nic rx bytes"}}}},
    {"CPU_USAGE", "CPU", "cpuId", "", {{{"usage", "Usage %"}}}},
    {"HOST_MEM_USAGE", "Memory Usage", "", "", {{{"usage", "%"}}}},
    {"HOST_DISK_USAGE",
     "Disk Usage",
     "",
     "",
     {{{"usage", "%"}, {"readRate", "read B/s"}, {"writeRate", "write B/s"}}}},
    {"HOST_NETWORK_USAGE", "Network Usage", "", "", {{{"usage", "%"}, {"speed", "speed B/s"}}}},
    {"SAMPLE_PMU_TIMELINE",
     "AI Core",
     "coreId",
     "coreType",
     {{{"totalCycle", "total_cycles"}, {"usage", "usage %"}, {"freq", "MHz"}}}},
});

constexpr int kFirstSeries = 5;

// Whether a double does not hold the whole number that a cell does.
bool IsRounded(const SqliteRow& row, int column, double value) {
  constexpr double kExact = 9007199254740992.0;   // 2^53
  constexpr double kEnd = 9223372036854775808.0;  // 2^63
  constexpr int kReal = 2;
  if (std::fabs(value) < kExact || row.Type(column) == kReal) return false;
  const auto whole = row.Int(column);
  return !whole || value >= kEnd || static_cast<int64_t>(value) != *whole;
}

// The value of a series; nullopt for none, and counted where the cell is not empty.
std::optional<double> ValueOf(DbTrace& trace, const SqliteRow& row, int column,
                              const Source& source) {
  const auto value = row.Double(column);
  const std::string_view name = source.series[static_cast<size_t>(column - kFirstSeries)].name;
  const bool is_size = name == "B" || name.ends_with(" B");
  if (value && std::isfinite(*value) && !(is_size && *value < 0)) {
    if (IsRounded(row, column, *value)) {
      trace.rows.issues.Add(kDbRoundedCounter, Concat(trace.file, ": ", source.table));
    }
    return value;
  }
  if (!row.IsNull(column)) trace.BadValue(source.table);
  return std::nullopt;
}

void ReadSource(DbTrace& trace, const Source& source) {
  if (!trace.reader.HasTable(source.table)) return;
  std::vector<std::string_view> columns = {"timestampNs", "deviceId", source.number_key,
                                           source.text_key, source.module_key};
  for (const Series& series : source.series) {
    if (!series.column.empty()) columns.push_back(series.column);
  }
  trace.Read(source.table, columns, [&](const SqliteRow& row) {
    const auto ts = row.Int(0);
    if (!ts) return trace.WrongType(source.table);
    const int64_t device = row.Int(1).value_or(-1);
    std::string label(source.label);
    if (const auto number = row.Int(2)) label += Concat(" ", std::to_string(*number));
    if (!row.IsNull(3)) label += Concat(" ", trace.TextView(row, 3));
    if (const auto module = row.Int(4)) {
      const int32_t name = trace.Enum("ENUM_MODULE", module);
      label += Concat(" ", name == store::kNone ? std::to_string(*module)
                                                : std::string(trace.rows.names.Text(name)));
    }
    for (int i = kFirstSeries; i < static_cast<int>(columns.size()); ++i) {
      const auto value = ValueOf(trace, row, i, source);
      if (!value) continue;
      const Series& series = source.series[static_cast<size_t>(i - kFirstSeries)];
      const int32_t track = trace.rows.Track(
          {.kind = "counter",
           .name = Concat(label, " ", series.name),
           .process_id = trace.MainProcess(),
           .device_id = device >= 0 && device <= INT32_MAX ? static_cast<int32_t>(device) : -1});
      trace.rows.counters.push_back({.ts = *ts, .track_id = track, .value = *value});
    }
  });
}

}  // namespace

void ReadCounters(DbTrace& trace) {
  for (const Source& source : kSources) ReadSource(trace, source);
}

}  // namespace sonde::importers::db_import
