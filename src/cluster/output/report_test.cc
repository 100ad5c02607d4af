#include "cluster/output/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cluster/hccl_sum/hccl_sum.h"
#include "cluster/output/chart.h"

namespace sonde::cluster {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Outcome OneRow(const std::string& type) {
  HcclAllRow row{.op_type = type};
  std::vector<double> values = {1000, 3000};
  Set(Describe(values), row);
  Outcome outcome;
  outcome.tables = {TableOf(kHcclAll, std::vector{row})};
  return outcome;
}

TEST(Report, HoldsTableAndBoxesInMicroseconds) {
  const std::string html = ReportHtml(*FindMode("hccl_sum"), OneRow("hcom_allReduce_"));
  EXPECT_THAT(html, HasSubstr("HcclAllRankStats"));
  EXPECT_THAT(html, HasSubstr("Mean(Us)"));
  EXPECT_THAT(html, HasSubstr("data-value=\"2.0\""));
  EXPECT_THAT(html, HasSubstr("class=\"median\""));
}

TEST(Report, LoadsNothingAndRunsNothingOfATrace) {
  const std::string html =
      ReportHtml(*FindMode("hccl_sum"), OneRow("<script>alert(\"x\")</script>"));
  EXPECT_THAT(html, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(html, Not(HasSubstr("http:")));
  EXPECT_THAT(html, Not(HasSubstr("https:")));
  EXPECT_THAT(html, Not(HasSubstr("@import")));
}

TEST(Chart, OfATableWithoutRowsIsNone) { EXPECT_EQ(ChartSvg(Table(kHcclAll)), ""); }

}  // namespace
}  // namespace sonde::cluster
