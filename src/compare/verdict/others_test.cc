// Requests of two servers, and memory alive at the peak of two traces.
#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "base/large_vector.h"
#include "compare/verdict/verdict.h"
#include "store/row_tables.h"

namespace sonde::compare {
namespace {

Side Server(double ttft_ms, double itl_ms) {
  Side side;
  ServingValues ttft{.measure = "TTFT", .unit = "ms", .values = {}};
  ServingValues itl{.measure = "ITL", .unit = "ms", .values = {}};
  for (int i = 0; i < 40; ++i) ttft.values.push_back(ttft_ms + i % 4);
  // Slow and fast halves of the recording: pauses of one moment are alike.
  for (int i = 0; i < 4000; ++i) itl.values.push_back(itl_ms + (i < 2000 ? 0.0 : 2.0));
  side.serving = {ttft, itl};
  return side;
}

TEST(RequestsTest, ChangesAreDistinguishedFromNoise) {
  const auto same = CompareRequests(Server(100, 10), Server(100, 10));
  ASSERT_EQ(same.size(), 2U);
  EXPECT_EQ(same[0].verdict, Verdict::kUnchanged);
  ASSERT_EQ(same[0].percentiles[0].size(), kPercentiles);
  EXPECT_EQ(same[0].percentiles[0].front(), 100);
  EXPECT_EQ(same[0].percentiles[0][50], 101.5);
  EXPECT_EQ(same[0].percentiles[0].back(), 103);
  const auto slower = CompareRequests(Server(100, 10), Server(120, 10.2));
  EXPECT_EQ(slower[0].verdict, Verdict::kChanged);
  EXPECT_DOUBLE_EQ(slower[0].Diff(), 20);
  EXPECT_EQ(slower[1].verdict, Verdict::kTooNoisy)
      << "4000 pauses of two moments are no 4000 samples";
  EXPECT_EQ(slower[1].count[1], 4000);
}

TEST(RequestsTest, AnotherBatchIsReportedBeforeItsTimes) {
  Judgement judgement;
  judgement.stages = {JudgeStage("step", {20, 20.1, 19.9, 20}, {12, 12.1, 11.9, 12})};
  judgement.requests = {{.measure = "E2E",
                         .unit = "ms",
                         .count = {40, 40},
                         .mean = {1000, 1800},
                         .percentiles = {},
                         .verdict = Verdict::kChanged},
                        {.measure = "batch",
                         .unit = "requests",
                         .count = {70, 240},
                         .mean = {13, 4},
                         .percentiles = {},
                         .verdict = Verdict::kChanged}};
  const std::string sentences = SentencesOf(judgement);
  EXPECT_TRUE(sentences.starts_with("a step holds 4.0 requests at a time, 13.0 in the base"))
      << sentences;
  EXPECT_LT(sentences.find("requests, E2E: 1800.000 ms"), sentences.find("a step takes 12.000 ms"));
  judgement.requests[1].mean[1] = 12;
  EXPECT_FALSE(SentencesOf(judgement).starts_with("a step holds"));
}

// 200 requests of 100 ms and a queue of some ms; the last `late` of them wait for the event loop.
Side ServerWithParts(int late) {
  Side side;
  for (const char* name : {"part event_loop", "part queue", "part decode"}) {
    side.serving.push_back({.measure = name, .unit = "ms", .values = {}});
  }
  for (int i = 0; i < 200; ++i) {
    side.serving[0].values.push_back(i >= 200 - late ? 1500 : 0);
    side.serving[1].values.push_back(i % 5);
    side.serving[2].values.push_back(100);
  }
  return side;
}

TEST(RequestsTest, AChangeOfP99IsExplainedByTheParts) {
  const TailChange change = CompareTails(ServerWithParts(0), ServerWithParts(4));
  EXPECT_TRUE(change.is_change);
  EXPECT_NEAR(change.p99_ms[0], 104, 0.1);
  EXPECT_GT(change.p99_ms[1], 1600);
  ASSERT_EQ(change.parts_ms.size(), 3U);
  EXPECT_EQ(change.parts_ms[0].first, "event_loop");
  EXPECT_EQ(change.parts_ms[0].second, 1500);
  EXPECT_FALSE(CompareTails(ServerWithParts(4), ServerWithParts(4)).is_change);
  EXPECT_FALSE(CompareTails(ServerWithParts(0), Side()).is_change);
  Judgement judgement;
  judgement.stages = {JudgeStage("step", {20, 20.1, 19.9, 20}, {20, 20.1, 19.9, 20})};
  judgement.requests = {{.measure = "E2E", .unit = "ms", .percentiles = {}}};
  judgement.tail = change;
  const std::string sentences = SentencesOf(judgement);
  EXPECT_TRUE(
      sentences.starts_with("P99 of the requests' time is 1602.0 ms, 104.0 ms in the base: "
                            "event loop +1500.0 ms\n"))
      << sentences;
  // Faster again: by what it was slower before.
  judgement.tail = CompareTails(ServerWithParts(4), ServerWithParts(0));
  EXPECT_NE(SentencesOf(judgement).find("event loop -1500.0 ms\n"), std::string::npos);
}

TEST(RequestsTest, OnlyRequestsOfBothSides) {
  Side other = Server(1, 1);
  other.serving.pop_back();
  EXPECT_EQ(CompareRequests(Server(1, 1), other).size(), 1U);
  EXPECT_TRUE(CompareRequests(Server(1, 1), Side()).empty());
  EXPECT_TRUE(Side().IsEmpty());
  EXPECT_FALSE(other.IsEmpty());
}

template <class Row>
void Add(store::RowTables& tables, std::initializer_list<Row> rows) {
  tables.Add(base::LargeVector<Row>(rows.begin(), rows.end()));
}

// Of a request that is cut only what it has been through counts.
TEST(RequestsTest, ASessionGivesTimesOfItsRequests) {
  store::RequestRow whole;
  whole.dur = 50'000'000;
  whole.ttft_ns = 7'000'000;
  whole.tpot_ns = 2'000'000;
  whole.is_whole = 1;
  store::RequestRow open;
  open.dur = -1;
  open.ttft_ns = 9'000'000;
  store::EngineStepRow step;
  step.dur = 3'000'000;
  step.prefill_requests = 1;
  step.decode_requests = 4;
  auto tables = std::make_shared<store::RowTables>();
  Add<store::NameRow>(*tables, {{0, "length"}});
  Add<store::RequestRow>(*tables, {whole, open});
  Add<store::EngineStepRow>(*tables, {step});
  recipes::TraceData data;
  data.tables = tables;
  Side side;
  TakeServing(data, side);
  std::map<std::string_view, std::vector<double>> values;
  for (const ServingValues& one : side.serving) values[one.measure] = one.values;
  EXPECT_EQ(values["TTFT"], (std::vector<double>{7, 9}));
  EXPECT_EQ(values["TPOT"], std::vector<double>{2});
  EXPECT_EQ(values["E2E"], std::vector<double>{50});
  EXPECT_EQ(values["engine step"], std::vector<double>{3});
  EXPECT_EQ(values["batch"], std::vector<double>{5});
  EXPECT_FALSE(values.contains("queue"));
  // Parts are of the whole request alone, and add up.
  double parts_ms = 0;
  for (const auto& [measure, list] : values) {
    if (!measure.starts_with("part ")) continue;
    ASSERT_EQ(list.size(), 1U) << measure;
    parts_ms += list[0];
  }
  EXPECT_DOUBLE_EQ(parts_ms, 50);
}

// An operator keeps a block all the time, another one has one that is freed and asked for again.
Side Allocating(int64_t kept_bytes) {
  Side side;
  side.names = {"aten::linear", "aten::relu"};
  Op linear;
  linear.name = 0;
  Op relu;
  relu.name = 1;
  side.ops = {linear, relu};
  side.blocks = {{.op = 0, .size_bytes = kept_bytes, .alloc_ns = 1},
                 {.op = 1, .size_bytes = 500, .alloc_ns = 2, .free_ns = 5},
                 {.op = 1, .size_bytes = 500, .alloc_ns = 5, .free_ns = 9},
                 {.op = kNone, .size_bytes = 100, .alloc_ns = 9}};
  return side;
}

TEST(PeaksTest, OwnersAtThePeaksAreJoined) {
  const auto rows = ComparePeaks(Allocating(1000), Allocating(1600));
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].owner, "");
  EXPECT_EQ(rows[0].bytes[0], 1500) << "the block that is freed at a moment makes room for another";
  EXPECT_EQ(rows[0].bytes[1], 2100);
  EXPECT_EQ(rows[1].owner, "aten::linear");
  EXPECT_EQ(rows[1].DiffBytes(), 600);
  EXPECT_EQ(rows[2].blocks[0], 1);
  EXPECT_TRUE(ComparePeaks(Allocating(1), Side()).empty());
  Side queued = Allocating(1000);
  queued.names.emplace_back("cann::add");
  queued.blocks_without_call = {{.owner = 2, .size_bytes = 50, .alloc_ns = 3}};
  const auto more = ComparePeaks(Allocating(1000), queued);
  EXPECT_EQ(more[0].DiffBytes(), 50) << "memory of which no call is known is memory";
  EXPECT_EQ(more[1].owner, "cann::add");
}

