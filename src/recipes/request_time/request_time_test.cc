// Sessions with one planted cause, with two, and with none. Times in ms.
//
// A server runs requests one after the other: each has a prompt of 10 tokens (a step of 20 ms) and
// 10 further tokens (steps of 10 ms), and is answered 1 ms after its last one.
#include "recipes/request_time/request_time.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "base/large_vector.h"
#include "recipes/request_time/usual.h"
#include "store/result_sinks.h"

namespace sonde::recipes {
namespace {

constexpr int64_t kMillisecond = 1'000'000;
constexpr int32_t kPrefillName = 0;
constexpr int32_t kDecodeName = 1;
constexpr int32_t kLag = 2;
constexpr int32_t kGc = 3;
constexpr int32_t kCompile = 4;
constexpr int32_t kIdle = 5;
constexpr int32_t kFirstName = 10;
constexpr int kRequests = 20;

struct Planned {
  int64_t gap_ms = 50;            // after the request before
  int64_t queued_earlier_ms = 0;  // it came so long before that
  int64_t lag_ms = 0;             // before its arrival; -1: not recorded
  int64_t tokenizing_ms = 1;
  int64_t hand_over_ms = 1;
  int64_t queue_ms = 1;
  int64_t delivery_ms = 1;  // of its last piece
  int64_t prompt_tokens = 10;
  int64_t prefill_ms = 20;
  int64_t tokens = 11;
  int64_t decode_ms = 10;       // of a token
  int64_t other_prompt_ms = 0;  // of a prompt of 200 tokens of another one, in its third step
  int64_t slow_ms = 0;          // longer is its fifth step
  int64_t rank_slow_ms = 0;     // the rank in that step
  int64_t preempted_ms = 0;     // before its fifth step, in which 20 tokens are computed again
  int64_t gc_ms = 0;
  int64_t processor_ms = 0;  // that the ranks waited for a processor, where stores have that
  int64_t compile_ms = 0;
  int64_t idle_ms = 0;         // that the ranks wait for the second call of that step
  int64_t engine_wait_ms = 0;  // that the engine waits for a processor in every step
  int64_t busy_percent = 0;    // of every step that the ranks wait for a processor
};

// A session in the making.
class Session {
 public:
  explicit Session(int ranks = 0) : ranks_(ranks) {
    Name(kPrefillName, "prefill");
    Name(kDecodeName, "decode");
    Name(kLag, "event loop lag ms");
    Name(kGc, "GC");
    Name(kIdle, "idle");
    Name(kCompile, "torch/_dynamo/convert_frame.py(1): _compile");
    for (int32_t i = 0; i < ranks_; ++i) {
      store::ProcessRow process;
      process.process_id = process.rank = i;
      processes_.push_back(process);
    }
    for (int32_t i = 0; i <= ranks_; ++i) {
      store::TrackRow track;
      track.track_id = i;
      track.name = i == ranks_ ? kLag : kDecodeName;
      track.process_id = i;
      tracks_.push_back(track);
    }
  }

  void Add(const Planned& plan) {
    now_ += plan.gap_ms * kMillisecond;
    store::RequestRow row;
    row.request_id = static_cast<int32_t>(requests_.size());
    row.name = kFirstName + row.request_id;
    Name(row.name, "r" + std::to_string(row.request_id));
    const int64_t earlier_ns = plan.queued_earlier_ms * kMillisecond;
    row.ts = now_ - earlier_ns;
    row.loop_lag_ns = plan.lag_ms < 0 ? -1 : plan.lag_ms * kMillisecond;
    row.tokenized_ts = (now_ += plan.tokenizing_ms * kMillisecond) - earlier_ns;
    row.queued_ts = (now_ += plan.hand_over_ms * kMillisecond) - earlier_ns;
    row.scheduled_ts = now_ += plan.queue_ms * kMillisecond;
    row.prompt_tokens = plan.prompt_tokens;
    row.output_tokens = static_cast<int32_t>(plan.tokens);
    row.preemptions = plan.preempted_ms > 0 ? 1 : 0;
    for (int64_t token = 0; token < plan.tokens; ++token) Step(row, plan, token);
    now_ += plan.delivery_ms * kMillisecond;
    row.last_token_ts = now_;
    row.dur = now_ - row.ts;
    row.ttft_ns = row.first_token_ts - row.ts;
    row.is_whole = 1;
    requests_.push_back(row);
  }

