// Two hand-made requests in four engine steps: the second request's prompt holds up the first.
#include "recipes/serving_summary/serving_summary.h"

#include <gtest/gtest.h>

#include "base/large_vector.h"
#include "store/result_sinks.h"

namespace sonde::recipes {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int32_t kFirst = 0;
constexpr int32_t kSecond = 1;
constexpr int32_t kLength = 2;
constexpr int32_t kAbort = 3;
constexpr int32_t kPrefill = 4;
constexpr int32_t kDecode = 5;

template <class Row>
void Add(store::RowTables& tables, std::initializer_list<Row> rows) {
  tables.Add(base::LargeVector<Row>(rows.begin(), rows.end()));
}

store::EngineStepRow Step(int64_t id, int64_t begin_ms, int64_t end_ms, int32_t prefills,
                          int32_t decodes) {
  store::EngineStepRow row;
  row.step_id = id;
  row.ts = begin_ms * kMs;
  row.dur = (end_ms - begin_ms) * kMs;
  row.prefill_requests = prefills;
  row.prefill_tokens = prefills * 100;
  row.decode_requests = row.decode_tokens = decodes;
  row.output_tokens = prefills + decodes;
  row.running_requests = prefills + decodes;
  return row;
}

store::RequestStepRow Part(int32_t request, int64_t step, int32_t phase, int64_t sent_ms) {
  store::RequestStepRow row;
  row.request_id = request;
  row.step_id = step;
  row.phase = phase;
  row.tokens = row.output_tokens = 1;
  row.sent_ts = row.output_ts = sent_ms * kMs;
  return row;
}

class ServingSummaryTest : public ::testing::Test {
 protected:
  // Steps: prompt 10..30, decode 30..40, prompt of the second with the first 40..140, decode of
  // both 140..150. Times in ms.
  void SetUp() override {
    Add<store::NameRow>(tables_, {{kFirst, "first"},
                                  {kSecond, "second"},
                                  {kLength, "length"},
                                  {kAbort, "abort"},
                                  {kPrefill, "prefill"},
                                  {kDecode, "decode"}});
    Add<store::EngineStepRow>(tables_, {Step(1, 10, 30, 1, 0), Step(2, 25, 40, 0, 1),
                                        Step(3, 40, 140, 1, 1), Step(4, 140, 150, 0, 2)});
    Add<store::RequestRow>(tables_, {Request(kFirst, 0, 150, 30, kLength, 10, 4),
                                     Request(kSecond, 20, 160, 140, kAbort, 40, 2)});
    Add<store::RequestStepRow>(
        tables_, {Part(0, 1, kPrefill, 30), Part(0, 2, kDecode, 40), Part(0, 3, kDecode, 140),
                  Part(0, 4, kDecode, 150), Part(1, 3, kPrefill, 140), Part(1, 4, kDecode, 150)});
  }

  static store::RequestRow Request(int32_t name, int64_t begin_ms, int64_t end_ms, int64_t first_ms,
                                   int32_t reason, int64_t scheduled_ms, int32_t tokens) {
    store::RequestRow row;
    row.request_id = name;
    row.name = name;
    row.ts = begin_ms * kMs;
    row.dur = (end_ms - begin_ms) * kMs;
    row.queued_ts = begin_ms * kMs;
    row.scheduled_ts = scheduled_ms * kMs;
    row.queue_ns = row.scheduled_ts - row.queued_ts;
    row.first_token_ts = first_ms * kMs;
    row.last_token_ts = 150 * kMs;
    row.ttft_ns = row.first_token_ts - row.ts;
    row.tpot_ns = (row.last_token_ts - row.first_token_ts) / (tokens - 1);
    row.prompt_tokens = 100;
    row.output_tokens = tokens;
    row.finish_reason = reason;
    row.is_whole = 1;
    return row;
  }

