// Names of counters, of databases and of timelines, and where they belong.
#include "importers/ascend/counter_tables.h"

#include <gtest/gtest.h>

#include "base/strings.h"

namespace sonde::importers {
namespace {

std::string PlaceOf(std::string_view name) {
  CounterPlace place;
  if (!FindCounterPlace(name, place)) return "none";
  return base::Concat(place.table->table, ".", place.table->series[place.series].column, " ",
                      place.number, "|", place.text, "|", place.module, " ",
                      std::to_string(static_cast<int64_t>(place.factor)));
}

TEST(CounterTables, NamesOfDatabasesAreFoundAgain) {
  EXPECT_EQ(PlaceOf("HBM 0 read B/s"), "HBM.bandwidth 0|read| 1");
  EXPECT_EQ(PlaceOf("AI Core Freq MHz"), "AICORE_FREQ.freq || 1");
  EXPECT_EQ(PlaceOf("NPU MEM app HBM B"), "NPU_MEM.hbm |app| 1");
  EXPECT_EQ(PlaceOf("NPU Module SLOG B"), "NPU_MODULE_MEM.totalReserved ||SLOG 1");
  EXPECT_EQ(PlaceOf("Acc PMU 3 write_ost"), "ACC_PMU.writeOstLevel 3|| 1");
  EXPECT_EQ(PlaceOf("PCIe Tx nonpost latency max ns"), "PCIE.txNonpostLatencyMax || 1");
}

// A series and its keys as a name, for all series of all tables: each leads back to itself.
TEST(CounterTables, EverySeriesLeadsBackToItsColumn) {
  for (const CounterTable& table : CounterTables()) {
    std::string label(table.label);
    if (!table.number_key.empty()) label += " 2";
    if (!table.text_key.empty()) label += " some text";
    if (!table.module_key.empty()) label += " HCCL";
    for (const CounterSeries& series : table.series) {
      if (series.column.empty()) break;
      CounterPlace place;
      ASSERT_TRUE(FindCounterPlace(base::Concat(label, " ", series.name), place)) << series.name;
      EXPECT_EQ(place.table->table, table.table);
      EXPECT_EQ(place.table->series[place.series].column, series.column);
      EXPECT_EQ(place.number, table.number_key.empty() ? "" : "2");
    }
  }
}

TEST(CounterTables, NamesOfTimelinesHaveOtherUnits) {
  EXPECT_EQ(PlaceOf("HBM 0/Read Read(MB/s)"), "HBM.bandwidth 0|read| 1048576");
  EXPECT_EQ(PlaceOf("LLC 1 Write/Hit Rate Hit Rate(%)"), "LLC.hitRate 1|write| 100");
  EXPECT_EQ(PlaceOf("Device/DDR KB"), "NPU_MEM.ddr |device| 1024");
  EXPECT_EQ(PlaceOf("read_bandwidth[acc_id 12] value"), "ACC_PMU.readBwLevel 12|| 1");
  EXPECT_EQ(PlaceOf("Mata Bw Level Mata Bw Level"), "SOC_BANDWIDTH_LEVEL.mataBwLevel || 1");
  EXPECT_EQ(PlaceOf("QoS OTHERS value"), "QOS.bandwidth |OTHERS| 1048576");
}

TEST(CounterTables, OtherNamesHaveNoPlace) {
  for (const std::string_view name : {"queue depth value", "HBM", "APP/Memory KB", "loss", ""}) {
    EXPECT_EQ(PlaceOf(name), "none") << name;
  }
}

// As the vendor's timeline shows it, and what that is read as.
TEST(CounterTables, TimelinesShowTheVendorsNames) {
  const auto shown = [](std::string_view track) {
    const TimelineCounter counter = CounterOfTimeline(track);
    return base::Concat(counter.process, "|", counter.name, "|", counter.key, counter.more);
  };
  EXPECT_EQ(shown("HBM 0 read B/s"), "HBM|HBM 0/Read|Read(MB/s)");
  EXPECT_EQ(shown("LLC 1 write Hit Rate %"), "LLC|LLC 1 Write/Hit Rate|Hit Rate(%)");
  EXPECT_EQ(shown("NPU MEM app HBM B"), "NPU MEM|APP/HBM|KB");
  EXPECT_EQ(shown("AI Core Freq MHz"), "AI Core Freq|AI Core Freq|MHz");
  EXPECT_EQ(shown("Acc PMU 3 read_ost"), "Acc PMU|read_ost|value,\"acc_id\":3");
  EXPECT_EQ(shown("PCIe Rx nonpost B/s"), "PCIe|PCIe_nonpost|Rx");
  EXPECT_EQ(shown("NIC Port 0 rxBytes"), "NIC|NIC Port 0|rxBytes");
  EXPECT_EQ(shown("NIC Port 0/Rx Rx Packets"), "NIC|Port 0/Rx|Rx Packets");
  EXPECT_EQ(shown("RoCE Port 12/Tx Tx Error Rate"), "RoCE|Port 12/Tx|Tx Error Rate");
  EXPECT_EQ(shown("HCCS Rx B/s"), "HCCS|Rx|Rx(MB/s)");
  EXPECT_EQ(shown("SIO die 0 req_rx"), "SIO|req_rx|die 0");
  EXPECT_EQ(shown("CPU 3 Usage %"), "CPU Usage|CPU 3|Usage(%)");
  EXPECT_EQ(shown("CPU Avg Usage %"), "CPU Usage|CPU Avg|Usage(%)");
  EXPECT_EQ(shown("Disk Usage %"), "Disk Usage|Disk Usage|Usage(%)");
  EXPECT_EQ(shown("queue depth"), "|queue depth|value");
  EXPECT_EQ(shown("queue depth value"), "|queue depth|value");
  EXPECT_EQ(shown("APP/Memory KB"), "NPU MEM|APP/Memory|KB");
  EXPECT_EQ(CounterOfTimeline("HBM 0 read B/s").factor, 1.0 / (1024 * 1024));
  EXPECT_EQ(CounterOfTimeline("HBM 0/Read Read(MB/s)").factor, 1);
}

// Two processes of the tool have counters of one name.
TEST(CounterTables, TracksOfPortsHaveTheirProcess) {
  EXPECT_EQ(TrackOfTimeline("NIC", "Port 0/Rx Rx Packets"), "NIC Port 0/Rx Rx Packets");
  EXPECT_EQ(TrackOfTimeline("RoCE", "Port 0/Rx Rx Packets"), "RoCE Port 0/Rx Rx Packets");
  EXPECT_EQ(TrackOfTimeline("NIC", "NIC Port 0 rxBytes"), "NIC Port 0 rxBytes");
  EXPECT_EQ(TrackOfTimeline("HBM", "HBM 0/Read Read(MB/s)"), "HBM 0/Read Read(MB/s)");
  EXPECT_EQ(PlaceOf("SIO/req_rx die 0"), "SIO.rxReq |die 0| 1048576");
  EXPECT_EQ(PlaceOf("CPU 3 Usage(%)"), "CPU_USAGE.usage 3|| 1");
  EXPECT_EQ(PlaceOf("Memory Usage Usage(%)"), "HOST_MEM_USAGE.usage || 1");
}

// Every series that is written is read back as its own, in its own unit.
TEST(CounterTables, SeriesOfTimelinesLeadBack) {
  for (const CounterTable& table : CounterTables()) {
    std::string label(table.label);
    if (!table.number_key.empty()) label += " 2";
    if (!table.text_key.empty()) label += table.table == "NPU_MEM" ? " app" : " read";
    if (!table.module_key.empty()) label += " HCCL";
    for (const CounterSeries& series : table.series) {
      if (series.column.empty()) break;
      if (table.table == "QOS") label = "QoS OTHERS";  // of one die
      const std::string track = base::Concat(label, " ", series.name);
      const TimelineCounter shown = CounterOfTimeline(track);
      const bool has_number = !shown.more.empty();
      const std::string read = TrackOfTimeline(
          shown.process, base::Concat(shown.name, has_number ? "[acc_id 2] " : " ", shown.key));
      CounterPlace before;
      CounterPlace after;
      ASSERT_TRUE(FindCounterPlace(track, before));
      ASSERT_TRUE(FindCounterPlace(read, after)) << track << " -> " << read;
      EXPECT_EQ(before.table->table, after.table->table) << read;
      EXPECT_EQ(before.series, after.series) << read;
      EXPECT_EQ(before.number, after.number) << read;
      EXPECT_EQ(before.text, after.text) << read;
      EXPECT_DOUBLE_EQ(shown.factor * after.factor, 1) << read;
    }
  }
}
}  // namespace
}  // namespace sonde::importers
