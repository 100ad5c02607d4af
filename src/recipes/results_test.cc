// The declarations of all results, and the page that is made from them.
#include <gtest/gtest.h>

#include <array>
#include <set>

#include "base/golden_file.h"
#include "recipes/registry.h"
#include "store/schema.h"

namespace sonde::recipes {
namespace {

// A column with a unit has it in its name; `value` has a column with its unit next to it.
bool NamesItsUnit(const store::ResultColumnInfo& column) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kEnds = {
      {{"ns", "_ns"}, {"bytes", "_bytes"}, {"us2", "_us2"}, {"%", "_percent"}}};
  std::string_view unit;
  for (const auto& [name, end] : kEnds) {
    if (column.name.ends_with(end) || column.name == name) unit = name;
  }
  return column.unit == unit;
}

TEST(Results, AreNamedAndExplained) {
  std::set<std::string_view> names;
  for (const store::ResultInfo* result : Results()) {
    EXPECT_TRUE(names.insert(result->name).second) << result->name;
    EXPECT_EQ(store::FindTable(result->name), nullptr) << result->name;
    EXPECT_FALSE(result->meaning.empty()) << result->name;
    std::set<std::string_view> columns;
    bool has_key = false;
    for (const store::ResultColumnInfo& column : result->columns) {
      const std::string where = std::string(result->name) + "." + std::string(column.name);
      EXPECT_TRUE(columns.insert(column.name).second) << where;
      EXPECT_FALSE(column.meaning.empty()) << where;
      EXPECT_TRUE(NamesItsUnit(column)) << where;
      has_key |= column.role.role == "key";
    }
    EXPECT_TRUE(has_key || columns.contains("time_ns")) << result->name;
  }
}

// docs/reference/results.md comes from the declarations.
TEST(Results, ReferencePageIsCurrent) {
  base::ExpectCurrent(std::string(SONDE_SOURCE_DIR) + "/docs/reference/results.md",
                      store::ResultsMarkdown(Results()));
}

}  // namespace
}  // namespace sonde::recipes
