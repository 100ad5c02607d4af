// Spans of requests whose path is known, and their JSON.
#include "exporters/otlp/otlp.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/host/json.h"
#include "base/large_vector.h"
#include "base/strings.h"
#include "base/test_folder.h"
#include "exporters/otlp/request_spans.h"
#include "exporters/otlp/trace_ids.h"
#include "recipes/serving_summary/serving_summary.h"

namespace sonde::exporters {
namespace {

using base::Concat;

constexpr std::string_view kTrace = "0af7651916cd43dd8448eb211c80319c";
constexpr std::string_view kClientSpan = "b7ad6b7169203331";
constexpr int64_t kOtlpMs = 1'000'000;
constexpr int64_t kEpoch = 1'700'000'000'000'000'000;

TEST(TraceIds, HeadersOfTheStandard) {
  const std::string header = Concat("00-", kTrace, "-", kClientSpan, "-01");
  const auto parent = ParseTraceParent(header);
  ASSERT_TRUE(parent.has_value());
  EXPECT_EQ(parent->trace_id, kTrace);
  EXPECT_EQ(parent->span_id, kClientSpan);
  EXPECT_EQ(parent->flags, 1);
  EXPECT_TRUE(ParseTraceParent(Concat("cc", header.substr(2), "-more")).has_value());
}

TEST(TraceIds, WhatTheStandardDoesNotTake) {
  const std::string header = Concat("00-", kTrace, "-", kClientSpan, "-01");
  const std::string no_trace = Concat("00-", std::string(32, '0'), "-", kClientSpan, "-01");
  const std::string no_span = Concat("00-", kTrace, "-", std::string(16, '0'), "-01");
  std::string upper = header;
  upper[3] = 'A';
  for (const std::string& text :
       {std::string(), header.substr(1), header.substr(0, 54), header + "-more", no_trace, no_span,
        upper, Concat("ff", header.substr(2)), Concat("cc", header.substr(2), ".more"),
        Concat("00_", header.substr(3))}) {
    EXPECT_FALSE(ParseTraceParent(text).has_value()) << text;
  }
}

TEST(TraceIds, MadeOnesStayTheSame) {
  EXPECT_EQ(MakeTraceId("server_1", "cmpl-1").size(), 32U);
  EXPECT_EQ(MakeTraceId("server_1", "cmpl-1"), MakeTraceId("server_1", "cmpl-1"));
  EXPECT_NE(MakeTraceId("server_1", "cmpl-1"), MakeTraceId("server_2", "cmpl-1"));
  const std::string id = MakeSpanId(kTrace, "server_1", 0, 0);
  EXPECT_EQ(id.size(), 16U);
  EXPECT_NE(id, MakeSpanId(kTrace, "server_1", 0, 1));
  EXPECT_NE(id, MakeSpanId(kTrace, "server_1", 1, 0));
}

// A request of a prefill of 20 ms and three decodes of 10 ms, whose client waited 5 ms before the
// application saw it; one that was refused, and one that has not ended.
class OtlpSession : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* name : {"chatcmpl-1", "refused 9 1", "prefill", "decode", "length",
                             "refused: 400", "{\"temperature\":0,\"n\":2}", "order\n66"}) {
      names_.push_back({static_cast<int32_t>(names_.size()), name});
    }
    names_.push_back({8, tables_->KeepText(Concat("00-", kTrace, "-", kClientSpan, "-01"))});
    AddServed();
    AddRefused();
    store::RequestRow open;
    open.request_id = 2;
    open.ts = kEpoch;
    open.dur = -1;
    requests_.push_back(open);
    metadata_.push_back({.process_id = 0, .key = "served_model", .value = "\"tiny\""});
    Fill(names_);
    Fill(requests_);
    Fill(steps_);
    Fill(parts_);
    Fill(metadata_);
  }

  void AddServed() {
    store::RequestRow row;
    row.request_id = 0;
    row.name = 0;
    row.ts = kEpoch;
    row.loop_lag_ns = 5 * kOtlpMs;
    row.tokenized_ts = kEpoch + kOtlpMs;
    row.queued_ts = kEpoch + 2 * kOtlpMs;
    row.scheduled_ts = kEpoch + 4 * kOtlpMs;
    row.finish_reason = 4;
    row.sampling = 6;
    row.x_request_id = 7;
    row.traceparent = 8;
    row.prompt_tokens = 10;
    row.output_tokens = 4;
    row.is_whole = 1;
    int64_t now = row.scheduled_ts;
    for (int i = 0; i < 4; ++i) now = AddStep(i, now);
    row.first_token_ts = kEpoch + 25 * kOtlpMs;
    row.last_token_ts = now + kOtlpMs;
    row.dur = now + 2 * kOtlpMs - row.ts;
    row.delivered_ts = row.ts + row.dur + 3 * kOtlpMs;  // its client reads slowly
    requests_.push_back(row);
  }

  // Its token is sent 1 ms after its end, in the next step.
  int64_t AddStep(int number, int64_t begin_ns) {
    store::EngineStepRow step;
    step.step_id = number;
    step.ts = begin_ns;
    step.dur = (number == 0 ? 20 : 10) * kOtlpMs;
    step.prefill_requests = number == 0 ? 1 : 0;
    step.prefill_tokens = number == 0 ? 10 : 0;
    step.decode_requests = step.decode_tokens = number == 0 ? 0 : 1;
    step.output_tokens = 1;
    steps_.push_back(step);
    store::RequestStepRow part;
    part.request_id = 0;
    part.step_id = number;
    part.phase = number == 0 ? 2 : 3;
    part.tokens = number == 0 ? 10 : 1;
    part.output_tokens = 1;
    part.output_ts = begin_ns + step.dur;
    part.sent_ts = part.output_ts + kOtlpMs;
    parts_.push_back(part);
    return part.output_ts;
  }

  void AddRefused() {
    store::RequestRow row;
    row.request_id = 1;
    row.name = 1;
    row.ts = kEpoch;
    row.dur = kOtlpMs;
    row.finish_reason = 5;
    requests_.push_back(row);
  }

  template <class Row>
  void Fill(const std::vector<Row>& rows) {
    tables_->Add(base::LargeVector<Row>(rows.begin(), rows.end()));
  }

  std::vector<Span> Spans(size_t request) {
    const recipes::RequestTimes times = recipes::ExplainRequests(*tables_);
    const auto served = recipes::ServedSession::Of(*tables_);
    return SpansOf({served, "server_1", "tiny"}, requests_[request],
                   request == 0 ? times.requests.data() : nullptr);
  }

  std::shared_ptr<store::RowTables> tables_ = std::make_shared<store::RowTables>();
  std::vector<store::NameRow> names_;
  std::vector<store::RequestRow> requests_;
  std::vector<store::EngineStepRow> steps_;
  std::vector<store::RequestStepRow> parts_;
  std::vector<store::MetadataRow> metadata_;
};

