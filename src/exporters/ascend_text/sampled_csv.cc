// Tables of values that a device sampled, as its own tool writes them: each value, or sums over
// all.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "exporters/ascend_text/csv_files.h"
#include "exporters/format/line_buffer.h"
#include "importers/ascend/counter_tables.h"
#include "report/csv_writer.h"

namespace sonde::exporters {
namespace {

using recipes::TraceData;
using report::CsvWriter;

constexpr double kSampledKilo = 1024;
constexpr double kSampledMega = kSampledKilo * kSampledKilo;

// Values of one table of a database: by device, keys and moment, then by column.
struct SampledKey {
  int64_t device = 0;
  std::string number;
  std::string text;
  int32_t module_place = 0;  // the tool lists modules in the order of its records
  std::string module;
  int64_t ts = 0;
  auto operator<=>(const SampledKey&) const = default;
};
using SampledRow = std::map<std::string_view, double>;
using SampledTable = std::map<SampledKey, SampledRow>;

// By the tables' names; the series that no database knows are left out.
std::map<std::string_view, SampledTable> SampledTables(const TraceData& data) {
  struct Series {
    importers::CounterPlace place;
    bool is_known = false;
    int64_t device = 0;
  };
  std::vector<Series> of_track(data.tracks.size());
  for (const store::TrackRow& track : data.tracks) {
    if (!data.IsOfKind(track, recipes::TrackKind::kCounter)) continue;
    Series& series = of_track[static_cast<size_t>(track.track_id)];
    series.is_known = importers::FindCounterPlace(data.Name(track.name), series.place);
    series.device = std::max<int64_t>(track.device_id, 0);
  }
  std::map<std::string_view, SampledTable> tables;
  for (const store::CounterRow& counter : data.counters) {
    const Series& series = of_track[static_cast<size_t>(counter.track_id)];
    if (!series.is_known) continue;
    const importers::CounterPlace& place = series.place;
    SampledRow& row =
        tables[place.table->table][{.device = series.device,
                                    .number = place.number,
                                    .text = place.text,
                                    .module_place = place.module.empty() ? 0 : counter.track_id,
                                    .module = place.module,
                                    .ts = counter.ts}];
    row[place.table->series[place.series].column] = counter.value * place.factor;
  }
  return tables;
}

double ValueOf(const SampledRow& row, std::string_view column) {
  const auto found = row.find(column);
  return found == row.end() ? 0 : found->second;
}

// As the tool rounds what it prints.
double Rounded3(double value) {
  constexpr double kThousand = 1000;
  const double scaled = value * kThousand;
  return scaled - scaled == 0 ? static_cast<double>(std::llround(scaled)) / kThousand : 0;
}

class Mean {
 public:
  void Add(double value) {
    sum_ += value;
    min_ = count_ == 0 ? value : std::min(min_, value);
    max_ = count_ == 0 ? value : std::max(max_, value);
    ++count_;
  }
  double average() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }
  double min() const { return min_; }
  double max() const { return max_; }

