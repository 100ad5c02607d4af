// Recipes on imported sets give the figures of the files of the sets: each figure is compared
// with the cells of the deliverable that holds it (imported_set.h). Skipped where data is absent.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "base/strings.h"
#include "exporters/imported_set.h"
#include "recipes/api_statistic/api_statistic.h"
#include "recipes/communication/communication.h"
#include "recipes/communication_matrix/communication_matrix.h"
#include "recipes/kernel_details/kernel_details.h"
#include "recipes/lane_depth/lane_depth.h"
#include "recipes/op_statistic/op_statistic.h"
#include "recipes/trace/device_view.h"

namespace sonde::exporters {
namespace {

// The parameter is a set that has what the recipe is compared with: only a missing data folder
// skips.
using ImportedSet = ::testing::TestWithParam<const char*>;
class KernelDetailsOf : public ImportedSet {};
class OpStatisticOf : public ImportedSet {};
class ApiStatisticOf : public ImportedSet {};
class StepTraceOf : public ImportedSet {};
class StepTraceTextOf : public ImportedSet {};
class OverlapOf : public ImportedSet {};
class OverlapLayerOf : public ImportedSet {};
class LaneDepthOf : public ImportedSet {};
class CommunicationOf : public ImportedSet {};
class CommunicationMatrixOf : public ImportedSet {};

// Order of rows, names and waits of kernel_details.csv.
TEST_P(KernelDetailsOf, EqualsTheFile) {
  const Imported set(GetParam());
  if (!set.is_there()) GTEST_SKIP() << "needs data";
  const Rows expected = set.Table("kernel_details");
  ASSERT_FALSE(expected.empty());
  using Row = std::tuple<int64_t, std::string, int64_t>;
  std::vector<Row> wanted;
  for (const auto& row : expected) {
    wanted.emplace_back(Us(Get(row, "Start Time(us)")), Get(row, "Name"),
                        Us(Get(row, "Wait Time(us)")));
  }
  std::vector<Row> found;
  for (const recipes::KernelRow& row : recipes::KernelDetails(set.view())) {
    if (row.is_communication) {
      found.emplace_back(set.data().communications[row.index].ts,
                         set.view().communications[row.index].name, row.wait_ns);
    } else {
      const auto& task = set.data().tasks[row.index];
      found.emplace_back(task.ts,
                         set.data().Name(set.data().kinds[static_cast<size_t>(task.kind_id)].name),
                         row.wait_ns);
    }
  }
  std::stable_sort(wanted.begin(), wanted.end());
  std::stable_sort(found.begin(), found.end());
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < found.size(); ++i) {
    const auto near = [&](int64_t x, int64_t y, int64_t tolerance) {
      EXPECT_LE(std::abs(x - y), tolerance) << i << " " << std::get<1>(wanted[i]);
    };
    // Timeline and table were rounded apart.
    near(std::get<0>(found[i]), std::get<0>(wanted[i]), 1);
    EXPECT_EQ(std::get<1>(found[i]), std::get<1>(wanted[i])) << i;
    // The tool counted in double microseconds since 1970, which step by 0.25.
    near(std::get<2>(found[i]), std::get<2>(wanted[i]), 250);
  }
}

TEST_P(OpStatisticOf, EqualsTheFile) {
  const Imported set(GetParam());
  if (!set.is_there()) GTEST_SKIP() << "needs data";
  const Rows expected = set.Table("op_statistic");
  ASSERT_FALSE(expected.empty());
  std::map<std::pair<std::string, std::string>, recipes::OpStatisticRow> found;
  for (const auto& row : recipes::OpStatistic(set.view())) {
    found[{std::string(row.op_type), std::string(row.core)}] = row;
  }
  EXPECT_EQ(found.size(), expected.size());
  for (const auto& row : expected) {
    const auto at = found.find({Get(row, "OP Type"), Get(row, "Core Type")});
    ASSERT_NE(at, found.end()) << Get(row, "OP Type");
    const int64_t count = Int(Get(row, "Count"));
    EXPECT_EQ(at->second.count, count);
    EXPECT_NEAR(static_cast<double>(at->second.total_ns),
                static_cast<double>(Us(Get(row, "Total Time(us)"))),
                1.0 * static_cast<double>(count));
    EXPECT_NEAR(static_cast<double>(at->second.min_ns),
                static_cast<double>(Us(Get(row, "Min Time(us)"))), 1);
    EXPECT_NEAR(static_cast<double>(at->second.max_ns),
                static_cast<double>(Us(Get(row, "Max Time(us)"))), 1);
    EXPECT_NEAR(at->second.ratio_percent, Double(Get(row, "Ratio(%)")), 0.001);
  }
}

TEST_P(ApiStatisticOf, EqualsTheFile) {
  const Imported set(GetParam());
  if (!set.is_there()) GTEST_SKIP() << "needs data";
  const Rows expected = set.Table("api_statistic");
  ASSERT_FALSE(expected.empty());
  std::map<std::pair<std::string, std::string>, recipes::ApiStatisticRow> found;
  recipes::ApiTexts texts;
  for (const auto& row : recipes::ApiStatistic(set.view(), texts)) {
    found[{std::string(row.level), std::string(row.name)}] = row;
  }
  for (const auto& row : expected) {
    std::string level = Get(row, "Level");
    if (level == "hccl") level = "communication";
    const auto at = found.find({level, Get(row, "API Name")});
    ASSERT_NE(at, found.end()) << level << " " << Get(row, "API Name");
    EXPECT_EQ(at->second.count, Int(Get(row, "Count"))) << Get(row, "API Name");
    EXPECT_NEAR(static_cast<double>(at->second.total_ns),
                static_cast<double>(Us(Get(row, "Time(us)"))), 1);
    EXPECT_EQ(at->second.min_ns, Us(Get(row, "Min(us)")));
    EXPECT_EQ(at->second.max_ns, Us(Get(row, "Max(us)")));
    EXPECT_NEAR(at->second.variance_us2, Double(Get(row, "Variance")), 0.002);
  }
  EXPECT_EQ(found.size(), expected.size());
}

// StepTraceTime of analysis.db: microseconds as doubles.
TEST_P(StepTraceOf, EqualsTheFile) {
  const Imported set(GetParam());
  if (!set.is_there()) GTEST_SKIP() << "needs data";
  const Rows expected = set.Table("StepTraceTime");
  ASSERT_FALSE(expected.empty());
  ASSERT_EQ(set.view().devices.size(), 1u);
  const auto& rows = set.view().devices[0].steps;
  ASSERT_EQ(rows.size(), expected.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(std::to_string(rows[i].step_id.value_or(-1)), Get(expected[i], "step"));
    const std::pair<const char*, int64_t> figures[] = {
        {"computing", rows[i].computing_ns},
        {"communication_not_overlapped", rows[i].not_overlapped_ns},
        {"overlapped", rows[i].overlapped_ns},
        {"communication", rows[i].communication_ns},
        {"free", rows[i].free_ns},
        {"stage", rows[i].stage_ns},
        {"bubble", rows[i].bubble_ns},
        {"preparing", rows[i].preparing_ns}};
    for (const auto& [column, ns] : figures) {
      EXPECT_NEAR(static_cast<double>(ns) / 1000, Double(Get(expected[i], column)), 0.002)
          << column;
    }
  }
}

// step_trace_time.csv: microseconds, summed from a layer whose bars were rounded after merging,
// while the recipe merges tasks that were rounded before: a nanosecond an interval. Stage and
// preparing are differences of double microseconds since 1970, which step by 0.25; preparing needs
// the steps of a timeline.
TEST_P(StepTraceTextOf, EqualsTheFile) {
  const Imported set(GetParam());
  if (!set.is_there()) GTEST_SKIP() << "needs data";
  const Rows expected = set.Table("step_trace_time");
  ASSERT_FALSE(expected.empty());
  ASSERT_EQ(set.view().devices.size(), 1u);
  const auto& rows = set.view().devices[0].steps;
  ASSERT_EQ(rows.size(), expected.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(std::to_string(rows[i].step_id.value_or(-1)), Get(expected[i], "Step"));
    const recipes::Overlap& overlap = set.view().devices[0].overlap;
    const double near =
        0.001 * static_cast<double>(overlap.computing.size() + overlap.communication.size());
    constexpr double kDouble = 0.26;
    const std::tuple<const char*, int64_t, double> figures[] = {
        {"Computing", rows[i].computing_ns, near},
        {"Communication(Not Overlapped)", rows[i].not_overlapped_ns, near},
        {"Overlapped", rows[i].overlapped_ns, near},
        {"Communication", rows[i].communication_ns, near},
        {"Free", rows[i].free_ns, near},
        {"Stage", rows[i].stage_ns, kDouble},
        {"Bubble", rows[i].bubble_ns, near},
        {"Preparing", rows[i].preparing_ns, kDouble}};
    const bool has_timeline = !set.data().slices.empty() && !set.data().ops.empty();
    for (const auto& [column, ns, tolerance] : figures) {
      if (!has_timeline && std::string_view(column) == "Preparing") continue;
      EXPECT_NEAR(static_cast<double>(ns) / 1000, Double(Get(expected[i], column)), tolerance)
          << column;
    }
  }
}

using OverlapRow = std::tuple<std::string, int64_t, int64_t>;  // type, start, end

std::vector<OverlapRow> OverlapRows(const recipes::DeviceView& view) {
  std::vector<OverlapRow> rows;
  const recipes::Overlap& overlap = view.devices.at(0).overlap;
  for (const auto& [type, list] :
       {std::pair<const char*, const std::vector<recipes::Interval>*>{"0", &overlap.computing},
        {"1", &overlap.communication},
        {"2", &overlap.not_overlapped},
        {"3", &overlap.free}}) {
    for (const recipes::Interval& interval : *list) {
      rows.emplace_back(type, interval.start_ns, interval.end_ns);
    }
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

// Intervals of the table that a viewer added to the database, to the nanosecond.
TEST_P(OverlapOf, EqualsTheFile) {
  const Imported set(GetParam());
  if (!set.is_there()) GTEST_SKIP() << "needs data";
  std::vector<OverlapRow> expected;
  for (const auto& row : set.Table("OVERLAP_ANALYSIS")) {
    expected.emplace_back(Get(row, "type"), Int(Get(row, "startNs")), Int(Get(row, "endNs")));
  }
  ASSERT_FALSE(expected.empty());
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(OverlapRows(set.view()), expected);
}

// The layer of the timeline, whose ends are sums of two rounded numbers.
TEST_P(OverlapLayerOf, EqualsTheFile) {
  const Imported set(GetParam());
  if (!set.is_there()) GTEST_SKIP() << "needs data";
  const std::map<std::string_view, const char*> types = {{"Computing", "0"},
                                                         {"Communication", "1"},
                                                         {"Communication(Not Overlapped)", "2"},
                                                         {"Free", "3"}};
  std::vector<OverlapRow> expected;
  for (const store::SliceRow& slice : set.data().slices) {
    if (set.data().Name(set.data().TrackOf(slice).kind) != "overlap") continue;
    const auto type = types.find(set.data().Name(slice.name));
    ASSERT_NE(type, types.end()) << set.data().Name(slice.name);
    expected.emplace_back(type->second, slice.ts, slice.ts + slice.dur);
  }
  ASSERT_FALSE(expected.empty());
  // The bars add up to step_trace_time.csv, to the remains of doubles.
  const Rows steps = set.Table("step_trace_time");
  ASSERT_EQ(steps.size(), 1u);
  for (const auto& [name, type] : types) {
    int64_t total = 0;
    for (const auto& [kind, start, end] : expected) total += kind == type ? end - start : 0;
    EXPECT_NEAR(static_cast<double>(total) / 1000, Double(Get(steps[0], std::string(name).c_str())),
                1e-6);
  }
  std::sort(expected.begin(), expected.end());
  const std::vector<OverlapRow> found = OverlapRows(set.view());
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(std::get<0>(found[i]), std::get<0>(expected[i]));
    EXPECT_LE(std::abs(std::get<1>(found[i]) - std::get<1>(expected[i])), 2) << i;
    EXPECT_LE(std::abs(std::get<2>(found[i]) - std::get<2>(expected[i])), 2) << i;
  }
}

// Rows that a viewer gave to tasks: planes of communication, which are lanes of their own here, lie
// on the stream that runs them there.
TEST_P(LaneDepthOf, RowsOfStreamsEqualTheFile) {
  const Imported set(GetParam());
  if (!set.is_there()) GTEST_SKIP() << "needs data";
  std::map<std::string, std::vector<recipes::Interval>> tasks;  // by stream
  std::map<std::string, std::vector<int64_t>> expected;
  size_t count = 0;
  for (const auto& row : set.Table("TASK")) {
    tasks[Get(row, "streamId")].push_back({Int(Get(row, "startNs")), Int(Get(row, "endNs"))});
    expected[Get(row, "streamId")].push_back(Int(Get(row, "depth")));
    ++count;
  }
  ASSERT_GT(count, 500u);
  for (const auto& [stream, list] : tasks) {
    const std::vector<int32_t> found = recipes::LaneDepths(list);
    EXPECT_EQ(std::vector<int64_t>(found.begin(), found.end()), expected[stream]) << stream;
  }
}

// And to host calls and operators.
TEST_P(LaneDepthOf, EqualsTheFile) {
  const Imported set(GetParam());
  if (!set.is_there()) GTEST_SKIP() << "needs data";
  using Row = std::tuple<int64_t, int64_t, int64_t>;  // start, end, depth
  const std::vector<int32_t> depths = recipes::LaneDepths(set.data());
  const std::pair<const char*, std::vector<std::string_view>> tables[] = {
      {"CANN_API", {"api"}}, {"PYTORCH_API", {"thread", "python", "module"}}};
  for (const auto& [table, kinds] : tables) {
    std::vector<Row> expected;
    for (const auto& row : set.Table(table)) {
      expected.emplace_back(Int(Get(row, "startNs")), Int(Get(row, "endNs")),
                            Int(Get(row, "depth")));
    }
    ASSERT_FALSE(expected.empty()) << table;
    std::vector<Row> found;
    for (const store::SliceRow& slice : set.data().slices) {
      const std::string_view kind = set.data().Name(set.data().TrackOf(slice).kind);
      if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) continue;
      found.emplace_back(slice.ts, slice.ts + slice.dur,
                         depths[static_cast<size_t>(slice.slice_id)]);
    }
    std::sort(expected.begin(), expected.end());
    std::sort(found.begin(), found.end());
    EXPECT_EQ(found, expected) << table;
  }
}

struct Traffic {
  double megabytes = 0, ms = 0;
  std::map<int64_t, int64_t> counts;  // by size of a transfer in bytes
};

auto TrafficOf(const Imported& set) {  // by operation and transport
  std::map<std::pair<std::string, std::string>, Traffic> traffic;
  for (const auto& row : set.Table("CommAnalyzerBandwidth")) {
    const std::string key = base::Concat(Get(row, "hccl_op_name"), "@", Get(row, "group_name"));
    Traffic& one = traffic[std::pair(key, Get(row, "transport_type"))];
    one.megabytes = Double(Get(row, "transit_size"));
    one.ms = Double(Get(row, "transit_time"));
    const auto count = static_cast<int64_t>(Double(Get(row, "count")));
    if (count > 0) one.counts[std::llround(Double(Get(row, "package_size")) * 1e6)] = count;
  }
  return traffic;
}

// CommAnalyzerTime of analysis.db: milliseconds.
TEST_P(CommunicationOf, EqualsTheFile) {
  const Imported set(GetParam());
  if (!set.is_there()) GTEST_SKIP() << "needs data";
  std::map<std::string, std::map<std::string, std::string>> expected;
  for (const auto& row : set.Table("CommAnalyzerTime")) {
    expected[base::Concat(Get(row, "hccl_op_name"), "@", Get(row, "group_name"))] = row;
  }
  ASSERT_FALSE(expected.empty());
  auto traffic = TrafficOf(set);
  size_t compared = 0;
  for (const auto& step : recipes::Communication(set.view())) {
    for (const auto& row : step.rows) {
      const auto& shown = set.view().communications[row.index];
      const std::string key = base::Concat(shown.name, "@", std::to_string(shown.group_hash));
      const auto at = expected.find(key);
      if (at == expected.end()) continue;
      ++compared;
      const auto ms = [](int64_t ns) { return static_cast<double>(ns) / 1e6; };
      EXPECT_NEAR(ms(row.times.elapse_ns), Double(Get(at->second, "elapse_time")), 2e-6) << key;
      EXPECT_NEAR(ms(row.times.transit_ns), Double(Get(at->second, "transit_time")), 2e-6) << key;
      EXPECT_NEAR(ms(row.times.wait_ns), Double(Get(at->second, "wait_time")), 2e-6) << key;
      EXPECT_NEAR(ms(row.times.synchronization_ns), Double(Get(at->second, "synchronization_time")),
                  2e-6)
          << key;
      for (const auto& [transport, part] : row.traffic) {
        const auto wanted = traffic.find({key, std::string(recipes::TransportName(transport))});
        ASSERT_NE(wanted, traffic.end()) << key;
        EXPECT_NEAR(static_cast<double>(part.size_bytes) / 1e6, wanted->second.megabytes, 1e-6)
            << key;
        EXPECT_NEAR(ms(part.time_ns), wanted->second.ms, 1e-4) << key;
        std::map<int64_t, int64_t> counts;
        for (const auto& [size, count] : part.sizes) counts[size] = count.count;
        EXPECT_EQ(counts, wanted->second.counts) << key << recipes::TransportName(transport);
      }
      const double sent =
          traffic[std::pair(key, "RDMA")].megabytes + traffic[std::pair(key, "SDMA")].megabytes;
      EXPECT_NEAR(static_cast<double>(row.size_bytes) / 1e6, sent, 1e-6) << key;
    }
  }
  EXPECT_EQ(compared, expected.size());
}

// CommAnalyzerMatrix of analysis.db: traffic between two ranks. Links are those of the transfers,
// which a set without a timeline and without a database does not hold.
TEST_P(CommunicationMatrixOf, EqualsTheFile) {
  const Imported set(GetParam());
  if (!set.is_there()) GTEST_SKIP() << "needs data";
  const Rows expected = set.Table("CommAnalyzerMatrix");
  ASSERT_FALSE(expected.empty());
  std::map<std::string, recipes::MatrixCell> found;
  for (const auto& step : recipes::Communication(set.view())) {
    for (const auto& entry : recipes::CommunicationMatrix(set.view(), step)) {
      for (const auto& cell : entry.cells) {
        found[base::Concat(entry.name, "@", std::to_string(entry.group_hash), " ",
                           std::to_string(cell.link.src_rank), "-",
                           std::to_string(cell.link.dst_rank))] = cell;
      }
    }
  }
  for (const auto& row : expected) {
    const std::string key = base::Concat(Get(row, "hccl_op_name"), "@", Get(row, "group_name"), " ",
                                         Get(row, "src_rank"), "-", Get(row, "dst_rank"));
    const auto at = found.find(key);
    ASSERT_NE(at, found.end()) << key;
    const recipes::Link& link = at->second.link;
    EXPECT_EQ(recipes::TransportName(link.transport), Get(row, "transport_type")) << key;
    EXPECT_NEAR(static_cast<double>(link.size_bytes) / 1e6, Double(Get(row, "transit_size")), 1e-6)
        << key;
    EXPECT_NEAR(static_cast<double>(link.time_ns) / 1e6, Double(Get(row, "transit_time")), 1e-4)
        << key;
    EXPECT_EQ(at->second.op_name, Get(row, "op_name")) << key;
  }
  EXPECT_EQ(found.size(), expected.size());
}

constexpr char kDb0[] = "ascend_pt/db/level0/rank0_ascend_pt";
constexpr char kDb1[] = "ascend_pt/db/level1/rank0_ascend_pt";
constexpr char kDb1Rank1[] = "ascend_pt/db/level1/rank1_ascend_pt";
constexpr char kText0[] = "ascend_pt/text/level0/rank0_ascend_pt";
constexpr char kText0Rank1[] = "ascend_pt/text/level0/rank1_ascend_pt";
constexpr char kText1[] = "ascend_pt/text/level1/rank0_ascend_pt";
constexpr char kText1Rank1[] = "ascend_pt/text/level1/rank1_ascend_pt";
// No timeline; rank 1 has only the files of the whole job.
constexpr char kQwen[] = "ascend_pt/qwen3_tp1_pp2/rank_0_ascend_pt";
constexpr char kQwenRank1[] = "ascend_pt/qwen3_tp1_pp2/rank_1_ascend_pt";
constexpr char kQwenRank2[] = "ascend_pt/qwen3_tp1_pp2/rank_2_ascend_pt";

using ::testing::Values;
INSTANTIATE_TEST_SUITE_P(Real, KernelDetailsOf,
                         Values(kText0, kText1, kText1Rank1, kQwen, kQwenRank2));
INSTANTIATE_TEST_SUITE_P(Real, OpStatisticOf, Values(kText1, kText1Rank1, kQwen, kQwenRank2));
INSTANTIATE_TEST_SUITE_P(Real, ApiStatisticOf, Values(kText1, kText1Rank1));
INSTANTIATE_TEST_SUITE_P(Real, StepTraceOf, Values(kDb0, kDb1, kDb1Rank1));
INSTANTIATE_TEST_SUITE_P(Real, StepTraceTextOf,
                         Values(kText0, kText0Rank1, kText1, kText1Rank1, kQwen, kQwenRank2));
INSTANTIATE_TEST_SUITE_P(Real, OverlapOf, Values(kDb1));
INSTANTIATE_TEST_SUITE_P(Real, OverlapLayerOf, Values(kText0, kText0Rank1, kText1, kText1Rank1));
INSTANTIATE_TEST_SUITE_P(Real, LaneDepthOf, Values(kDb1));
INSTANTIATE_TEST_SUITE_P(Real, CommunicationOf,
                         Values(kDb1, kDb1Rank1, kQwen, kQwenRank1, kQwenRank2));
INSTANTIATE_TEST_SUITE_P(Real, CommunicationMatrixOf, Values(kDb1, kDb1Rank1));

}  // namespace
}  // namespace sonde::exporters
