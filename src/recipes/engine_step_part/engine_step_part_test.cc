// Sessions of three decode steps and a prefill step, whose parts are known. Times in ms.
#include "recipes/engine_step_part/engine_step_part.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/large_vector.h"

namespace sonde::recipes {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kBegin = 1'000 * kMs;

// A step: 1 schedule, 2 hand-over, 1 preprocess, `forward`, 1 postprocess, 1 hand-over, 2 sampling,
// `back` hand-back, 1 update, 3 delivery.
class PartSession {
 public:
  explicit PartSession(bool has_ranks = true, bool has_modules = true)
      : has_ranks_(has_ranks), has_modules_(has_modules) {
    for (const char* name : {"execute model", "sample tokens", "Qwen2", "module", "Sampler"}) {
      names_.push_back({static_cast<int32_t>(names_.size()), name});
    }
    store::TrackRow track;
    track.track_id = 0;
    track.process_id = 7;
    tracks_.push_back(track);
  }

  void Step(int64_t forward_ms, int64_t back_ms, int32_t prompt_tokens = 0, int32_t decodes = 1) {
    store::EngineStepRow step;
    step.step_id = static_cast<int64_t>(steps_.size()) + 40;
    step.slice_id = 500 + static_cast<int32_t>(steps_.size());
    step.ts = now_;
    step.schedule_ns = kMs;
    step.update_ns = kMs;
    step.prefill_requests = prompt_tokens > 0 ? 1 : 0;
    step.prefill_tokens = prompt_tokens;
    step.decode_requests = step.decode_tokens = prompt_tokens > 0 ? 0 : decodes;
    if (has_ranks_) Rank(step, forward_ms);
    step.dur = (9 + forward_ms + back_ms) * kMs;
    now_ += step.dur;
    store::RequestStepRow part;
    part.step_id = step.step_id;
    part.output_tokens = 1;
    part.output_ts = now_;
    part.sent_ts = now_ + 3 * kMs;
    parts_.push_back(part);
    steps_.push_back(step);
  }

  store::RowTables& Tables() {
    Fill(names_);
    Fill(tracks_);
    Fill(slices_);
    Fill(rank_steps_);
    Fill(flows_);
    Fill(steps_);
    Fill(parts_);
    return tables_;
  }

 private:
  template <class Row>
  void Fill(const std::vector<Row>& rows) {
    tables_.Add(base::LargeVector<Row>(rows.begin(), rows.end()));
  }
  void Slice(int32_t name, int64_t begin_ns, int64_t ms, int32_t category = store::kNone) {
    store::SliceRow slice;
    slice.slice_id = static_cast<int32_t>(slices_.size());
    slice.track_id = 0;
    slice.ts = begin_ns;
    slice.dur = ms * kMs;
    slice.name = name;
    slice.category = category;
    slices_.push_back(slice);
  }
  void Rank(const store::EngineStepRow& step, int64_t forward_ms) {
    const int64_t begin = step.ts + 3 * kMs;
    Slice(0, begin, 2 + forward_ms);
    if (has_modules_) Slice(2, begin + kMs, forward_ms, 3);
    const int64_t sampling = begin + (3 + forward_ms) * kMs;
    Slice(1, sampling, 2);
    Slice(4, sampling, 1, 3);
    // Another rank that was ready earlier.
    for (const int64_t less_ms : {int64_t{0}, int64_t{1}}) {
      store::StepRow rank;
      rank.process_id = 7 + static_cast<int32_t>(less_ms);
      rank.slice_id = 900 + static_cast<int32_t>(rank_steps_.size());
      rank.ts = begin;
      rank.dur = (5 + forward_ms - less_ms) * kMs;
      rank_steps_.push_back(rank);
      store::FlowRow flow;
      flow.slice_out = step.slice_id;
      flow.slice_in = rank.slice_id;
      flows_.push_back(flow);
    }
  }