TEST_F(OtlpSession, ARequestIsPartOfItsClientsTrace) {
  const std::vector<Span> spans = Spans(0);
  EXPECT_EQ(spans[0].name, "chat tiny");
  EXPECT_EQ(spans[0].trace_id, kTrace);
  EXPECT_EQ(spans[0].parent_id, kClientSpan);
  EXPECT_EQ(spans[0].flags, 0x301U);
  EXPECT_EQ(spans[0].begin_ns, kEpoch - 5 * kOtlpMs);
  EXPECT_EQ(spans[0].end_ns, requests_[0].delivered_ts);
  EXPECT_TRUE(spans[0].error.empty());
  std::vector<std::string> names;
  int64_t at_ns = spans[0].begin_ns;
  for (size_t i = 1; i < spans.size(); ++i) {
    names.push_back(spans[i].name);
    EXPECT_EQ(spans[i].parent_id, spans[0].span_id);
    EXPECT_EQ(spans[i].trace_id, kTrace);
    EXPECT_EQ(spans[i].begin_ns, at_ns) << spans[i].name;
    at_ns = spans[i].end_ns;
  }
  EXPECT_EQ(at_ns, spans[0].end_ns);
  // Decoding and delivery of the tokens before the last one are one span.
  EXPECT_EQ(names, (std::vector<std::string>{"event_loop", "tokenizing", "hand_over", "queue",
                                             "prefill", "decode", "delivery"}));
}

TEST_F(OtlpSession, ARefusedRequestIsAnError) {
  const std::vector<Span> spans = Spans(1);
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(spans[0].error, "refused: 400");
  EXPECT_TRUE(spans[0].parent_id.empty());
  EXPECT_EQ(spans[0].flags, 0x100U);
}

TEST_F(OtlpSession, FileHasTheEncodingOfTheProtocol) {
  const base::TestFolder folder;
  recipes::TraceData data;
  data.tables = tables_;
  recipes::DeviceView view;
  view.data = &data;
  const recipes::ServingSummary summary = recipes::SummariseServing(*tables_);
  LeftOut left_out;
  const ExportContext context{.view = view,
                              .span_folder = folder.path(),
                              .output_folder = "",
                              .span_name = "server_1",
                              .left_out = &left_out,
                              .serving = &summary};
  ASSERT_TRUE(ExportOtlp(context).ok());
  const std::string path = folder.File(kOtlpFile);
  const std::string text = base::ReadFile(path).value();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  const auto document = base::JsonDocument::Parse(text, path);
  ASSERT_TRUE(document.ok()) << document.status().message();
  const auto spans = document->root()["resourceSpans"][0]["scopeSpans"][0]["spans"];
  EXPECT_EQ(spans.Size(), 9U);
  const auto first = spans[0];
  EXPECT_EQ(first["startTimeUnixNano"].AsString().value(), std::to_string(kEpoch - 5 * kOtlpMs));
  EXPECT_EQ(first["kind"].AsInt().value(), 2);
  EXPECT_EQ(spans[8]["status"]["code"].AsInt().value(), 2);
  EXPECT_NE(text.find(R"({"key":"gen_ai.usage.input_tokens","value":{"intValue":"10"}})"),
            std::string::npos);
  EXPECT_NE(text.find(R"({"key":"gen_ai.request.temperature","value":{"doubleValue":0)"),
            std::string::npos);
  EXPECT_NE(text.find(R"("arrayValue":{"values":[{"stringValue":"order\n66"}]})"),
            std::string::npos);
  ASSERT_EQ(left_out.Sentences().size(), 1U);
  EXPECT_NE(left_out.Sentences()[0].find("1 requests that had not ended"), std::string::npos);
  ASSERT_TRUE(ExportOtlp(context).ok());
  EXPECT_EQ(base::ReadFile(path).value(), text);
}

TEST_F(OtlpSession, IsMadeOfSessionsOnly) {
  const base::TestFolder folder;
  recipes::TraceData data;
  recipes::DeviceView view;
  view.data = &data;
  const ExportContext context{
      .view = view, .span_folder = folder.path(), .output_folder = "", .span_name = "rank"};
  EXPECT_FALSE(ExportOtlp(context).ok());
}

}  // namespace
}  // namespace sonde::exporters