  void Pause(int64_t begin_ns, int64_t end_ns, bool collects = false) {
    if (collects) Slice(kGc, begin_ns, (end_ns - begin_ns) / kMillisecond);
    counters_.push_back({end_ns, ranks_, static_cast<double>(end_ns - begin_ns) / 1e6});
    counters_.push_back({end_ns + kMillisecond, ranks_, 0});
  }

  // A step that computes prompts of others, beside so many requests in all.
  void Prompts(int64_t ms, int32_t running) {
    store::EngineStepRow step;
    step.step_id = static_cast<int64_t>(steps_.size());
    step.ts = now_;
    step.dur = ms * kMillisecond;
    step.prefill_requests = 1;
    step.prefill_tokens = 2048;
    step.running_requests = running;
    steps_.push_back(step);
    now_ += ms * kMillisecond;
  }

  int64_t now() const { return now_; }

  store::RowTables& Tables() {
    Fill<store::NameRow>(names_);
    Fill<store::ProcessRow>(processes_);
    Fill<store::TrackRow>(tracks_);
    Fill<store::SliceRow>(slices_);
    Fill<store::CounterRow>(counters_);
    Fill<store::StepRow>(rank_steps_);
    Fill<store::FlowRow>(flows_);
    Fill<store::RequestRow>(requests_);
    Fill<store::EngineStepRow>(steps_);
    Fill<store::RequestStepRow>(parts_);
    return tables_;
  }

 private:
  template <class Row>
  void Fill(const std::vector<Row>& rows) {
    tables_.Add(base::LargeVector<Row>(rows.begin(), rows.end()));
  }
  void Name(int32_t id, const std::string& text) {
    if (names_.size() <= static_cast<size_t>(id)) names_.resize(static_cast<size_t>(id) + 1);
    names_[static_cast<size_t>(id)] = {id, tables_.KeepText(text)};
  }

  void Slice(int32_t name, int64_t begin_ns, int64_t ms, int32_t track = 0) {
    if (ms == 0) return;
    store::SliceRow slice;
    slice.slice_id = static_cast<int32_t>(slices_.size());
    slice.ts = begin_ns;
    slice.dur = ms * kMillisecond;
    slice.name = name;
    slice.track_id = track;
    slices_.push_back(slice);
  }

  void Step(store::RequestRow& row, const Planned& plan, int64_t token) {
    const bool is_fifth = token == 4;
    const bool is_slowed = token == 2 && plan.other_prompt_ms > 0;
    if (is_fifth && plan.preempted_ms > 0) Other(plan.preempted_ms);
    store::EngineStepRow step;
    step.step_id = static_cast<int64_t>(steps_.size());
    step.ts = now_;
    step.schedule_ns = kMillisecond / 10;
    step.slice_id = 100'000 + static_cast<int32_t>(step.step_id);
    int64_t ms = token == 0 ? plan.prefill_ms : plan.decode_ms;
    step.prefill_requests = token == 0 || is_slowed ? 1 : 0;
    step.prefill_tokens = static_cast<int32_t>(token == 0  ? plan.prompt_tokens
                                               : is_slowed ? 200
                                                           : 0);
    step.decode_requests = token == 0 ? 0 : 1;
    step.decode_tokens = step.decode_requests;
    if (is_slowed) ms += plan.other_prompt_ms;
    if (is_fifth) {
      Slice(kGc, now_ + 2 * kMillisecond, plan.gc_ms);
      Slice(kCompile, now_ + 2 * kMillisecond, plan.compile_ms);
      ms += plan.processor_ms + plan.gc_ms + plan.compile_ms + plan.slow_ms + plan.rank_slow_ms +
            plan.idle_ms;
      for (int32_t i = 0; i < ranks_; ++i) {
        Slice(kIdle, now_ + 5 * kMillisecond, plan.idle_ms, i);
      }
    }
    step.processor_wait_ns = plan.engine_wait_ms * kMillisecond;
    Ranks(step, ms, is_fifth ? plan.slow_ms : 0, is_fifth ? plan.rank_slow_ms : 0,
          (is_fifth ? plan.processor_ms : 0) + plan.busy_percent * ms / 100);
    now_ += ms * kMillisecond;
    step.dur = ms * kMillisecond;
    step.output_tokens = 1;
    store::RequestStepRow part;
    part.request_id = row.request_id;
    part.step_id = step.step_id;
    part.phase = token == 0 ? kPrefillName : kDecodeName;
    const bool is_again = is_fifth && plan.preempted_ms > 0;
    part.tokens = static_cast<int32_t>(token == 0 ? plan.prompt_tokens : is_again ? 20 : 1);
    if (is_again) step.decode_tokens = part.tokens;
    part.output_tokens = 1;
    part.output_ts = now_;
    const bool is_last = token + 1 == plan.tokens;
    part.sent_ts = now_ + (is_last ? plan.delivery_ms * kMillisecond : 0);
    if (token == 0) row.first_token_ts = part.sent_ts;
    steps_.push_back(step);
    parts_.push_back(part);
  }