// Calls of ten steps of a millisecond: `launches` of 10 us each, and one wait.
Side Calling(int launches, int64_t wait_ns) {
  constexpr int64_t kStep = 1'000'000;
  Side side;
  side.names = {"cudaLaunchKernel", "cudaStreamSynchronize", "cudaMalloc"};
  for (int64_t step = 0; step < 10; ++step) {
    const int64_t begin = step * kStep;
    side.steps.push_back({.step_id = step, .begin_ns = begin, .end_ns = begin + kStep - 1});
    for (int i = 0; i < launches; ++i) {
      const int64_t at = begin + i * 20'000;
      side.calls.push_back({.name = 0, .begin_ns = at, .end_ns = at + 10'000 + step});
    }
    side.calls.push_back(
        {.name = 1, .begin_ns = begin + 900'000, .end_ns = begin + 900'000 + wait_ns + step});
  }
  return side;
}

TEST(CallsTest, CallsOfAStepAreJoinedByName) {
  Side more = Calling(6, 50'000);
  more.calls.push_back({.name = 2, .begin_ns = 10'000'000, .end_ns = 10'000'500});  // in no step
  const Side usual = Calling(4, 50'000);
  const auto rows = CompareCalls(usual, usual.steps, more, more.steps);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].name, "cudaLaunchKernel");
  EXPECT_EQ(rows[0].calls[0], 4);
  EXPECT_EQ(rows[0].calls[1], 6);
  EXPECT_NEAR(rows[0].DiffMs(), 0.02, 1e-4);
  EXPECT_EQ(rows[0].verdict, Verdict::kChanged);
  EXPECT_EQ(rows[1].name, "cudaStreamSynchronize");
  EXPECT_EQ(rows[1].verdict, Verdict::kUnchanged);
}

TEST(CallsTest, CallsThatASideLacksTakeNoTimeThere) {
  const Side usual = Calling(4, 50'000);
  Side silent = Calling(0, 0);
  silent.calls.clear();
  const auto rows = CompareCalls(usual, usual.steps, silent, silent.steps);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].calls[1], 0);
  EXPECT_LT(rows[0].high_ms, 0);
  EXPECT_TRUE(CompareCalls(silent, silent.steps, silent, silent.steps).empty());
}

}  // namespace
}  // namespace sonde::compare