  bool has_ranks_;
  bool has_modules_;
  int64_t now_ = kBegin;
  store::RowTables tables_;
  std::vector<store::NameRow> names_;
  std::vector<store::TrackRow> tracks_;
  std::vector<store::SliceRow> slices_;
  std::vector<store::StepRow> rank_steps_;
  std::vector<store::FlowRow> flows_;
  std::vector<store::EngineStepRow> steps_;
  std::vector<store::RequestStepRow> parts_;
};

void ServeSteps(PartSession& session) {
  session.Step(20, 1, /*prompt_tokens=*/10);
  session.Step(10, 1);
  session.Step(11, 1);
  session.Step(12, 30);
}

int64_t InMs(const StepParts& step, StepPart part) { return step[part] / kMs; }

TEST(EngineStepPart, PartsAddUpToTheStep) {
  PartSession session;
  ServeSteps(session);
  const auto found = CompareSteps(session.Tables());
  ASSERT_EQ(found.size(), 2U);
  const StepComparison& decode = found[0];
  EXPECT_EQ(decode.kind, "decode");
  EXPECT_EQ(decode.steps, 3);
  EXPECT_EQ(decode.median.step_id, 42);
  EXPECT_EQ(decode.slowest.step_id, 43);
  EXPECT_EQ(decode.median.Sum(), 24 * kMs);
  EXPECT_EQ(InMs(decode.median, StepPart::kSchedule), 1);
  EXPECT_EQ(InMs(decode.median, StepPart::kHandOver), 3);
  EXPECT_EQ(InMs(decode.median, StepPart::kPreprocess), 1);
  EXPECT_EQ(InMs(decode.median, StepPart::kForward), 11);
  EXPECT_EQ(InMs(decode.median, StepPart::kPostprocess), 1);
  EXPECT_EQ(InMs(decode.median, StepPart::kSampling), 2);
  EXPECT_EQ(InMs(decode.median, StepPart::kHandBack), 1);
  EXPECT_EQ(InMs(decode.median, StepPart::kUpdate), 1);
  EXPECT_EQ(InMs(decode.median, StepPart::kDelivery), 3);
  EXPECT_EQ(InMs(decode.median, StepPart::kNotCovered), 0);
  EXPECT_EQ(decode.slowest.Sum(), 54 * kMs);
  EXPECT_EQ(SentenceOf(decode),
            "The slowest decode step (43) took 54.00 ms instead of 24.00 ms: hand-back to the "
            "engine took 29.00 ms longer");
  EXPECT_EQ(found[1].kind, "prefill");
  EXPECT_EQ(SentenceOf(found[1]), "The slowest prefill step (40) took 33.00 ms, as the median one");
}

TEST(EngineStepPart, ALargerBatchIsNamed) {
  PartSession session;
  session.Step(10, 1);
  session.Step(10, 1);
  session.Step(30, 1, 0, /*decodes=*/8);
  EXPECT_EQ(SentenceOf(CompareSteps(session.Tables())[0]),
            "The slowest decode step (42) took 43.00 ms instead of 23.00 ms, for 8 tokens instead "
            "of 1: forward took 20.00 ms longer");
}

TEST(EngineStepPart, WhatIsNotRecordedIsAbsent) {
  PartSession no_modules(/*has_ranks=*/true, /*has_modules=*/false);
  ServeSteps(no_modules);
  const StepParts median = CompareSteps(no_modules.Tables())[0].median;
  EXPECT_EQ(InMs(median, StepPart::kExecute), 13);
  EXPECT_EQ(InMs(median, StepPart::kForward), 0);
  EXPECT_EQ(median.Sum(), 24 * kMs);
  PartSession no_ranks(/*has_ranks=*/false);
  ServeSteps(no_ranks);
  const StepParts alone = CompareSteps(no_ranks.Tables())[0].median;
  EXPECT_EQ(InMs(alone, StepPart::kSchedule), 1);
  EXPECT_EQ(InMs(alone, StepPart::kNotCovered), 19);
  EXPECT_EQ(InMs(alone, StepPart::kUpdate), 1);
  EXPECT_EQ(alone.Sum(), 24 * kMs);
  store::RowTables none;
  EXPECT_TRUE(CompareSteps(none).empty());
}

}  // namespace
}  // namespace sonde::recipes
