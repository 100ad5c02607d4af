// Sessions with one planted cause, with two, and with none.
#include "recipes/request_time/request_time.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "base/large_vector.h"
#include "recipes/request_time/planned_session.h"
#include "recipes/request_time/usual.h"

namespace sonde::recipes {
namespace {

using planned::kMillisecond;
using planned::Planned;
using Session = planned::PlannedSession;

constexpr int kRequests = 20;

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
    const int64_t server_ns = DeliveredNs(*one.row) - one.row->ts;
    EXPECT_GE(one.whole.parts.Sum(), server_ns) << one.name;
    EXPECT_EQ(one.whole.parts.Sum(), one.client_ns) << one.name;
    if (one.row->loop_lag_ns >= 0) {
      EXPECT_EQ(one.client_ns, server_ns + one.row->loop_lag_ns) << one.name;
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
      {"engine stopped before it sent what it had", RequestPart::kEngine,
       [](Planned& one) {
         one.slow_ms = 300;
         one.is_held_back = true;
       }},
      {"engine stopped within a step of its ranks", RequestPart::kEngine,
       [](Planned& one) { one.idle_ms = 300; }},
      {"worker stopped before it took its call", RequestPart::kComputing,
       [](Planned& one) {
         one.idle_ms = 300;
         one.is_rank_stopped = true;
       }},
      {"worker stopped", RequestPart::kComputing, [](Planned& one) { one.rank_slow_ms = 300; }},
      {"one rank of two", RequestPart::kRankWait, [](Planned& one) { one.rank_slow_ms = 300; }, 2},
      {"ranks not recorded", RequestPart::kSlowStep, [](Planned& one) { one.slow_ms = 300; }, 0},
      {"garbage", RequestPart::kGarbage, [](Planned& one) { one.gc_ms = 300; }},
      {"processor", RequestPart::kProcessor, [](Planned& one) { one.processor_ms = 300; }},
      {"compiler", RequestPart::kCompiling, [](Planned& one) { one.compile_ms = 300; }},
      {"client", RequestPart::kDelivery, [](Planned& one) { one.delivery_ms = 300; }},
      {"client that reads late", RequestPart::kDelivery, [](Planned& one) { one.left_ms = 300; }},
      {"pages on a disk", RequestPart::kMajorFaults, [](Planned& one) { one.faults = 60; }},
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
// token waited, or a later one did, and longer.
TEST(RequestTimes, TheReasonIsOfWhatIsSlow) {
  for (const int64_t slow_ms : {0, 2'000}) {
    Session session(1);
    Serve(session, [&](Planned& one) {
      one.tokens = 1'000;
      one.decode_ms = 11;
      one.tokenizing_ms = 300;
      one.slow_ms = slow_ms;
    });
    const RequestTimes times = ExplainRequests(session.Tables());
    ExpectParts(times);
    ASSERT_EQ(times.causes.size(), 1U);
    EXPECT_EQ(KeyOfPart(times.causes[0].part), slow_ms == 0 ? "tokenizing" : "engine");
  }
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

// Later pieces of long prompts take longer, without a rank being slow.
TEST(RequestTimes, ALongPromptIsNoSlowRank) {
  Session session(1);
  for (int i = 0; i < kRequests; ++i) {
    Planned plan;
    if (i == 10 || i == 15) {
      plan.pieces = 4;
      plan.prompt_tokens = 2'000;
      plan.prefill_ms = 300;
    }
    session.Add(plan);
  }
  const RequestTimes times = ExplainRequests(session.Tables());
  ExpectParts(times);
  EXPECT_TRUE(times.causes.empty()) << ReasonOf(times.requests[10]);
  for (const int64_t place : {10, 15}) {
    const PartTimes& parts = times.requests[static_cast<size_t>(place)].whole.parts;
    EXPECT_EQ(parts[RequestPart::kPrefill], (1 + 2 + 3 + 4) * 300 * kMillisecond);
  }
}

// Many small delays make it slow together, and none of them is the cause.
TEST(RequestTimes, SmallDelaysAreNoCause) {
  Session session(1);
  Serve(session, [](Planned& one) {
    one.lag_ms = 45;
    one.queue_ms = 45;
    one.tokenizing_ms = 45;
    one.hand_over_ms = 45;
  });
  const RequestTimes times = ExplainRequests(session.Tables());
  ExpectParts(times);
  EXPECT_TRUE(times.requests[7].is_slow);
  EXPECT_EQ(ReasonsOf(times.requests[7]).size(), 2U);
  EXPECT_TRUE(times.causes.empty());
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

// The loop is due back and has no processor, or waits for a page; what it did itself is its own.
TEST(RequestTimes, APauseOfALoopThatWaitsIsThat) {
  struct Held {
    double waited_ms;
    double ran_ms;
    int64_t faults;
    RequestPart part;
    int64_t ms;
  };
  for (const Held& held : {Held{390, 5, 0, RequestPart::kProcessor, 390},
                           Held{10, 390, 7, RequestPart::kEventLoop, 388},
                           Held{0, 40, 30, RequestPart::kMajorFaults, 361},
                           Held{60, 330, 5000, RequestPart::kMajorFaults, 338},
                           Held{0, 0, 2, RequestPart::kEventLoop, 358}}) {
    Session session(1);
    for (int i = 0; i < kRequests; ++i) {
      Planned plan;
      if (i == 9) plan.delivery_ms = 400;
      session.Add(plan);
      if (i != 9) continue;
      session.Pause(session.now() - 399 * kMillisecond, session.now() - kMillisecond);
      session.InPause(held.waited_ms, held.ran_ms, held.faults);
    }
    const RequestTimes times = ExplainRequests(session.Tables());
    ExpectParts(times);
    ASSERT_EQ(times.causes.size(), 1U);
    EXPECT_EQ(KeyOfPart(times.causes[0].part), KeyOfPart(held.part));
    EXPECT_EQ(times.requests[9].whole.parts[held.part], held.ms * kMillisecond);
  }
}

// A worker that is stopped for longer than its few faults can take is no disk.
TEST(RequestTimes, AFewFaultsExplainLittle) {
  Session session(1);
  Serve(session, [](Planned& one) {
    one.faults = 2;
    one.rank_slow_ms = 300;
  });
  const RequestTimes times = ExplainRequests(session.Tables());
  ASSERT_EQ(times.causes.size(), 1U);
  EXPECT_EQ(KeyOfPart(times.causes[0].part), "computing");
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
  EXPECT_EQ(usual.Of(100'000, 9'000'000), 9'000'000);  // too far away
  EXPECT_EQ(usual.Of(5, 500), 102);
  EXPECT_EQ(UsualBySize().Of(5, 500), 500);
}

}  // namespace
}  // namespace sonde::recipes