 private:
  double sum_ = 0;
  double min_ = 0;
  double max_ = 0;
  int64_t count_ = 0;
};

void WriteNpuMem(const SampledTable& table, CsvWriter& csv) {
  csv.Row({"Device_id", "event", "ddr(KB)", "hbm(KB)", "memory(KB)", "timestamp(us)"});
  for (const auto& [key, row] : table) {
    const double ddr = ValueOf(row, "ddr") / kSampledKilo;
    const double hbm = ValueOf(row, "hbm") / kSampledKilo;
    csv.Int(key.device);
    csv.Text(key.text == "app" ? "APP" : base::Capitalised(key.text));
    csv.Double(Rounded3(ddr));
    csv.Double(Rounded3(hbm));
    csv.Double(Rounded3(ddr + hbm));
    csv.MicrosecondsTab(key.ts);
    csv.EndRow();
  }
}

void ModuleRows(const SampledTable& table, std::string_view value, double (*of_bytes)(double),
                CsvWriter& csv) {
  csv.Row({"Device_id", "Component", "Timestamp(us)", value, "Device"});
  for (const auto& [key, row] : table) {
    csv.Int(key.device);
    csv.Text(key.module);
    csv.MicrosecondsTab(key.ts);
    csv.Double(of_bytes(ValueOf(row, "totalReserved")));
    csv.Text(base::Concat("NPU:", std::to_string(key.device)));
    csv.EndRow();
  }
}

void WriteNpuModuleMem(const SampledTable& table, CsvWriter& csv) {
  ModuleRows(
      table, "Total Reserved(KB)", [](double bytes) { return Rounded3(bytes / kSampledKilo); },
      csv);
}

// The framework divides what the tool rounded.
void WriteModuleMemOfFramework(const SampledTable& table, CsvWriter& csv) {
  ModuleRows(
      table, "Total Reserved(MB)",
      [](double bytes) { return Rounded3(bytes / kSampledKilo) / kSampledKilo; }, csv);
}

// Means over the capture: of all sites, then of each.
void WriteHbm(const SampledTable& table, CsvWriter& csv) {
  std::map<std::pair<int64_t, std::string>, std::map<std::string, Mean>> means;
  for (const auto& [key, row] : table) {
    const double value = ValueOf(row, "bandwidth") / kSampledMega;
    means[{key.device, ""}][key.text].Add(value);
    means[{key.device, key.number}][key.text].Add(value);
  }
  csv.Row({"Device_id", "Metric", "Read(MB/s)", "Write(MB/s)"});
  for (auto& [place, of_way] : means) {
    csv.Int(place.first);
    csv.Text(place.second.empty() ? "Average" : place.second);
    csv.Double(Rounded3(of_way["read"].average()));
    csv.Double(Rounded3(of_way["write"].average()));
    csv.EndRow();
  }
}

void WriteDdr(const SampledTable& table, CsvWriter& csv) {
  std::map<int64_t, std::pair<Mean, Mean>> means;
  for (const auto& [key, row] : table) {
    means[key.device].first.Add(ValueOf(row, "read") / kSampledMega);
    means[key.device].second.Add(ValueOf(row, "write") / kSampledMega);
  }
  csv.Row({"Device_id", "Metric", "Read(MB/s)", "Write(MB/s)"});
  for (const auto& [device, both] : means) {
    csv.Int(device);
    csv.Text("Average");
    csv.Double(Rounded3(both.first.average()));
    csv.Double(Rounded3(both.second.average()));
    csv.EndRow();
  }
}

void WriteLlc(const SampledTable& table, CsvWriter& csv) {
  std::map<std::tuple<int64_t, std::string, std::string>, std::pair<Mean, Mean>> means;
  for (const auto& [key, row] : table) {
    for (const std::string& task : {std::string("Average"), key.number}) {
      auto& [rate, throughput] = means[{key.device, key.text, task == "Average" ? "" : task}];
      rate.Add(ValueOf(row, "hitRate"));
      throughput.Add(ValueOf(row, "throughput") / kSampledMega);
    }
  }
  csv.Row({"Device_id", "Mode", "Task", "Hit Rate(%)", "Throughput(MB/s)"});
  for (const auto& [place, both] : means) {
    const auto& [device, mode, task] = place;
    csv.Int(device);
    csv.Text(mode);
    csv.Text(task.empty() ? "Average" : task);
    csv.Double(Rounded3(both.first.average()));
    csv.Double(Rounded3(both.second.average()));
    csv.EndRow();
  }
}

void WriteHccs(const SampledTable& table, CsvWriter& csv) {
  std::map<int64_t, std::pair<Mean, Mean>> means;
  for (const auto& [key, row] : table) {
    means[key.device].first.Add(ValueOf(row, "txThroughput") / kSampledMega);
    means[key.device].second.Add(ValueOf(row, "rxThroughput") / kSampledMega);
  }
  csv.Row({"Device_id", "Mode", "Max", "Min", "Average"});
  for (const auto& [device, both] : means) {
    for (const bool is_tx : {true, false}) {
      const Mean& mean = is_tx ? both.first : both.second;
      csv.Int(device);
      csv.Text(is_tx ? "Tx" : "Rx");
      csv.Double(Rounded3(mean.max()));
      csv.Double(Rounded3(mean.min()));
      csv.Double(Rounded3(mean.average()));
      csv.EndRow();
    }
  }
}

// The last sample, as the tool has it for chips with STARS.
void WritePcie(const SampledTable& table, CsvWriter& csv) {
  struct Mode {
    std::string_view name;
    std::string_view column;
    double unit;
  };
  constexpr auto kModes = std::to_array<Mode>({{"Tx_p_avg(MB/s)", "txPost", kSampledMega},
                                               {"Tx_np_avg(MB/s)", "txNonpost", kSampledMega},
                                               {"Tx_cpl_avg(MB/s)", "txCpl", kSampledMega},
                                               {"Tx_latency_avg(us)", "txNonpostLatency", 1000},
                                               {"Rx_p_avg(MB/s)", "rxPost", kSampledMega},
                                               {"Rx_np_avg(MB/s)", "rxNonpost", kSampledMega},
                                               {"Rx_cpl_avg(MB/s)", "rxCpl", kSampledMega}});
  std::map<int64_t, const SampledRow*> last;
  for (const auto& [key, row] : table) last[key.device] = &row;
  csv.Row({"Device_id", "Mode", "Min", "Max", "Avg"});
  for (const auto& [device, row] : last) {
    for (const Mode& mode : kModes) {
      csv.Int(device);
      csv.Text(mode.name);
      for (const std::string_view part : {"Min", "Max", "Avg"}) {
        csv.Double(Rounded3(ValueOf(*row, base::Concat(mode.column, part)) / mode.unit));
      }
      csv.EndRow();
    }
  }
}

void WritePort(const SampledTable& table, CsvWriter& csv) {
  csv.Row({"Device_id", "Timestamp(us)", "Bandwidth(MB/s)", "Rx Bandwidth efficiency(%)",
           "rxPacket/s", "rxError rate(%)", "rxDropped rate(%)", "Tx Bandwidth efficiency(%)",
           "txPacket/s", "txError rate(%)", "txDropped rate(%)", "funcId"});
  for (const auto& [key, row] : table) {
    const double bandwidth = ValueOf(row, "bandwidth");
    csv.Int(key.device);
    csv.MicrosecondsTab(key.ts);
    csv.Double(Rounded3(bandwidth / kSampledMega));
    for (const std::string_view way : {"rx", "tx"}) {
      const auto value = [&](std::string_view part) {
        return ValueOf(row, base::Concat(way, part));
      };
      const auto percent = [](double part, double whole) {
        constexpr double kHundred = 100;
        return whole > 0 ? Rounded3(part / whole * kHundred) : 0;
      };
      csv.Double(percent(value("ByteRate"), bandwidth));
      csv.Double(Rounded3(value("PacketRate")));
      csv.Double(percent(value("Errors"), value("Packets")));
      csv.Double(percent(value("Dropped"), value("Packets")));
    }
    csv.Text(key.number.empty() ? "0" : key.number);
    csv.EndRow();
  }
}

using WriteSampled = void (*)(const SampledTable& table, CsvWriter& csv);

struct SampledFile {
  std::string_view name;
  std::string_view table;
  WriteSampled of_tool;
  WriteSampled of_framework = nullptr;  // null: it has no such file
};
constexpr auto kSampledFiles = std::to_array<SampledFile>({
    {"npu_mem", "NPU_MEM", &WriteNpuMem},
    {"npu_module_mem", "NPU_MODULE_MEM", &WriteNpuModuleMem, &WriteModuleMemOfFramework},
    {"hbm", "HBM", &WriteHbm},
    {"ddr", "DDR", &WriteDdr},
    {"llc_read_write", "LLC", &WriteLlc},
    {"hccs", "HCCS", &WriteHccs, &WriteHccs},
    {"pcie", "PCIE", &WritePcie, &WritePcie},
    {"nic", "NIC", &WritePort, &WritePort},
    {"roce", "ROCE", &WritePort, &WritePort},
});

}  // namespace

void AddSampledSheets(const ExportContext& context, FileSet& files, bool is_of_framework,
                      std::string_view end) {
  if (context.data().counters.empty()) return;
  const auto tables = SampledTables(context.data());
  for (const SampledFile& file : kSampledFiles) {
    const auto table = tables.find(file.table);
    const WriteSampled write = is_of_framework ? file.of_framework : file.of_tool;
    if (table == tables.end() || write == nullptr) continue;
    CsvWriter csv(nullptr);
    write(table->second, csv);
    files.Add(base::Concat(file.name, end), 1,
              [text = csv.Take()](size_t, LineBuffer& out) { out.Append(std::string_view(text)); });
  }
}

}  // namespace sonde::exporters
