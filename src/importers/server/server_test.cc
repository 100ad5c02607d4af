// A session of three processes: front-end, engine and one rank, whose numbers are known.
#include "importers/server/server.h"

#include <gtest/gtest.h>

#include <bit>
#include <memory>
#include <optional>
#include <vector>

#include "base/files.h"
#include "base/strings.h"
#include "base/test_folder.h"
#include "importers/capture/testing/capture_builder.h"
#include "importers/import_trace.h"
#include "importers/server/request_slices.h"

namespace sonde::importers {
namespace {

using capture::RecordKind;
using testing::ArgsBuilder;
using testing::CaptureBuilder;

constexpr int64_t kEpochNs = 1'700'000'000'000'000'000;  // tick t is 1 ns later
constexpr uint8_t kDomain = 1;
constexpr uint64_t kRequest = 12345;
constexpr const char* kTraceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
constexpr uint64_t kStep = (uint64_t{1} << 40U) | 7;  // step 7 of engine 0

class Process {
 public:
  Process() {
    capture_.Domain(kDomain, "sonde.serving");
    capture_.Thread(1, 100, 0, "loop");
  }
  void Range(const char* name, uint64_t begin, uint64_t end) {
    capture_.Add(1, {.kind = RecordKind::kRange,
                     .begin = begin,
                     .end = end,
                     .name = capture_.Name(name),
                     .domain = kDomain});
  }
  void Flow(RecordKind kind, uint64_t ticks, const char* name, uint64_t key) {
    capture_.AddInstant(1, kind, ticks, capture_.Name(name), key);
  }
  void Span(uint64_t begin, uint64_t end, const char* name, uint64_t id) {
    capture::Record record{};
    record.ticks = begin;
    record.dur_kind = capture::PackDurKind(0, RecordKind::kSpanBegin, kDomain);
    record.name = capture_.Name(name);
    record.link = static_cast<uint32_t>(id);
    record.sequence = 0;
    capture_.Add(1, record);
    record.ticks = end;
    record.dur_kind = capture::PackDurKind(0, RecordKind::kSpanEnd, 0);
    record.name = 0;
    capture_.Add(1, record);
  }
  void Mark(uint64_t ticks, const char* name, const ArgsBuilder& args) {
    capture::Record record{};
    record.ticks = ticks;
    record.dur_kind = capture::PackDurKind(0, RecordKind::kMark, kDomain);
    record.name = capture_.Name(name);
    record.args = capture_.Args(args);
    record.sequence = -1;
    capture_.Add(1, record);
  }
  void Counter(uint64_t ticks, const char* name, double value) {
    capture_.AddInstant(1, RecordKind::kCounter, ticks, capture_.Name(name),
                        std::bit_cast<uint64_t>(value));
  }
  uint32_t Name(const char* text) { return capture_.Name(text); }
  // `late_ns`: by how much the time of day was set forward before this process read it.
  void Write(const std::string& folder, int64_t late_ns = 0) {
    capture_.Flush(1);
    capture_.Metadata("boot_id", "\"b1\"");
    capture_.ClockSample(0, 0, kEpochNs + late_ns);
    capture_.ClockSample(1'000'000, 1'000'000, kEpochNs + late_ns + 1'000'000);
    capture_.End(capture::StopReason::kStopped, 0);
    ASSERT_TRUE(base::MakeDirectories(folder).ok());
    ASSERT_TRUE(capture_.Write(folder).ok());
  }
  CaptureBuilder& capture() { return capture_; }

 private:
  CaptureBuilder capture_{kEpochNs};
};

class ServerSession : public ::testing::Test {
 protected:
  // One request of 9 prompt tokens and one token of output in one step.
  void SetUp() override {
    session_ = folder_.File("server_1_2_3");
    ASSERT_TRUE(base::MakeDirectories(session_).ok());
    ASSERT_TRUE(base::WriteFileAtomically(session_ + "/session.sonde_server", "x\n").ok());
    WriteFrontEnd();
    WriteEngine();
    WriteRank();
    ASSERT_TRUE(
        base::WriteFileAtomically(session_ + "/rank0.capture", "../rank0_9_ascend_pt\n").ok());
  }

