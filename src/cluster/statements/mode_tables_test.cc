#include "cluster/statements/mode_tables.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/golden_file.h"
#include "recipes/registry.h"
#include "store/schema.h"

namespace sonde::cluster {
namespace {

TEST(ModeTables, AreNamedAndExplained) {
  std::set<std::string_view> names;
  for (const store::ResultInfo* result : recipes::Results()) names.insert(result->name);
  for (const store::TableInfo& table : store::Tables()) names.insert(table.name);
  ASSERT_FALSE(ModeTables().empty());
  for (const ModeTable& table : ModeTables()) {
    const store::ResultInfo& result = table.info->result;
    EXPECT_TRUE(names.insert(result.name).second) << result.name;
    EXPECT_FALSE(result.meaning.empty()) << result.name;
    std::set<std::string_view> columns;
    for (const store::ResultColumnInfo& column : result.columns) {
      const std::string where = std::string(result.name) + "." + std::string(column.name);
      EXPECT_TRUE(columns.insert(column.name).second) << where;
      EXPECT_FALSE(column.meaning.empty()) << where;
    }
  }
}

// Tables that modes declare under one name must be equal.
TEST(ModeTables, OneNameIsOneTable) {
  for (const Mode* mode : Modes()) {
    for (const TableInfo* info : mode->tables) {
      for (const ModeTable& table : ModeTables()) {
        if (table.info->result.name == info->result.name) {
          EXPECT_EQ(table.info, info) << mode->name << " " << info->result.name;
        }
      }
    }
  }
}

// docs/reference/cluster-tables.md comes from the declarations.
TEST(ModeTables, ReferencePageIsCurrent) {
  base::ExpectCurrent(std::string(SONDE_SOURCE_DIR) + "/docs/reference/cluster-tables.md",
                      ModeTablesMarkdown());
}

class EmptySink final : public store::RowSink {
 public:
  void Int(int64_t /*value*/) override { ++cells; }
  void Double(double /*value*/) override { ++cells; }
  void Text(std::string_view /*value*/) override { ++cells; }
  void Null() override { ++cells; }
  void EndRow() override { ++rows; }
  int cells = 0;
  int rows = 0;
};

// One row in each of the mode's tables, and a rank that could not be read.
RunResult ResultOf(const Mode& mode) {
  RunResult result;
  for (const TableInfo* info : mode.tables) {
    Table& table = result.outcome.tables.emplace_back(*info);
    for (size_t i = 0; i < table.columns(); ++i) table.Null();
  }
  result.failures.push_back({"rank7", base::NotFoundError("is not there")});
  return result;
}

std::vector<const ModeTable*> TablesOnlyOf(std::string_view mode) {
  std::vector<const ModeTable*> tables;
  for (const ModeTable& table : ModeTables()) {
    if (table.modes.size() == 1 && table.modes.front()->name == mode) tables.push_back(&table);
  }
  return tables;
}

TEST(ModeTables, AModeRunsOnceForAllOfItsTables) {
  const auto of_mode = TablesOnlyOf("hccl_sum");
  ASSERT_EQ(of_mode.size(), 4U);
  int runs = 0;
  int lines = 0;
  const auto tables = MakeModeTables(
      [&](const Mode& mode) -> Result<RunResult> {
        if (++runs == 1) return base::NotFoundError("no rank holds it");
        return ResultOf(mode);
      },
      [&](std::string_view /*line*/) { ++lines; });
  EmptySink sink;
  EXPECT_FALSE(tables->Fill(of_mode.front()->info->result, sink).ok());  // and is tried again
  for (const ModeTable* table : of_mode) {
    EXPECT_TRUE(tables->Fill(table->info->result, sink).ok());
  }
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(lines, 1);
  EXPECT_EQ(sink.rows, 4);
}

TEST(ModeTables, OfSeveralModesTheNextCountsWhereOneFindsNothing) {
  const auto found = std::ranges::find_if(ModeTables(), [](const ModeTable& table) {
    return table.info->result.name == "host_clocks";
  });
  ASSERT_NE(found, ModeTables().end());
  ASSERT_GT(found->modes.size(), 2U);
  EXPECT_EQ(found->modes.front()->name, "pp_chart");
  std::string finds = "collective_skew";
  const auto tables = MakeModeTables(
      [&](const Mode& mode) -> Result<RunResult> {
        if (mode.name == finds) return ResultOf(mode);
        if (mode.name == "p2p_pairing") return RunResult{};
        return base::NotFoundError("no rank holds it");
      },
      [](std::string_view /*line*/) {});
  EmptySink sink;
  EXPECT_TRUE(tables->Fill(found->info->result, sink).ok());
  EXPECT_EQ(sink.rows, 1);
  finds = "nobody";  // of what ran before the answer is kept
  EmptySink again;
  EXPECT_TRUE(tables->Fill(found->info->result, again).ok());
  EXPECT_EQ(again.rows, 1);
  const auto failing = MakeModeTables(
      [](const Mode& /*mode*/) -> Result<RunResult> { return base::NotFoundError("nothing"); },
      [](std::string_view /*line*/) {});
  EXPECT_EQ(failing->Fill(found->info->result, again).message(), "pp_chart: nothing");
}

}  // namespace
}  // namespace sonde::cluster
