// Both rules against captures of real devices: the layer of trace_view.json against
// step_trace_time.csv, and the tables of the profiler database against analysis.db.
#include "recipes/step_trace/step_trace.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstdlib>
#include <map>
#include <string>

#include "base/files.h"
#include "base/host/json.h"
#include "base/strings.h"
#include "recipes/trace/device_view.h"

namespace sonde::recipes {
namespace {

std::string SharedData(const std::string& path) {
  const char* folder = std::getenv("SONDE_SHARED_DATA");
  return base::JoinPath(folder != nullptr ? folder : SONDE_SHARED_DATA_DEFAULT, path);
}

int64_t Ns(const std::string& microseconds) {
  return base::ParseMicrosecondsToNs(microseconds).value();
}

// Numbers of a database, in columns, by SQL.
std::vector<std::vector<double>> Rows(const std::string& path, const char* sql) {
  sqlite3* db = nullptr;
  const std::string uri = "file:" + path + "?immutable=1";
  EXPECT_EQ(sqlite3_open_v2(uri.c_str(), &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr), 0);
  sqlite3_stmt* statement = nullptr;
  EXPECT_EQ(sqlite3_prepare_v2(db, sql, -1, &statement, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
  std::vector<std::vector<double>> rows;
  while (sqlite3_step(statement) == SQLITE_ROW) {
    std::vector<double>& row = rows.emplace_back();
    for (int i = 0; i < sqlite3_column_count(statement); ++i) {
      row.push_back(static_cast<double>(sqlite3_column_int64(statement, i)));
    }
  }
  sqlite3_finalize(statement);
  sqlite3_close(db);
  return rows;
}

// Starts and ends: first two columns, exact as 64-bit integers.
std::vector<Interval> StepIntervals(const std::string& path, const char* sql) {
  sqlite3* db = nullptr;
  const std::string uri = "file:" + path + "?immutable=1";
  EXPECT_EQ(sqlite3_open_v2(uri.c_str(), &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr), 0);
  sqlite3_stmt* statement = nullptr;
  EXPECT_EQ(sqlite3_prepare_v2(db, sql, -1, &statement, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
  std::vector<Interval> intervals;
  while (sqlite3_step(statement) == SQLITE_ROW) {
    intervals.push_back({sqlite3_column_int64(statement, 0), sqlite3_column_int64(statement, 1)});
  }
  sqlite3_finalize(statement);
  sqlite3_close(db);
  return intervals;
}

std::vector<double> Values(const StepTraceRow& row) {
  const auto us = [](int64_t ns) { return static_cast<double>(ns) / 1000; };
  return {us(row.computing_ns),  us(row.not_overlapped_ns),
          us(row.overlapped_ns), us(row.communication_ns),
          us(row.free_ns),       us(row.stage_ns),
          us(row.bubble_ns),     us(row.not_overlapped_without_receive_ns),
          us(row.preparing_ns)};
}

class StepTraceDb : public ::testing::TestWithParam<std::string> {};

TEST_P(StepTraceDb, EqualsAnalysisDb) {
  const std::string folder =
      SharedData("ascend_pt/db/" + GetParam() + "_ascend_pt/ASCEND_PROFILER_OUTPUT");
  if (!base::IsDirectory(folder)) GTEST_SKIP() << "needs data: none at " << folder;
  const std::string db = folder + "/ascend_pytorch_profiler_" + GetParam().back() + ".db";
  const auto computing = StepIntervals(
      db, "SELECT startNs, endNs FROM TASK JOIN COMPUTE_TASK_INFO USING (globalTaskId) ORDER BY 1");
  const auto communication =
      StepIntervals(db, "SELECT startNs, endNs FROM COMMUNICATION_OP ORDER BY 1");
  const auto step = StepIntervals(db, "SELECT startNs, endNs FROM STEP_TIME");
  // Device work of this step ends after its host part; the capture has this step only.
  const std::vector<StepRange> steps{{50, step.at(0).start_ns, INT64_MAX, step.at(0).start_ns}};
  const auto rows = StepTraceFromTasks(
      {.computing = computing, .communication = communication, .receives = {}, .steps = steps});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].step_id, 50);
  const auto expected = Rows(
      folder + "/analysis.db",
      "SELECT round(computing*1000), round(communication_not_overlapped*1000), "
      "round(overlapped*1000), round(communication*1000), round(free*1000), round(stage*1000), "
      "round(bubble*1000), round(communication_not_overlapped_and_exclude_receive*1000), "
      "round(preparing*1000) FROM StepTraceTime");
  ASSERT_EQ(expected.size(), 1U);
  const std::vector<double> actual = Values(rows[0]);
  for (size_t i = 0; i < actual.size(); ++i) {
    EXPECT_DOUBLE_EQ(actual[i], expected[0][i] / 1000) << "column " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(RealCaptures, StepTraceDb,
                         ::testing::Values("level0/rank0", "level0/rank1", "level1/rank0",
                                           "level1/rank1"),
                         [](const auto& set) { return base::ReplaceAll(set.param, "/", "_"); });

class StepTraceText : public ::testing::TestWithParam<std::string> {};

TEST_P(StepTraceText, EqualsCsv) {
  const std::string folder =
      SharedData("ascend_pt/text/" + GetParam() + "_ascend_pt/ASCEND_PROFILER_OUTPUT");
  if (!base::IsDirectory(folder)) GTEST_SKIP() << "needs data: none at " << folder;
  const auto trace = base::JsonDocument::ReadFile(folder + "/trace_view.json");
  ASSERT_TRUE(trace.ok());
  Overlap overlap;
  const std::map<std::string, std::vector<Interval>*> layer{
      {"Computing", &overlap.computing},
      {"Communication", &overlap.communication},
      {"Communication(Not Overlapped)", &overlap.not_overlapped},
      {"Free", &overlap.free}};
  StepRange step{.step_id = 50, .start_ns = 0, .end_ns = INT64_MAX, .host_start_ns = 0};
  for (const base::JsonValue& event : trace->root().Elements()) {
    if (event["ph"].AsString().value() != "X") continue;
    const std::string name = event["name"].AsString().value();
    const int64_t start_ns = Ns(event["ts"].AsString().value());
    if (name == "ProfilerStep#50") step.start_ns = step.host_start_ns = start_ns;
    if (const auto found = layer.find(name); found != layer.end()) {
      found->second->push_back({start_ns, start_ns + Ns(event["dur"].Dump())});
    }
  }
  const auto rows = StepTraceFromTimeline(overlap, {}, std::vector<StepRange>{step}, 0);
  ASSERT_EQ(rows.size(), 1U);
  const std::string csv = base::ReadFile(folder + "/step_trace_time.csv").value();
  const auto lines = base::Split(base::Trim(csv), '\n');
  const auto cells = base::Split(base::Trim(lines.at(1)), ',');
  ASSERT_EQ(cells.at(0), "50");
  const std::vector<double> actual = Values(rows[0]);
  for (size_t i = 0; i < actual.size(); ++i) {
    // Sums of doubles in the peer; stage and preparing are quantised to 0.25 us there.
    const double tolerance = i == 5 || i == 8 ? 0.5 : 0.001;
    EXPECT_NEAR(actual[i], base::ParseDouble(cells.at(i + 1)).value(), tolerance) << "column " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(RealCaptures, StepTraceText,
                         ::testing::Values("level0/rank0", "level0/rank1", "level1/rank0",
                                           "level1/rank1"),
                         [](const auto& set) { return base::ReplaceAll(set.param, "/", "_"); });

TEST(StepTrace, StepsThatFollowEachOther) {
  const std::vector<Interval> computing{{0, 10}, {20, 30}, {100, 130}};
  const std::vector<Interval> communication{{5, 25}, {110, 140}};
  const std::vector<Interval> receives{{110, 115}};
  const std::vector<StepRange> steps{{7, 90, 200, 90}, {6, 0, 90, -5}, {8, 200, 300, 200}};
  const auto rows = StepTraceFromTasks({.computing = computing,
                                        .communication = communication,
                                        .receives = receives,
                                        .steps = steps});
  ASSERT_EQ(rows.size(), 2U) << "step 8 is empty";
  EXPECT_EQ(rows[0].step_id, 6);
  EXPECT_EQ(rows[0].computing_ns, 20);
  EXPECT_EQ(rows[0].communication_ns, 20);
  EXPECT_EQ(rows[0].not_overlapped_ns, 10);
  EXPECT_EQ(rows[0].overlapped_ns, 10);
  EXPECT_EQ(rows[0].free_ns, 0);
  EXPECT_EQ(rows[0].stage_ns, 30);
  EXPECT_EQ(rows[0].preparing_ns, 5);
  EXPECT_EQ(rows[1].step_id, 7);
  EXPECT_EQ(rows[1].bubble_ns, 5);
  EXPECT_EQ(rows[1].not_overlapped_without_receive_ns, 5);
  EXPECT_EQ(rows[1].stage_ns, 35);
  // No steps: one row, preparing from the first operator.
  const auto whole = StepTraceFromTasks({.computing = computing,
                                         .communication = communication,
                                         .receives = receives,
                                         .steps = {},
                                         .first_op_start_ns = -3});
  ASSERT_EQ(whole.size(), 1U);
  EXPECT_FALSE(whole[0].step_id.has_value());
  EXPECT_EQ(whole[0].preparing_ns, 3);
  EXPECT_TRUE(StepTraceFromTasks({}).empty());
}

// Two streams of one device; the second still works on step 1 when the first is in step 2.
TEST(StepTrace, StreamsOnDifferentStepsCountForTheirOwn) {
  TraceData data;
  data.names = {"stream", "gemm", "GPU"};
  const std::vector<store::ProcessRow> processes = {{.process_id = 0, .pid = 7}};
  const std::vector<store::TrackRow> tracks = {
      {.track_id = 0, .kind = 0, .process_id = 0, .device_id = 0, .stream_id = 7},
      {.track_id = 1, .kind = 0, .process_id = 0, .device_id = 0, .stream_id = 8}};
  const std::vector<store::TaskKindRow> kinds = {
      {.kind_id = 0, .name = 1, .op_type = 1, .core = 2, .task_type = 1}};
  const std::vector<store::DeviceTaskRow> tasks = {
      {.task_id = 0, .track_id = 0, .ts = 0, .dur = 10, .kind_id = 0, .step_id = 1},
      {.task_id = 1, .track_id = 0, .ts = 20, .dur = 10, .kind_id = 0, .step_id = 2},
      {.task_id = 2, .track_id = 1, .ts = 40, .dur = 5, .kind_id = 0, .step_id = 1},
      {.task_id = 3, .track_id = 0, .ts = 50, .dur = 7, .kind_id = 0, .step_id = 2}};
  const std::vector<store::StepRow> steps = {{.step_id = 1, .process_id = 0, .ts = 0, .dur = 15},
                                             {.step_id = 2, .process_id = 0, .ts = 15, .dur = 15}};
  data.processes = processes;
  data.tracks = tracks;
  data.kinds = kinds;
  data.tasks = tasks;
  data.steps = steps;
  data.last_ns = 100;
  const DeviceView view = DeviceView::Make(data);
  ASSERT_EQ(view.devices.size(), 1U);
  const std::vector<StepTraceRow>& rows = view.devices[0].steps;
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].computing_ns, 15);
  EXPECT_EQ(rows[0].stage_ns, 45);
  EXPECT_EQ(rows[1].computing_ns, 17) << "not what the other stream does for step 1";
  EXPECT_EQ(rows[1].preparing_ns, 5);
}

}  // namespace
}  // namespace sonde::recipes
