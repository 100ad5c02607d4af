// Reading one table gives the same rows as a whole import, whichever other tables are left out.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <type_traits>
#include <vector>

#include "base/test_folder.h"
#include "importers/ascend_db/ascend_db.h"
#include "store/core_frequency.h"
#include "store/row_tables.h"
#include "store/table_set.h"

namespace sonde::importers {
namespace {

std::string SharedData(const std::string& name) {
  const char* folder = std::getenv("SONDE_SHARED_DATA");
  return std::string(folder != nullptr ? folder : SONDE_SHARED_DATA_DEFAULT) + "/" + name;
}

// The cells of a row except those that refer to other rows; texts instead of their numbers.
template <class Row>
std::string Cells(const store::RowTables& tables, const Row& row) {
  const auto names = tables.Rows<store::NameRow>();
  std::string text;
  size_t column = 0;
  store::RowTraits<Row>::Visit(row, [&](const auto& value) {
    using Value = std::remove_cvref_t<decltype(value)>;
    const store::ColumnType type = store::RowTraits<Row>::kTypes[column++];
    if constexpr (std::is_same_v<Value, std::string_view>) {
      text += std::string(value) + '|';
    } else if (type == store::ColumnType::kName) {
      const auto id = static_cast<int64_t>(value);
      text += (id < 0 ? "-" : std::string(names[static_cast<size_t>(id)].name)) + '|';
    } else if (sizeof(Value) == sizeof(int64_t)) {
      text += std::to_string(value) + '|';
    }
  });
  return text;
}

template <class Row>
std::vector<std::string> Texts(const store::RowTables& tables) {
  std::vector<std::string> texts;
  for (const Row& row : tables.Rows<Row>()) texts.push_back(Cells(tables, row));
  return texts;
}

class ByTable : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string set = SharedData(GetParam());
    if (!std::filesystem::exists(set)) GTEST_SKIP() << "needs data: none at " << set;
  }

  std::shared_ptr<const store::RowTables> Read(uint64_t tables) {
    auto store =
        store::Store::Create(folder_.File("rows"), {.rows_in_memory = true, .without_file = true});
    EXPECT_TRUE(store.ok());
    const auto summary =
        ImportAscendDb(SharedData(GetParam()), **store, {.threads = 1, .tables = tables});
    EXPECT_TRUE(summary.ok()) << summary.status().message();
    return (*store)->rows();
  }

  template <class Row>
  void Check(const store::RowTables& whole, const char* table) {
    // Tasks determine the step of operations between ranks.
    const auto part = Read(store::TablesOf<Row>() | (std::is_same_v<Row, store::CommunicationOpRow>
                                                         ? store::TablesOf<store::DeviceTaskRow>()
                                                         : 0));
    EXPECT_EQ(Texts<Row>(*part), Texts<Row>(whole)) << table;
  }

  base::TestFolder folder_;
};

TEST_P(ByTable, HasTheRowsOfAWholeImport) {
  // Not issues: those of unread tables are not found.
  const auto whole = Read(store::kAllTables);
  ASSERT_FALSE(whole->Rows<store::DeviceTaskRow>().empty());
#define SONDE_CHECK_TABLE(Row, table, columns, meaning)               \
  if constexpr (!std::is_same_v<store::Row, store::NameRow> &&        \
                !std::is_same_v<store::Row, store::ThreadRow> &&      \
                !std::is_same_v<store::Row, store::ImportIssueRow> && \
                !std::is_same_v<store::Row, store::TrackRow> &&       \
                !std::is_same_v<store::Row, store::TaskKindRow>) {    \
    Check<store::Row>(*whole, #table);                                \
  }
  SONDE_TABLES(SONDE_CHECK_TABLE)
#undef SONDE_CHECK_TABLE
}

// Names, threads, tracks and kinds of tasks are those that the rows of other tables refer to.
TEST_P(ByTable, LeavesOutUnwantedTables) {
  const auto marks = Read(store::TablesOf<store::MarkRow>());
  EXPECT_TRUE(marks->Rows<store::DeviceTaskRow>().empty());
  EXPECT_TRUE(marks->Rows<store::FrameworkOpRow>().empty());
  EXPECT_TRUE(marks->Rows<store::CounterRow>().empty());
  const auto tasks = Read(store::TablesOf<store::DeviceTaskRow>());
  EXPECT_TRUE(tasks->Rows<store::DeviceTaskPmuRow>().empty());
  EXPECT_TRUE(tasks->Rows<store::CallstackRow>().empty());
  EXPECT_TRUE(tasks->Rows<store::MemoryEventRow>().empty());
}

TEST_P(ByTable, HasTheCoreFrequencyWithoutOtherCounters) {
  // "<track> <ts> <value>"
  const auto counters = [](const store::RowTables& tables) {
    const auto names = tables.Rows<store::NameRow>();
    const auto tracks = tables.Rows<store::TrackRow>();
    std::vector<std::string> texts;
    for (const store::CounterRow& row : tables.Rows<store::CounterRow>()) {
      const int32_t name = tracks[static_cast<size_t>(row.track_id)].name;
      texts.push_back(std::string(names[static_cast<size_t>(name)].name) + " " +
                      std::to_string(row.ts) + " " + std::to_string(row.value));
    }
    return texts;
  };
  std::vector<std::string> expected = counters(*Read(store::TablesOf<store::CounterRow>()));
  std::erase_if(expected, [](const std::string& text) { return !store::IsCoreFrequency(text); });
  EXPECT_FALSE(expected.empty());
  EXPECT_EQ(counters(*Read(store::kCoreFrequency)), expected);
}

INSTANTIATE_TEST_SUITE_P(
    Sets, ByTable,
    ::testing::Values("ascend_pt/db/level0/rank0_ascend_pt", "ascend_pt/db/level1/rank1_ascend_pt",
                      "ascend_pt/synth8_tp_pp_dp/node0_1000_20250109081616713_ascend_pt"),
    [](const auto& set) { return "Set" + std::to_string(set.index); });

}  // namespace
}  // namespace sonde::importers