  void WriteFrontEnd() {
    Process api;
    api.Span(1'000, 90'000, "request", 5);
    api.Mark(2'000, "request arrived",
             ArgsBuilder()
                 .Text(api.Name("request"), "cmpl-1")
                 .Int(api.Name("key"), kRequest)
                 .Int(api.Name("age_ns"), 1'000)
                 .Int(api.Name("prompt_tokens"), 9)
                 .Int(api.Name("loop_lag_ns"), 700)
                 .Int(api.Name("max_tokens"), 16)
                 .Double(api.Name("temperature"), 0.5)
                 .Int(api.Name("seed"), 3)
                 .Text(api.Name("lora"), "fine")
                 .Text(api.Name("traceparent"), kTraceparent)
                 .Text(api.Name("x-request-id"), "order 66")
                 .Int(api.Name("range"), 5));
    api.Flow(RecordKind::kFlowIn, 60'500, "sonde.token 1", kRequest);
    api.Range("output", 60'000, 61'000);
    api.Mark(61'500, "request ended",
             ArgsBuilder().Int(api.Name("key"), kRequest).Text(api.Name("reason"), "length"));
    api.Flow(RecordKind::kFlowIn, 70'500, "sonde.sent", kRequest);
    api.Range("send", 70'000, 71'000);
    api.Flow(RecordKind::kFlowIn, 89'500, "sonde.answered", kRequest);
    api.Range("answered", 89'000, 89'800);
    api.Flow(RecordKind::kFlowIn, 96'500, "sonde.delivered", kRequest);
    api.Range("delivered", 96'000, 97'000);
    api.Write(session_ + "/api_1");
  }

  void WriteEngine() {
    Process engine;
    engine.Mark(5'000, "request queued",
                ArgsBuilder()
                    .Text(engine.Name("request"), "cmpl-1")
                    .Int(engine.Name("key"), kRequest)
                    .Int(engine.Name("age_ns"), 3'100)
                    .Int(engine.Name("queued"), 1)
                    .Int(engine.Name("prompt_tokens"), 9)
                    .Int(engine.Name("max_tokens"), 15)
                    .Text(engine.Name("traceparent"), kTraceparent)
                    .Int(engine.Name("output_tokens"), 0));
    engine.Flow(RecordKind::kFlowOut, 11'000, "sonde.step", kStep);
    engine.Flow(RecordKind::kFlowIn, 11'100, "sonde.prefill 9", kRequest);
    engine.Flow(RecordKind::kFlowIn, 11'200, "sonde.cached 4", kRequest);
    engine.Span(11'300, 51'000, "engine step", 6);
    engine.Counter(11'400, "running requests", 1);
    engine.Counter(11'500, "KV cache use", 0.25);
    engine.Range("schedule", 10'000, 12'000);
    engine.Flow(RecordKind::kFlowIn, 45'100, "sonde.update", kStep);
    engine.Mark(46'000, "request finished",
                ArgsBuilder()
                    .Int(engine.Name("key"), kRequest)
                    .Text(engine.Name("reason"), "length")
                    .Int(engine.Name("preemptions"), 0));
    engine.Flow(RecordKind::kFlowIn, 48'000, "sonde.output 1", kRequest);
    engine.Range("update", 45'000, 50'000);
    engine.Write(session_ + "/engine0_1");
  }

  void WriteRank(int64_t late_ns = 0) {
    Process rank;
    rank.capture().Metadata("rank", "0");
    rank.Flow(RecordKind::kFlowIn, 20'100, "sonde.step", kStep);
    rank.capture().Add(1, {.kind = RecordKind::kStep,
                           .begin = 20'000,
                           .end = 40'000,
                           .name = rank.Name("ProfilerStep#7"),
                           .sequence = 7});
    rank.Write(folder_.File("rank0_9_ascend_pt"), late_ns);
  }

  std::unique_ptr<store::Store> Import() {
    auto imported = ImportTrace({session_, FindImporter(session_)}, folder_.File("t.duckdb"), {});
    EXPECT_TRUE(imported.ok()) << imported.status().message();
    return imported.ok() ? std::move(imported->store) : nullptr;
  }
  static int64_t Number(const store::Store& store, const std::string& sql) {
    const auto result = store.Query(sql);
    EXPECT_TRUE(result.ok()) << result.status().message();
    return result.ok() && result->rows() == 1 && !result->IsNull(0, 0) ? result->Int(0, 0) : -99;
  }

  base::TestFolder folder_;
  std::string session_;
};

TEST_F(ServerSession, RequestHasTheMomentsOfAllProcesses) {
  const auto store = Import();
  ASSERT_NE(store, nullptr);
  const auto after = [&](const char* moment) {
    return Number(*store, std::string("SELECT ") + moment + " FROM request") - kEpochNs;
  };
  EXPECT_EQ(after("ts"), 1'000);
  EXPECT_EQ(after("tokenized_ts"), 2'000);
  EXPECT_EQ(after("queued_ts"), 5'000);
  EXPECT_EQ(after("scheduled_ts"), 10'000);
  EXPECT_EQ(after("first_token_ts"), 70'500);  // when it was sent
  EXPECT_EQ(after("delivered_ts"), 96'500);
  EXPECT_EQ(Number(*store, "SELECT dur FROM request"), 88'500);
  EXPECT_EQ(Number(*store, "SELECT is_whole + prompt_tokens + cached_tokens FROM request"), 14);
  EXPECT_EQ(Number(*store,
                   "SELECT count(*) FROM request WHERE name = 'cmpl-1' AND "
                   "finish_reason = 'length'"),
            1);
}

TEST_F(ServerSession, StepHasItsBatchAndItsRanks) {
  const auto store = Import();
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(Number(*store, "SELECT step_id FROM engine_step"), 7);
  EXPECT_EQ(Number(*store, "SELECT dur FROM engine_step"), 41'000);
  EXPECT_EQ(Number(*store, "SELECT schedule_ns + update_ns FROM engine_step"), 7'000);
  EXPECT_EQ(Number(*store,
                   "SELECT prefill_requests * 1000 + prefill_tokens * 100 + output_tokens "
                   "* 10 + finished_requests FROM engine_step"),
            1'911);
  EXPECT_EQ(Number(*store,
                   "SELECT count(*) FROM engine_step WHERE kv_cache_usage = 0.25 AND "
                   "running_requests = 1 AND prefix_hit_tokens = 4"),
            1);
  EXPECT_EQ(Number(*store,
                   "SELECT count(*) FROM request_step WHERE phase = 'prefill' AND tokens = "
                   "9 AND sent_ts - output_ts = 22500"),
            1);
  EXPECT_EQ(
      Number(*store,
             "SELECT count(*) FROM engine_step e JOIN flow f ON f.slice_out = e.slice_id JOIN "
             "step s ON s.slice_id = f.slice_in WHERE f.kind = 'engine_step' AND s.rank = 0"),
      1);
  EXPECT_EQ(Number(*store,
                   "SELECT count(*) FROM request r JOIN flow f ON f.slice_out = r.slice_id JOIN "
                   "engine_step e ON e.slice_id = f.slice_in WHERE f.kind = 'request'"),
            1);
  EXPECT_EQ(Number(*store, "SELECT count(*) FROM process"), 3);
}

// A program with an engine, or several front-ends: the engine alone records requests.
TEST_F(ServerSession, WithoutAFrontEndFlowsLeaveTheTrack) {
  ASSERT_TRUE(base::RemoveTree(session_ + "/api_1").ok());
  const auto store = Import();
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(Number(*store,
                   "SELECT count(*) FROM flow f JOIN slice s ON s.slice_id = f.slice_out JOIN "
                   "track t USING (track_id) JOIN engine_step e ON e.slice_id = f.slice_in WHERE "
                   "f.kind = 'request' AND t.name = 'Requests' AND s.name = 'cmpl-1'"),
            1);
  EXPECT_EQ(Number(*store, "SELECT count(*) - count(DISTINCT flow_id) FROM flow"), 0);
}

TEST_F(ServerSession, WithoutAFrontEndTheEngineKnowsTheSettings) {
  const auto with = Import();
  ASSERT_NE(with, nullptr);
  EXPECT_EQ(Number(*with, "SELECT max_tokens FROM request"), 16);
  ASSERT_TRUE(base::RemoveTree(session_ + "/api_1").ok());
  const auto store = Import();
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(Number(*store, "SELECT max_tokens FROM request"), 15);
  EXPECT_EQ(Number(*store, base::Concat("SELECT count(*) FROM request WHERE is_whole = 1 AND "
                                        "traceparent = '",
                                        kTraceparent, "'")),
            1);
}

TEST_F(ServerSession, RequestIsATrackWithItsPhases) {
  const auto store = Import();
  ASSERT_NE(store, nullptr);
  const std::string slices =
      " FROM slice s JOIN track t USING (track_id) JOIN request r ON true WHERE t.name = "
      "'Requests' AND t.process_id = 0 AND ";
  EXPECT_EQ(Number(*store, "SELECT count(*)" + slices +
                               "s.name = r.name AND s.depth = 0 AND s.ts = r.ts AND s.dur = r.dur"),
            1);
  // One token: there is nothing to decode after the prefill.
  const auto duration = [&](const std::string& name) {
    return Number(*store, "SELECT s.dur" + slices + "s.depth = 1 AND s.name = '" + name + "'");
  };
  EXPECT_EQ(duration("tokenize"), 1'000);
  EXPECT_EQ(duration("queue"), 5'000);
  EXPECT_EQ(duration("prefill"), 60'500);
  EXPECT_EQ(duration("decode"), -99);
  EXPECT_EQ(Number(*store,
                   "SELECT count(*) FROM slice s JOIN slice p ON p.slice_id = s.parent_id "
                   "WHERE s.name = 'queue' AND p.name = 'cmpl-1'"),
            1);
  EXPECT_EQ(Number(*store, "SELECT count(*) - count(DISTINCT slice_id) FROM slice"), 0);
}

TEST_F(ServerSession, RequestHasItsSamplingAndItsPreviousTokens) {
  const auto store = Import();
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(Number(*store,
                   "SELECT count(*) FROM request WHERE loop_lag_ns = 700 AND max_tokens = 16 AND "
                   "lora = 'fine' AND sampling = '{\"temperature\":0.5,\"seed\":3}' AND "
                   "x_request_id = 'order 66' AND "
                   "drafted_tokens IS NULL AND accepted_tokens IS NULL"),
            1);
  EXPECT_EQ(Number(*store, std::string("SELECT count(*) FROM request WHERE traceparent = '") +
                               kTraceparent + "'"),
            1);
  EXPECT_EQ(Number(*store,
                   "SELECT count(*) FROM metadata WHERE key = 'recording_begin_ns' AND value = '" +
                       std::to_string(kEpochNs) + "'"),
            3);
}

// A request of before: the engine is recorded from its fifth token, the front-end from its seventh,
// one that was on its way when the front-end's recording began.
class BegunBefore : public ServerSession {
 protected:
  static constexpr uint64_t kLate = 777;
  void SetUp() override {
    ServerSession::SetUp();
    for (const char* name : {"/api_1", "/engine0_1"}) {
      ASSERT_TRUE(base::RemoveTree(session_ + name).ok());
    }
    WriteLateEngine();
  }

  // Outputs at 110, 210, 310, 410, 510 us; the second step has three drafts, of which one is right.
  void WriteLateEngine() {
    Process engine;
    engine.Mark(5'000, "request queued",
                ArgsBuilder()
                    .Text(engine.Name("request"), "late")
                    .Int(engine.Name("key"), kLate)
                    .Int(engine.Name("age_ns"), 3'000)
                    .Int(engine.Name("queued"), 0)
                    .Int(engine.Name("prompt_tokens"), 9)
                    .Int(engine.Name("output_tokens"), 4));
    for (uint64_t i = 0; i < 5; ++i) {
      const uint64_t begin = 10'000 + i * 100'000;
      engine.Flow(RecordKind::kFlowOut, begin + 1'000, "sonde.step", kStep + i);
      engine.Flow(RecordKind::kFlowIn, begin + 1'100, "sonde.decode 1", kLate);
      engine.Span(begin + 1'300, begin + 98'000, "engine step", 6 + i);
      engine.Range("schedule", begin, begin + 2'000);
      engine.Flow(RecordKind::kFlowIn, begin + 90'100, "sonde.update", kStep + i);
      if (i == 1) engine.Flow(RecordKind::kFlowIn, begin + 90'200, "sonde.drafted 3", kLate);
      const char* output = i == 1 ? "sonde.output 2" : "sonde.output 1";
      engine.Flow(RecordKind::kFlowIn, begin + 91'000, output, kLate);
      engine.Range("update", begin + 90'000, begin + 97'000);
    }
    engine.Write(session_ + "/engine0_1");
  }

  // Tokens of the third output on; `before`: those that it had; none: unknown.
  void WriteLateFrontEnd(std::optional<int64_t> before) {
    Process api;
    if (before) {
      api.Mark(304'000, "request known",
               ArgsBuilder().Int(api.Name("key"), kLate).Int(api.Name("output_tokens"), *before));
    }
    for (uint64_t i = 2; i < 5; ++i) {
      const uint64_t seen = 10'000 + i * 100'000 + 95'000;
      api.Flow(RecordKind::kFlowIn, seen, "sonde.token 1", kLate);
      api.Range("output", seen - 500, seen + 500);
    }
    api.Write(session_ + "/api_1");
  }
};

TEST_F(BegunBefore, TokensAreThoseOfTheirStepThoughTheFrontEndIsRecordedLater) {
  WriteLateFrontEnd(7);
  const auto store = Import();
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(Number(*store,
                   "SELECT count(*) FROM request_step WHERE sent_ts - output_ts = 4000 AND "
                   "step_id >= 9"),
            3);
  EXPECT_EQ(Number(*store, "SELECT count(*) FROM request_step WHERE sent_ts IS NULL"), 2);
}

// Its recording began before its first range, and then all that the engine gave out was seen.
TEST_F(BegunBefore, WithoutThatTheBeginOfItsRecordingCounts) {
  WriteLateFrontEnd(-1);
  const auto store = Import();
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(Number(*store, "SELECT count(*) FROM request_step WHERE sent_ts IS NULL"), 2);
  EXPECT_EQ(Number(*store, "SELECT min(step_id) FROM request_step WHERE sent_ts IS NOT NULL"), 7);
}

TEST_F(BegunBefore, DraftedTokensAreRecorded) {
  const auto store = Import();
  ASSERT_NE(store, nullptr);
  for (const char* of : {"request", "engine_step WHERE step_id = 8"}) {
    EXPECT_EQ(
        Number(*store, std::string("SELECT drafted_tokens * 10 + accepted_tokens FROM ") + of), 31);
  }
  EXPECT_EQ(Number(*store, "SELECT sum(drafted_tokens) FROM request_step"), 3);
}

// The engine is killed after a token; the client learns of it much later.
TEST_F(ServerSession, RequestsThatAreCutAreNotWhole) {
  for (const char* name : {"/api_1", "/engine0_1"}) {
    ASSERT_TRUE(base::RemoveTree(session_ + name).ok());
  }
  Process api;
  api.Mark(2'000, "request arrived",
           ArgsBuilder()
               .Text(api.Name("request"), "cut")
               .Int(api.Name("key"), kRequest)
               .Int(api.Name("age_ns"), 1'000));
  api.Flow(RecordKind::kFlowIn, 60'500, "sonde.token 1", kRequest);
  api.Range("output", 60'000, 61'000);
  api.Mark(70'000, "request ended",
           ArgsBuilder().Int(api.Name("key"), kRequest).Text(api.Name("reason"), "engine died"));
  api.Flow(RecordKind::kFlowIn, 950'500, "sonde.answered", kRequest);
  api.Range("answered", 950'000, 951'000);
  api.Write(session_ + "/api_1");
  const auto store = Import();
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(Number(*store,
                   "SELECT dur FROM request WHERE is_whole = 0 AND finish_reason = 'engine died' "
                   "AND output_tokens = 1"),
            69'000);
}

// An embedding, one that is given up in the queue, and one that is when it was scheduled.
TEST(RequestTrackTest, RequestsWithoutTokens) {
  store::NamePool names;
  store::RequestRow embedded;
  embedded.ts = embedded.tokenized_ts = embedded.queued_ts = 100;
  embedded.scheduled_ts = 120;
  embedded.dur = 80;
  store::RequestRow waiting = embedded;
  waiting.scheduled_ts = -1;
  waiting.ts = 90;  // before the others
  waiting.dur = 90;
  store::RequestRow open = embedded;
  open.dur = -1;
  const store::RequestRow rows[] = {embedded, waiting, open};
  const auto track = server::MakeRequestTrack(rows, 0, 0, 0, names);
  const int32_t queue = names.Intern("queue");
  const int32_t prefill = names.Intern("prefill");
  std::vector<int64_t> queues;
  std::vector<int64_t> prefills;
  for (const store::SliceRow& slice : track.slices) {
    if (slice.name == queue) queues.push_back(slice.dur);
    if (slice.name == prefill) prefills.push_back(slice.dur);
  }
  // In their own order, whatever came first.
  for (size_t i = 0; i < 3; ++i) {
    const auto place = static_cast<size_t>(track.slices_of_requests[i]);
    EXPECT_EQ(track.slices[place].depth % 2, 0);
    EXPECT_EQ(track.slices[place].dur, rows[i].dur);
  }
  EXPECT_EQ(queues, (std::vector<int64_t>{80, 20, 20}));
  EXPECT_EQ(prefills, (std::vector<int64_t>{80 - 20, -1}));
}

TEST_F(ServerSession, TimeOfDaySetWhileItRanDoesNotMoveProcessesApart) {
  ASSERT_TRUE(base::RemoveTree(folder_.File("rank0_9_ascend_pt")).ok());
  WriteRank(/*late_ns=*/3'600'000'000'000);
  const auto store = Import();
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(Number(*store,
                   "SELECT count(*) FROM engine_step e JOIN step s USING (step_id) WHERE s.rank = "
                   "0 AND s.ts - e.ts = 10000 AND s.ts + s.dur < e.ts + e.dur"),
            1);
}

TEST_F(ServerSession, ItsRanksAreNotTwice) {
  const auto found = FindTraces(folder_.path());
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->size(), 2U);
  const auto sources = WithoutParts(*found);
  ASSERT_TRUE(sources.ok());
  ASSERT_EQ(sources->size(), 1U);
  EXPECT_EQ((*sources)[0].path, session_);
}

TEST_F(ServerSession, MissingPartIsReported) {
  ASSERT_TRUE(base::RemoveTree(folder_.File("rank0_9_ascend_pt")).ok());
  const auto store = Import();
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(Number(*store, "SELECT count FROM import_issue WHERE code = 'server_part_missing'"), 1);
  EXPECT_EQ(Number(*store, "SELECT count(*) FROM request"), 1);
}

}  // namespace
}  // namespace sonde::importers
