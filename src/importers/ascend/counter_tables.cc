#include "importers/ascend/counter_tables.h"

#include <algorithm>

#include "base/strings.h"
#include "store/core_frequency.h"

namespace sonde::importers {
namespace {

// Counters of a network port.
constexpr std::array<CounterSeries, 21> kPortSeries = {{{"bandwidth", "bandwidth"},
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

constexpr std::array kSources = std::to_array<CounterTable>({
    {"AICORE_FREQ", store::kCoreFrequencyName, "dieId", "", {{{"freq", "MHz"}}}},
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

bool IsNumber(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Takes `text` off the front, with the blank behind it.
bool TakeFront(std::string_view& name, std::string_view text) {
  if (!name.starts_with(text)) return false;
  if (name.size() > text.size() && name[text.size()] != ' ') return false;
  name.remove_prefix(std::min(name.size(), text.size() + 1));
  return true;
}

// "0 read", "SLOG", "": the key columns of a row.
bool TakeKeys(std::string_view keys, const CounterTable& table, CounterPlace& place) {
  place.number.clear();
  place.text.clear();
  place.module.clear();
  if (!table.number_key.empty()) {
    const std::string_view first = keys.substr(0, keys.find(' '));
    if (IsNumber(first)) {
      place.number = first;
      TakeFront(keys, first);
    }
  }
  if (!table.text_key.empty()) {
    place.text = keys;
  } else if (!table.module_key.empty()) {
    place.module = keys;
  } else if (!keys.empty()) {
    return false;
  }
  return table.module_key.empty() || !keys.empty();
}

bool FindIn(const CounterTable& table, std::string_view name, CounterPlace& place) {
  if (!TakeFront(name, table.label)) return false;
  for (size_t i = 0; i < table.series.size() && !table.series[i].column.empty(); ++i) {
    const std::string_view series = table.series[i].name;
    const bool is_all = name == series;
    if (!is_all && !(name.ends_with(series) && name.size() > series.size() &&
                     name[name.size() - series.size() - 1] == ' ')) {
      continue;
    }
    const std::string_view keys =
        is_all ? std::string_view() : name.substr(0, name.size() - series.size() - 1);
    if (!TakeKeys(keys, table, place)) continue;
    place.table = &table;
    place.series = i;
    place.factor = 1;
    return true;
  }
  return false;
}

// A timeline's name as that of a database; "" where databases have no such name.
struct Renamed {
  std::string name;
  double factor = 1;
};
constexpr double kKilobyte = 1024;
constexpr double kMegabyte = kKilobyte * kKilobyte;

// Counters that only their process distinguishes have it before their name (TrackOfTimeline).
constexpr std::string_view kSioFront = "SIO/";
constexpr auto kPortProcesses = std::to_array<std::string_view>({"NIC", "RoCE"});

Renamed OfTimelineOfLinks(std::string_view name) {
  using base::Concat;
  for (const std::string_view way : {"Tx", "Rx"}) {
    if (name == Concat(way, " ", way, "(MB/s)")) return {Concat("HCCS ", way, " B/s"), kMegabyte};
    for (const std::string_view kind : {"post", "nonpost", "cpl"}) {
      if (name == Concat("PCIe_", kind, " ", way)) {
        return {Concat("PCIe ", way, " ", kind, " B/s"), kMegabyte};
      }
    }
  }
  if (name == "PCIe_nonpost_latency Tx") return {"PCIe Tx nonpost latency ns", 1000};
  if (name.starts_with(kSioFront)) {  // "SIO/req_rx die 0"
    const std::string_view whole = name.substr(kSioFront.size());
    const size_t blank = whole.find(' ');
    if (blank != std::string_view::npos) {
      return {Concat("SIO ", whole.substr(blank + 1), " ", whole.substr(0, blank)), kMegabyte};
    }
  }
  return {};
}

// "CPU 0 Usage(%)", "CPU Avg Usage(%)", "Disk Usage Usage(%)"
Renamed OfTimelineOfHost(std::string_view name) {
  constexpr std::string_view kEnd = " Usage(%)";
  if (!name.ends_with(kEnd)) return {};
  const std::string_view what = name.substr(0, name.size() - kEnd.size());
  if (what.starts_with("CPU ")) return {base::Concat(what, " Usage %"), 1};
  for (const std::string_view whole : {"Memory Usage", "Disk Usage", "Network Usage"}) {
    if (what == whole) return {base::Concat(whole, " %"), 1};
  }
  return {};
}

Renamed OfTimeline(std::string_view name) {
  using base::Concat;
  constexpr double kKilo = kKilobyte;
  constexpr double kMega = kMegabyte;
  // "HBM 0/Read Read(MB/s)", "LLC 1 Write/Hit Rate Hit Rate(%)", "APP/DDR KB"
  const size_t slash = name.find('/');
  const std::string_view front = name.substr(0, slash);
  const std::string_view back = slash == std::string_view::npos ? "" : name.substr(slash + 1);
  const auto lower = [](std::string_view text) {
    std::string result(text);
    std::ranges::transform(result, result.begin(), [](char c) {
      return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return result;
  };
  if (name.starts_with("HBM ") && back.ends_with("(MB/s)")) {
    return {Concat(front, " ", lower(back.substr(0, back.find(' '))), " B/s"), kMega};
  }
  if (front == "DDR" && back.ends_with("(MB/s)")) {
    return {Concat("DDR ", back.substr(0, back.find(' ')), " B/s"), kMega};
  }
  if (name.starts_with("LLC ")) {
    const size_t mode = front.rfind(' ');
    const std::string begin = Concat(front.substr(0, mode + 1), lower(front.substr(mode + 1)));
    if (back.ends_with("Hit Rate(%)")) return {Concat(begin, " Hit Rate %"), 100};
    if (back.ends_with("Throughput(MB/s)")) return {Concat(begin, " Throughput B/s"), kMega};
  }
  if ((front == "APP" || front == "Device") && back.ends_with(" KB")) {
    return {Concat("NPU MEM ", lower(front), " ", back.substr(0, back.find(' ')), " B"), kKilo};
  }
  if (name.starts_with("QoS ") && name.ends_with(" value")) {
    return {Concat(name.substr(0, name.size() - 6), " B/s"), kMega};
  }
  for (const std::string_view level : {"L2 Buffer Bw Level", "Mata Bw Level"}) {
    if (name == Concat(level, " ", level)) return {Concat("Stars Soc Info ", level), 1};
  }
  for (const std::string_view series :
       {"read_bandwidth", "write_bandwidth", "write_band_width", "read_ost", "write_ost"}) {
    // "read_bandwidth[acc_id 3] value"; tools of 2025 write "write_band_width"
    constexpr std::string_view kEnd = "] value";
    const std::string begin = Concat(series, "[acc_id ");
    if (!name.starts_with(begin) || !name.ends_with(kEnd)) continue;
    const std::string_view number =
        name.substr(begin.size(), name.size() - begin.size() - kEnd.size());
    const bool is_old = series == "write_band_width";
    return {Concat("Acc PMU ", number, " ", is_old ? "write_bandwidth" : series), 1};
  }
  Renamed links = OfTimelineOfLinks(name);
  return links.name.empty() ? OfTimelineOfHost(name) : links;
}

// By table, with their sort indices.
constexpr auto kProcesses = std::to_array<TimelineProcess>({
    {"CPU_USAGE", "CPU Usage", 9, false},
    {"HOST_MEM_USAGE", "Memory Usage", 10, false},
    {"HOST_NETWORK_USAGE", "Network Usage", 11, false},
    {"HOST_DISK_USAGE", "Disk Usage", 12, false},
    {"AICORE_FREQ", "AI Core Freq", 15},
    {"NPU_MEM", "NPU MEM", 17},
    {"NPU_MODULE_MEM", "NPU Module MEM", 26},  // ours: the device tool has a table alone
    {"DDR", "DDR", 18},
    {"ACC_PMU", "Acc PMU", 19},
    {"HCCS", "HCCS", 20},
    {"NIC", "NIC", 21},
    {"ROCE", "RoCE", 22},
    {"PCIE", "PCIe", 23},
    {"HBM", "HBM", 24},
    {"SOC_BANDWIDTH_LEVEL", "Stars Soc Info", 25},
    {"LLC", "LLC", 27},
    {"SIO", "SIO", 28},
    {"QOS", "QoS", 29},
});

// "PCIe_post" of "Tx post B/s", with the key "Tx"; empty for the extremes, which timelines lack.
void SetPcieName(std::string_view series, TimelineCounter& counter) {
  using base::Concat;
  const std::string_view way = series.substr(0, 2);
  if (series == Concat(way, " nonpost latency ns")) {
    counter.name = "PCIe_nonpost_latency";
    counter.factor = 1.0 / 1000;
  }
  for (const std::string_view kind : {"post", "nonpost", "cpl"}) {
    if (series != Concat(way, " ", kind, " B/s")) continue;
    counter.name = Concat("PCIe_", kind);
    counter.factor = 1 / kMegabyte;
  }
  if (!counter.name.empty()) counter.key = way;
}

// The names that the device tool has for series of these tables.
void SetVendorName(const CounterPlace& place, TimelineCounter& counter) {
  using base::Concat;
  const std::string_view table = place.table->table;
  const std::string_view series = place.table->series[place.series].name;
  const std::string text = base::Capitalised(place.text);
  const auto set = [&](std::string name, std::string key, double factor) {
    counter.name = std::move(name);
    counter.key = std::move(key);
    counter.factor = factor;
  };
  if (table == "HBM") {
    set(Concat("HBM ", place.number, "/", text), Concat(text, "(MB/s)"), 1 / kMegabyte);
  } else if (table == "DDR") {
    const std::string_view way = series.substr(0, series.find(' '));
    set(Concat("DDR/", way), Concat(way, "(MB/s)"), 1 / kMegabyte);
  } else if (table == "LLC" && series == "Hit Rate %") {
    set(Concat("LLC ", place.number, " ", text, "/Hit Rate"), "Hit Rate(%)", 1.0 / 100);
  } else if (table == "LLC") {
    set(Concat("LLC ", place.number, " ", text, "/Throughput"), "Throughput(MB/s)", 1 / kMegabyte);
  } else if (table == "NPU_MEM") {
    const std::string_view kind = series.substr(0, series.find(' '));
    set(Concat(place.text == "app" ? "APP" : text, "/", kind), "KB", 1 / kKilobyte);
  } else if (table == "QOS" && place.number.empty()) {
    set(Concat("QoS ", place.text), "value", 1 / kMegabyte);
  } else if (table == "SOC_BANDWIDTH_LEVEL") {
    set(std::string(series), std::string(series), 1);
  } else if (table == "ACC_PMU") {
    set(std::string(series), "value", 1);
    counter.more = Concat(R"(,"acc_id":)", place.number.empty() ? "0" : place.number);
  } else if (table == "HCCS") {
    const std::string_view way = series.substr(0, 2);
    set(std::string(way), Concat(way, "(MB/s)"), 1 / kMegabyte);
  } else if (table == "PCIE") {
    SetPcieName(series, counter);
  } else if (table == "SIO" && !place.text.empty()) {
    set(std::string(series), place.text, 1 / kMegabyte);
  } else if (table == "CPU_USAGE" && !place.number.empty()) {
    set(Concat("CPU ", place.number), "Usage(%)", 1);
  } else if (table.starts_with("HOST_") && series == "%") {
    set(std::string(place.table->label), "Usage(%)", 1);
  }
}

// What the device tool shows and no database has a column for; false where it is none of these.
bool SetWithoutPlace(std::string_view track_name, TimelineCounter& counter) {
  for (const std::string_view process : kPortProcesses) {
    // "NIC Port 0/Rx Rx Packets"
    if (!track_name.starts_with(base::Concat(process, " Port "))) continue;
    const size_t slash = track_name.find('/');
    const size_t blank = slash == std::string_view::npos ? slash : track_name.find(' ', slash);
    if (blank == std::string_view::npos) continue;
    counter.process = process;
    counter.name = track_name.substr(process.size() + 1, blank - process.size() - 1);
    counter.key = track_name.substr(blank + 1);
    return true;
  }
  if (track_name == "CPU Avg Usage %" || track_name == "CPU Avg Usage(%)") {
    counter.process = "CPU Usage";
    counter.name = "CPU Avg";
    counter.key = "Usage(%)";
    return true;
  }
  const bool is_sum = (track_name.starts_with("APP/") || track_name.starts_with("Device/")) &&
                      track_name.ends_with("Memory KB");
  if (!is_sum) return false;
  counter.process = "NPU MEM";
  const size_t blank = track_name.rfind(' ');
  counter.name = track_name.substr(0, blank);
  counter.key = track_name.substr(blank + 1);
  return true;
}

void SetProcess(const TimelineProcess* process, TimelineCounter& counter) {
  if (process == nullptr) return;
  counter.process = process->name;
  counter.sort_index = process->sort_index;
  counter.is_device = process->is_device;
}

}  // namespace

std::span<const CounterTable> CounterTables() { return kSources; }

bool FindCounterPlace(std::string_view track_name, CounterPlace& place) {
  const Renamed renamed = OfTimeline(track_name);
  const std::string_view name = renamed.name.empty() ? track_name : renamed.name;
  const bool is_found = std::ranges::any_of(
      kSources, [&](const CounterTable& table) { return FindIn(table, name, place); });
  place.factor = renamed.factor;
  return is_found;
}

std::string TrackOfTimeline(std::string_view process, std::string_view counter) {
  if (process == "SIO") return base::Concat(kSioFront, counter);
  const bool is_port = std::ranges::find(kPortProcesses, process) != kPortProcesses.end();
  return is_port && counter.starts_with("Port ") ? base::Concat(process, " ", counter)
                                                 : std::string(counter);
}

const TimelineProcess* FindTimelineProcess(std::string_view name) {
  const auto found = std::ranges::find(kProcesses, name, &TimelineProcess::name);
  return found == kProcesses.end() ? nullptr : &*found;
}

TimelineCounter CounterOfTimeline(std::string_view track_name) {
  TimelineCounter counter;
  if (SetWithoutPlace(track_name, counter)) {
    SetProcess(FindTimelineProcess(counter.process), counter);
    return counter;
  }
  CounterPlace place;
  if (!FindCounterPlace(track_name, place)) {
    // What a timeline without a unit of its own is read as.
    constexpr std::string_view kPlain = " value";
    const size_t blank = track_name.rfind(' ');
    const size_t unit = track_name.find('(', blank + 1);
    if (blank != std::string_view::npos && track_name.ends_with(')') &&
        unit != std::string_view::npos && unit > blank + 1) {  // "Aicore Voltage voltage(mV)"
      counter.name = track_name.substr(0, blank);
      counter.key = track_name.substr(blank + 1);
      return counter;
    }
    counter.name = track_name.ends_with(kPlain)
                       ? track_name.substr(0, track_name.size() - kPlain.size())
                       : track_name;
    counter.key = "value";
    return counter;
  }
  const auto process = std::ranges::find(kProcesses, place.table->table, &TimelineProcess::table);
  SetProcess(process == kProcesses.end() ? nullptr : &*process, counter);
  SetVendorName(place, counter);
  counter.factor *= place.factor;
  if (!counter.name.empty()) return counter;
  const size_t blank = track_name.rfind(' ');
  counter.factor = 1;
  counter.name = track_name.substr(0, blank);
  counter.key = track_name.substr(blank + 1);
  return counter;
}

}  // namespace sonde::importers