  // A step of another request alone.
  void Other(int64_t ms) {
    store::EngineStepRow step;
    step.step_id = static_cast<int64_t>(steps_.size());
    step.ts = now_;
    step.dur = ms * kMillisecond;
    step.decode_requests = 1;
    step.decode_tokens = 1000;
    steps_.push_back(step);
    now_ += ms * kMillisecond;
  }

  // The last rank is the slow one; the engine needs 0.2 ms after its ranks.
  void Ranks(const store::EngineStepRow& step, int64_t ms, int64_t engine_ms, int64_t rank_ms,
             int64_t processor_ms) {
    for (int32_t i = 0; i < ranks_; ++i) {
      store::StepRow rank;
      rank.step_id = step.step_id;
      rank.process_id = rank.rank = i;
      rank.slice_id = static_cast<int32_t>(200'000 + step.step_id * 10 + i);
      rank.ts = now_ + kMillisecond / 10;
      const int64_t less_ms = i + 1 == ranks_ ? 0 : rank_ms;
      rank.dur = (ms - engine_ms - less_ms) * kMillisecond - 3 * kMillisecond / 10;
      rank.processor_wait_ns = processor_ms * kMillisecond;
      rank_steps_.push_back(rank);
      store::FlowRow flow;
      flow.slice_out = step.slice_id;
      flow.slice_in = rank.slice_id;
      flows_.push_back(flow);
    }
  }

  int ranks_;
  int64_t now_ = 1'000 * kMillisecond;
  store::RowTables tables_;
  std::vector<store::NameRow> names_;
  std::vector<store::ProcessRow> processes_;
  std::vector<store::TrackRow> tracks_;
  std::vector<store::SliceRow> slices_;
  std::vector<store::CounterRow> counters_;
  std::vector<store::StepRow> rank_steps_;
  std::vector<store::FlowRow> flows_;
  std::vector<store::RequestRow> requests_;
  std::vector<store::EngineStepRow> steps_;
  std::vector<store::RequestStepRow> parts_;
};

// Every request has its share of noise; the seventh and the twelfth are `plan`.
void Serve(Session& session, const std::function<void(Planned&)>& plant) {
  for (int i = 0; i < kRequests; ++i) {
    Planned plan;
    plan.tokenizing_ms += i % 3;
    plan.queue_ms += i % 2;
    if (i == 7 || i == 12) plant(plan);
    session.Add(plan);
  }
}

void ExpectParts(const RequestTimes& times) {
  for (const RequestTime& one : times.requests) {
    EXPECT_GE(one.whole.parts.Sum(), one.row->dur) << one.name;
    EXPECT_EQ(one.whole.parts.Sum(), one.client_ns) << one.name;
    if (one.row->loop_lag_ns >= 0) {
      EXPECT_EQ(one.client_ns, one.row->dur + one.row->loop_lag_ns) << one.name;
    }
    EXPECT_EQ(one.whole.parts[RequestPart::kUnexplained], 0) << one.name;
    for (const int64_t ns : one.whole.parts.ns) EXPECT_GE(ns, 0) << one.name;
  }
}

std::vector<RequestPart> ReasonsOf(const RequestTime& time) {
  std::vector<RequestPart> parts;
  for (const RequestReason& reason : time.reasons) parts.push_back(reason.part);
  return parts;
}

struct Plant {
  const char* name;
  RequestPart part;
  std::function<void(Planned&)> plant;
  int ranks = 1;
};

const std::vector<Plant>& Plants() {
  static const std::vector<Plant> plants = {
      {"loop", RequestPart::kEventLoop, [](Planned& one) { one.lag_ms = 300; }},
      {"tokenizer", RequestPart::kTokenizing, [](Planned& one) { one.tokenizing_ms = 300; }},
      {"engine takes nothing", RequestPart::kEngine, [](Planned& one) { one.hand_over_ms = 300; }},
      {"queue", RequestPart::kQueue, [](Planned& one) { one.queue_ms = 300; }},
      {"prompts of others", RequestPart::kOtherPrefill,
       [](Planned& one) { one.other_prompt_ms = 300; }},
      {"preemption", RequestPart::kPreemption, [](Planned& one) { one.preempted_ms = 300; }},
      {"engine stopped", RequestPart::kEngine, [](Planned& one) { one.slow_ms = 300; }},
      {"engine stopped within a step of its ranks", RequestPart::kEngine,
       [](Planned& one) { one.idle_ms = 300; }},
      {"worker stopped", RequestPart::kComputing, [](Planned& one) { one.rank_slow_ms = 300; }},
      {"one rank of two", RequestPart::kRankWait, [](Planned& one) { one.rank_slow_ms = 300; }, 2},
      {"ranks not recorded", RequestPart::kSlowStep, [](Planned& one) { one.slow_ms = 300; }, 0},
      {"garbage", RequestPart::kGarbage, [](Planned& one) { one.gc_ms = 300; }},
      {"processor", RequestPart::kProcessor, [](Planned& one) { one.processor_ms = 300; }},
      {"compiler", RequestPart::kCompiling, [](Planned& one) { one.compile_ms = 300; }},
      {"client", RequestPart::kDelivery, [](Planned& one) { one.delivery_ms = 300; }},
  };
  return plants;
}

TEST(RequestTimes, EachCauseAloneIsFound) {
  for (const Plant& plant : Plants()) {
    SCOPED_TRACE(plant.name);
    Session session(plant.ranks);
    Serve(session, plant.plant);
    const RequestTimes times = ExplainRequests(session.Tables());
    ExpectParts(times);
    ASSERT_EQ(times.causes.size(), 1U);
    EXPECT_EQ(KeyOfPart(times.causes[0].part), KeyOfPart(plant.part));
    EXPECT_EQ(times.causes[0].requests, 2);
    EXPECT_NEAR(static_cast<double>(times.causes[0].wait_ns) / kMillisecond, 300, 15);
    EXPECT_GT(times.causes[0].p99_ns, 400 * kMillisecond);
    EXPECT_LT(times.causes[0].p99_without_ns, 160 * kMillisecond);
    EXPECT_GE(times.causes[0].begin_ns, times.begin_ns - 300 * kMillisecond);
    for (size_t i = 0; i < times.requests.size(); ++i) {
      EXPECT_EQ(times.requests[i].is_slow, i == 7 || i == 12) << i;
    }
  }
}

// Two causes in different requests are two findings; in one request both are named.
TEST(RequestTimes, PairsOfCausesAreBothFound) {
  const std::vector<Plant>& plants = Plants();
  for (size_t i = 0; i < plants.size(); ++i) {
    const Plant& one = plants[i];
    const Plant& other = plants[(i + 3) % plants.size()];
    if (one.ranks != 1 || other.ranks != 1) continue;
    SCOPED_TRACE(std::string(one.name) + " and " + other.name);
    Session session(1);
    for (int request = 0; request < kRequests; ++request) {
      Planned plan;
      if (request == 5) one.plant(plan);
      if (request == 15) other.plant(plan);
      session.Add(plan);
    }
    const RequestTimes times = ExplainRequests(session.Tables());
    ExpectParts(times);
    ASSERT_EQ(times.causes.size(), 2U);
    EXPECT_EQ(ReasonsOf(times.requests[5]), std::vector{one.part});
    EXPECT_EQ(ReasonsOf(times.requests[15]), std::vector{other.part});
  }
}

TEST(RequestTimes, TwoPartsAreNamedWhereOneExplainsLessThanHalf) {
  Session session(1);
  Serve(session, [](Planned& one) {
    one.lag_ms = 110;
    one.queue_ms = 100;
    one.delivery_ms = 90;
  });
  const RequestTimes times = ExplainRequests(session.Tables());
  const std::vector expected = {RequestPart::kEventLoop, RequestPart::kQueue};
  EXPECT_EQ(ReasonsOf(times.requests[7]), expected);
  EXPECT_EQ(ReasonOf(times.requests[7]),
            "waited 110.0 ms for the front-end, whose event loop stood still, and waited 98.0 ms "
            "longer in the engine's queue");
}

TEST(RequestTimes, NothingUnusualIsNoFinding) {
  Session even(1);
  Serve(even, [](Planned&) {});
  Session noisy(1);  // a busy machine: every wait differs
  for (int i = 0; i < kRequests; ++i) {
    Planned plan;
    plan.queue_ms = 1 + (i * 37) % 40;
    plan.tokenizing_ms = 1 + (i * 17) % 9;
    plan.slow_ms = (i * 13) % 7;
    noisy.Add(plan);
  }
  Session loaded(1);  // all wait in a queue
  for (int i = 0; i < kRequests; ++i) {
    Planned plan;
    plan.queue_ms = 150 + (i * 97) % 300;
    loaded.Add(plan);
  }
  for (Session* session : {&even, &noisy, &loaded}) {
    const RequestTimes times = ExplainRequests(session->Tables());
    ExpectParts(times);
    EXPECT_TRUE(times.causes.empty());
    for (const RequestTime& one : times.requests) {
      EXPECT_TRUE(ReasonOf(one).starts_with("as usual")) << ReasonOf(one);
    }
  }
}

// While its ranks work the engine asks for their answer again and again, and may wait for a
// processor then; and a busy machine holds up what takes long for longer.
TEST(RequestTimes, WaitsForAProcessorThatHoldNobodyUpAreNoReason) {
  for (const bool is_of_engine : {true, false}) {
    Session session(1);
    Serve(session, [&](Planned& one) {
      one.rank_slow_ms = 300;
      one.engine_wait_ms = is_of_engine ? 250 : 0;
    });
    for (int i = 0; i < kRequests && !is_of_engine; ++i) {
      Planned plan;
      plan.busy_percent = 30;
      plan.rank_slow_ms = i == 7 ? 300 : 0;
      session.Add(plan);
    }
    const RequestTimes times = ExplainRequests(session.Tables());
    ExpectParts(times);
    ASSERT_EQ(times.causes.size(), 1U);
    EXPECT_EQ(KeyOfPart(times.causes[0].part), "computing");
  }
}

// Three requests have run at once in this session, so a place is free while one waits.
TEST(RequestTimes, AQueueBehindThePromptsOfOthersIsThat) {
  for (const int32_t running : {3, 1}) {
    Session session(1);
    for (int i = 0; i < kRequests; ++i) {
      Planned plan;
      if (i == 9) session.Prompts(300, running);
      if (i == 9) plan.queued_earlier_ms = 290;
      session.Add(plan);
    }
    session.Prompts(1, 3);
    const RequestTimes times = ExplainRequests(session.Tables());
    ExpectParts(times);
    ASSERT_EQ(times.causes.size(), 1U);
    EXPECT_EQ(KeyOfPart(times.causes[0].part), running == 3 ? "queue" : "other_prefill");
  }
}

// An answer of a length that no other has: what is usual of it is not known well, but its first
// token waited.
TEST(RequestTimes, TheReasonIsOfWhatIsSlow) {
  Session session(1);
  Serve(session, [](Planned& one) {
    one.tokens = 1'000;
    one.decode_ms = 11;
    one.tokenizing_ms = 300;
  });
  const RequestTimes times = ExplainRequests(session.Tables());
  ExpectParts(times);
  ASSERT_EQ(times.causes.size(), 1U);
  EXPECT_EQ(KeyOfPart(times.causes[0].part), "tokenizing");
}

// A longer prompt and a longer answer take longer, as is usual for their size.
TEST(RequestTimes, SizeIsNoReason) {
  Session session(1);
  for (int i = 0; i < kRequests; ++i) {
    Planned plan;
    if (i % 4 == 1) plan.tokens = 60;
    if (i == 10) plan.tokens = 120;
    if (i % 5 == 2) {
      plan.prompt_tokens = 400;
      plan.prefill_ms = 500;
    }
    session.Add(plan);
  }
  const RequestTimes times = ExplainRequests(session.Tables());
  ExpectParts(times);
  EXPECT_TRUE(times.causes.empty()) << ReasonOf(times.requests[10]);
}

TEST(RequestTimes, APauseHoldsUpWhatIsToBeSentAndWhatComesAfter) {
  Session session(1);
  for (int i = 0; i < kRequests; ++i) {
    Planned plan;
    if (i == 9) plan.delivery_ms = 1'500;
    if (i == 10) {
      plan.gap_ms = 2;
      plan.lag_ms = -1;
    }
    if (i == 9) {
      session.Add(plan);
      session.Pause(session.now() - 1'499 * kMillisecond, session.now() - kMillisecond);
      continue;
    }
    session.Add(plan);
  }
  const RequestTimes times = ExplainRequests(session.Tables());
  ASSERT_EQ(times.causes.size(), 1U);
  const SlowCause& cause = times.causes[0];
  EXPECT_EQ(cause.part, RequestPart::kEventLoop);
  EXPECT_EQ(cause.requests, 2);
  EXPECT_EQ(times.requests[9].whole.parts[RequestPart::kEventLoop], 1'498 * kMillisecond);
  EXPECT_EQ(times.requests[10].whole.parts[RequestPart::kEventLoop], 1'501 * kMillisecond);
  const std::vector<std::string> words = CauseParts(times, cause);
  EXPECT_EQ(words[0], "slow_request");
  EXPECT_EQ(words[3], "2");
}

TEST(RequestTimes, APauseInWhichGarbageIsCollectedIsThat) {
  Session session(1);
  for (int i = 0; i < kRequests; ++i) {
    Planned plan;
    if (i == 9) plan.delivery_ms = 400;
    session.Add(plan);
    if (i == 9)
      session.Pause(session.now() - 399 * kMillisecond, session.now() - kMillisecond, true);
  }
  const RequestTimes times = ExplainRequests(session.Tables());
  ASSERT_EQ(times.causes.size(), 1U);
  EXPECT_EQ(times.causes[0].part, RequestPart::kGarbage);
  EXPECT_EQ(times.requests[9].whole.parts[RequestPart::kGarbage], 398 * kMillisecond);
}

TEST(RequestTimes, ObjectivesReplaceTheLimit) {
  Session session(1);
  Serve(session, [](Planned& one) { one.other_prompt_ms = 300; });
  const store::RowTables& tables = session.Tables();
  const auto objectives = ParseObjectives("ttft=500ms,itl=50ms");
  ASSERT_TRUE(objectives.ok());
  EXPECT_EQ(objectives->ttft_ns, 500 * kMillisecond);
  const auto slow = [&](const Objectives& limits) {
    int count = 0;
    for (const RequestTime& one : ExplainRequests(tables, limits).requests) count += one.is_slow;
    return count;
  };
  EXPECT_EQ(slow(*objectives), 2);
  EXPECT_EQ(slow({.e2e_ns = 1}), kRequests);
  EXPECT_EQ(slow({.ttft_ns = 10'000 * kMillisecond}), 0);
  for (const char* bad : {"", "ttft", "ttft=", "ttft=5", "tpot=5ms", "itl=-1ms", "itl=nanms"}) {
    EXPECT_FALSE(ParseObjectives(bad).ok()) << bad;
  }
}

TEST(RequestTimes, RequestsWithoutTokensAndWithoutAnEngine) {
  store::RowTables tables;
  store::RequestRow left;  // its client went while it was queued
  left.request_id = 0;
  left.ts = left.tokenized_ts = left.queued_ts = 1'000;
  left.dur = 40 * kMillisecond;
  left.is_whole = 1;
  store::RequestRow bare = left;  // nothing but begin and end
  bare.request_id = 1;
  bare.tokenized_ts = bare.queued_ts = -1;
  tables.Add(base::LargeVector<store::RequestRow>{left, bare});
  const RequestTimes times = ExplainRequests(tables);
  ASSERT_EQ(times.requests.size(), 2U);
  EXPECT_EQ(times.requests[0].whole.parts[RequestPart::kQueue], 40 * kMillisecond);
  EXPECT_EQ(times.requests[1].whole.parts[RequestPart::kUnexplained], 40 * kMillisecond);
  EXPECT_TRUE(ExplainRequests(store::RowTables()).causes.empty());
}

TEST(UsualBySize, BetweenBeyondAndUnknownSizes) {
  std::vector<std::pair<int64_t, int64_t>> values;
  for (int64_t i = 0; i < 5; ++i) values.emplace_back(10, 100 + i);
  for (int64_t i = 0; i < 5; ++i) values.emplace_back(100, 1'000 + i);
  values.emplace_back(5'000, 7);  // one alone is no measure
  const UsualBySize usual(values);
  EXPECT_EQ(usual.Of(10, 5'000), 102);
  EXPECT_EQ(usual.Of(55, 5'000), 552);
  EXPECT_EQ(usual.Of(200, 1'500), 1'500);  // may grow in proportion
  EXPECT_EQ(usual.Of(200, 9'000), 2'004);
  EXPECT_EQ(usual.Of(5, 500), 102);
  EXPECT_EQ(UsualBySize().Of(5, 500), 500);
}

}  // namespace
}  // namespace sonde::recipes
