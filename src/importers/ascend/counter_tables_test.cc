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

}  // namespace
}  // namespace sonde::importers