  store::RowTables tables_;
};

TEST_F(ServingSummaryTest, CountsAndRates) {
  const ServingSummary summary = SummariseServing(tables_);
  EXPECT_EQ(summary.whole_requests, 2);
  EXPECT_EQ(summary.failed_requests, 1);
  EXPECT_EQ(summary.duration_ns, 160 * kMs);
  EXPECT_EQ(summary.output_tokens, 6);
  EXPECT_EQ(summary.step_output_tokens, 6);
  EXPECT_DOUBLE_EQ(summary.PerSecond(summary.output_tokens), 37.5);
  // Steps give the speed even if no request is whole in the recording.
  EXPECT_EQ(summary.steps_duration_ns, 140 * kMs);
  EXPECT_DOUBLE_EQ(summary.StepTokensPerSecond(), 6 / 0.14);
  EXPECT_EQ(summary.max_running, 2);
}

TEST_F(ServingSummaryTest, LatenciesInterpolateLinearly) {
  const ServingSummary summary = SummariseServing(tables_);
  const Distribution& ttft = summary.latencies[0];
  EXPECT_EQ(ttft.name, "TTFT");
  EXPECT_DOUBLE_EQ(ttft.mean_ns, 75.0 * kMs);
  EXPECT_DOUBLE_EQ(ttft.p90_ns, 30.0 * kMs + 0.9 * 90.0 * kMs);
  const Distribution& itl = summary.latencies[2];  // 10, 100, 10 of the first, 10 of the second
  EXPECT_EQ(itl.count, 4);
  EXPECT_DOUBLE_EQ(itl.mean_ns, 32.5 * kMs);
  EXPECT_DOUBLE_EQ(itl.p50_ns, 10.0 * kMs);
}

// The third and fourth token of the first request leave in one piece.
TEST_F(ServingSummaryTest, TokensOfOnePieceHaveNoPauseBetweenThem) {
  store::RowTables tables;
  Add<store::RequestStepRow>(
      tables, {Part(0, 1, kPrefill, 30), Part(0, 2, kDecode, 40), Part(0, 3, kDecode, 150),
               Part(0, 4, kDecode, 150), Part(1, 3, kPrefill, 140), Part(1, 4, kDecode, 150)});
  const ServingSummary summary = SummariseServing(tables);
  const Distribution& itl = summary.latencies[2];  // 10 and 110, and 10 of the second
  EXPECT_EQ(itl.count, 3);
  EXPECT_DOUBLE_EQ(itl.p50_ns, 10.0 * kMs);
}

// Parts of incomplete requests in a session.
TEST_F(ServingSummaryTest, EveryRequestHasOneFate) {
  constexpr int32_t kDied = 2;
  constexpr int32_t kRefused = 3;
  store::RowTables tables;
  Add<store::NameRow>(tables, {{0, "a"}, {1, "length"}, {2, "engine died"}, {3, "refused: 400"}});
  store::EngineStepRow step = Step(1, 10, 30, 1, 0);
  step.drafted_tokens = 3;
  step.accepted_tokens = 1;
  Add<store::EngineStepRow>(tables, {step});
  store::RequestStepRow part = Part(0, 1, kDecode, 30);
  part.drafted_tokens = 3;
  Add<store::RequestStepRow>(tables, {part});
  store::RequestRow whole = Request(0, 0, 150, 30, 1, 10, 4);
  whole.loop_lag_ns = 79 * kMs;
  store::RequestRow cut = whole;
  cut.is_whole = 0;
  cut.finish_reason = kDied;
  store::RequestRow refused = cut;
  refused.finish_reason = kRefused;
  refused.ttft_ns = refused.queue_ns = -1;
  store::RequestRow open = cut;
  open.dur = open.finish_reason = -1;
  open.ttft_ns = 50 * kMs;
  store::RequestRow earlier = cut;
  earlier.finish_reason = 1;
  earlier.ttft_ns = -1;
  Add<store::RequestRow>(tables, {whole, cut, refused, open, earlier});
  const ServingSummary summary = SummariseServing(tables);
  EXPECT_EQ(summary.requests, 5);
  for (const int64_t count :
       {summary.whole_requests, summary.cut_requests, summary.refused_requests,
        summary.open_requests, summary.earlier_requests}) {
    EXPECT_EQ(count, 1);
  }
  EXPECT_EQ(summary.output_tokens, 4);
  EXPECT_EQ(summary.latencies[0].count, 2);  // of the whole one and of the one that goes on
  EXPECT_EQ(summary.latencies[3].count, 1);
  EXPECT_EQ(summary.latencies[5].name, "Loop lag");
  EXPECT_DOUBLE_EQ(summary.latencies[5].max_ns, 79.0 * kMs);
  EXPECT_DOUBLE_EQ(summary.AcceptanceLength(), 2);
}

TEST_F(ServingSummaryTest, BatchesByTheirContents) {
  const ServingSummary summary = SummariseServing(tables_);
  ASSERT_EQ(summary.batches.size(), 3U);
  EXPECT_EQ(summary.batches[1].name, "decode only");
  EXPECT_EQ(summary.batches[1].steps, 2);
  // The second step was prepared while the first ran: it has the engine from 30 to 40.
  EXPECT_DOUBLE_EQ(summary.batches[1].mean_ns, 10.0 * kMs);
  EXPECT_DOUBLE_EQ(summary.batches[2].mean_tokens, 101);
}

TEST_F(ServingSummaryTest, SlowestFirstAndPromptsOfOthersApart) {
  const ServingSummary summary = SummariseServing(tables_);
  ASSERT_EQ(summary.slowest.size(), 2U);
  const RequestTime& first = summary.times.requests.at(summary.slowest[0]);
  EXPECT_EQ(first.name, "first");
  EXPECT_EQ(first.client_ns, 150 * kMs);
  EXPECT_EQ(summary.interference.count, 2);
  EXPECT_GT(summary.interference.max_ns, 0);
}

TEST_F(ServingSummaryTest, NothingServedIsNoMistake) {
  const store::RowTables empty;
  EXPECT_FALSE(HasServing(empty));
  const ServingSummary summary = SummariseServing(empty);
  EXPECT_EQ(summary.requests, 0);
  store::TableSink table(kServingSummary);
  WriteServing(summary, table);
  EXPECT_GT(table.table().rows(), 10U);
}

}  // namespace
}  // namespace sonde::recipes
