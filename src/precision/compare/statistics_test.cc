#include "precision/compare/statistics.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sonde::precision {
namespace {

std::string StatisticText(const Cell& cell) {
  std::string out;
  cell.AppendTo(&out);
  return out;
}

struct Case {
  const char* target;
  const char* golden;
  const char* difference;
  const char* relative;
};

TEST(StatisticsTest, TheTableOfAllValueClasses) {
  const std::vector<Case> cases = {
      {"2.5", "2.0", "0.5", "25.0%"},
      {"2.0", "2.5", "-0.5", "20.0%"},
      {"-3.0", "1.5", "-4.5", "300.0%"},
      {"4", "3", "1.0", "33.33333333333333%"},
      {"3", "3.0", "0.0", "0.0%"},
      {"3.0", "3.0", "0", "0"},
      {"1.0", "0.0", "1.0", "inf"},
      {"0", "0.0", "0.0", "inf"},
      {"NaN", "NaN", "0", "0"},
      {"Infinity", "Infinity", "0", "0"},
      {"null", "null", "0", "0"},
      {"NaN", "1.0", "Nan", "Nan"},
      {"Infinity", "NaN", "Nan", "Nan"},
      {"Infinity", "1.0", "inf", "inf"},
      {"-Infinity", "1.0", "-inf", "-inf"},
      {"Infinity", "-Infinity", "inf", "inf"},
      {"1.0", "Infinity", "-inf", "-inf"},
      {"1.0", "-Infinity", "inf", "inf"},
      {"true", "false", "Diff", "Diff"},
      {"true", "1.0", "Diff", "Diff"},
      {"null", "1.0", "Diff", "Diff"},
  };
  for (const Case& c : cases) {
    const auto found = CompareStatistic(Value::FromLiteral(c.target), Value::FromLiteral(c.golden));
    EXPECT_EQ(StatisticText(found.difference), c.difference) << c.target << " " << c.golden;
    EXPECT_EQ(StatisticText(found.relative_error), c.relative) << c.target << " " << c.golden;
  }
}

TEST(StatisticsTest, Texts) {
  const auto same = CompareStatistic(Value::Text("cpu"), Value::Text("cpu"));
  EXPECT_EQ(StatisticText(same.difference), "0");
  const auto devices = CompareStatistic(Value::Text("npu:0"), Value::Text("cuda:0"));
  EXPECT_EQ(StatisticText(devices.difference), "N/A");
  const auto texts = CompareStatistic(Value::Text("a"), Value::Text("b"));
  EXPECT_EQ(StatisticText(texts.difference), "Diff");
}

TEST(StatisticsTest, UnmatchedRowsHaveNoNumbers) {
  for (const Cell& cell : CompareStatistics(DumpRow(), nullptr))
    EXPECT_EQ(StatisticText(cell), "N/A");
}

}  // namespace
}  // namespace sonde::precision
