// Sessions with planted causes for tests. Times in ms.
//
// A server runs requests one after the other: each has a prompt of 10 tokens (a step of 20 ms) and
// 10 further tokens (steps of 10 ms), and is answered 1 ms after its last one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/large_vector.h"
#include "store/row_tables.h"
#include "store/rows.h"

namespace sonde::recipes::planned {

inline constexpr int64_t kMillisecond = 1'000'000;
inline constexpr int32_t kPrefillName = 0;
inline constexpr int32_t kDecodeName = 1;
inline constexpr int32_t kLag = 2;
inline constexpr int32_t kGc = 3;
inline constexpr int32_t kCompile = 4;
inline constexpr int32_t kIdle = 5;
inline constexpr int32_t kLoopWait = 6;
inline constexpr int32_t kLoopRan = 7;
inline constexpr int32_t kLoopFaults = 8;
inline constexpr int32_t kFirstName = 10;

// One request of the server.
struct Planned {
  int64_t gap_ms = 50;            // after the request before
  int64_t queued_earlier_ms = 0;  // it came so long before that
  int64_t lag_ms = 0;             // before its arrival; -1: not recorded
  int64_t tokenizing_ms = 1;
  int64_t hand_over_ms = 1;
  int64_t queue_ms = 1;
  int64_t delivery_ms = 1;  // of its last piece
  int64_t left_ms = 0;      // until all of it had left the server
  int64_t prompt_tokens = 10;
  int64_t prefill_ms = 20;
  int64_t pieces = 1;  // of its prompt: each takes a prefill_ms longer than the one before
  int64_t tokens = 11;
  int64_t decode_ms = 10;       // of a token
  int64_t other_prompt_ms = 0;  // of a prompt of 200 tokens of another one, in its third step
  int64_t slow_ms = 0;          // longer is its fifth step
  bool is_held_back = false;    // what the step before gave is sent at the end of that step
  int64_t rank_slow_ms = 0;     // the rank in that step
  int64_t preempted_ms = 0;     // before its fifth step, in which 20 tokens are computed again
  int64_t gc_ms = 0;
  int64_t processor_ms = 0;  // that the ranks waited for a processor, where stores have that
  int64_t faults = 0;        // of pages in the fifth step, 5 ms each
  int64_t compile_ms = 0;
  int64_t idle_ms = 0;           // that the ranks wait for the second call of that step
  bool is_rank_stopped = false;  // it slept in that wait, and not the engine
  int64_t engine_wait_ms = 0;    // that the engine waits for a processor in every step
  int64_t busy_percent = 0;      // of every step that the ranks wait for a processor
};

// A session in the making.
class PlannedSession {
 public:
  explicit PlannedSession(int ranks = 0) : ranks_(ranks) {
    Name(kPrefillName, "prefill");
    Name(kDecodeName, "decode");
    Name(kLag, "event loop lag ms");
    Name(kLoopWait, "event loop processor wait ms");
    Name(kLoopRan, "event loop processor ms");
    Name(kLoopFaults, "event loop major faults");
    Name(kGc, "GC");
    Name(kIdle, "idle");
    Name(kCompile, "torch/_dynamo/convert_frame.py(1): _compile");
    for (int32_t i = 0; i < ranks_; ++i) {
      store::ProcessRow process;
      process.process_id = process.rank = i;
      processes_.push_back(process);
    }
    constexpr int32_t kOfLoop[] = {kLag, kLoopWait, kLoopRan, kLoopFaults};
    for (int32_t i = 0; i < ranks_ + 4; ++i) {
      store::TrackRow track;
      track.track_id = i;
      track.name = i < ranks_ ? kDecodeName : kOfLoop[i - ranks_];
      track.process_id = std::min(i, ranks_);
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
    for (int64_t piece = 1; piece < plan.pieces; ++piece) {
      parts_.push_back({});
      parts_.back().request_id = row.request_id;
      parts_.back().step_id = static_cast<int64_t>(steps_.size());
      parts_.back().phase = kPrefillName;
      parts_.back().tokens = 2048;
      Prompts(piece * plan.prefill_ms, 1);
    }
    for (int64_t token = 0; token < plan.tokens; ++token) Step(row, plan, token);
    now_ += plan.delivery_ms * kMillisecond;
    row.last_token_ts = now_;
    row.dur = now_ - row.ts;
    now_ += plan.left_ms * kMillisecond;
    if (plan.left_ms > 0) row.delivered_ts = now_;
    row.ttft_ns = row.first_token_ts - row.ts;
    row.is_whole = 1;
    requests_.push_back(row);
  }

  void Pause(int64_t begin_ns, int64_t end_ns, bool collects = false) {
    if (collects) Slice(kGc, begin_ns, (end_ns - begin_ns) / kMillisecond);
    counters_.push_back({end_ns, ranks_, static_cast<double>(end_ns - begin_ns) / 1e6});
    counters_.push_back({end_ns + kMillisecond, ranks_, 0});
  }

  // What the loop's thread did in the pause that was added last.
  void InPause(double waited_ms, double ran_ms, int64_t faults) {
    const int64_t ts = counters_.back().ts - kMillisecond + 1'000;
    counters_.push_back({ts, ranks_ + 1, waited_ms});
    counters_.push_back({ts, ranks_ + 2, ran_ms});
    counters_.push_back({ts, ranks_ + 3, static_cast<double>(faults)});
  }

  // A step that computes prompts of others, beside so many requests in all.
  void Prompts(int64_t ms, int32_t running, int32_t tokens = 2048) {
    store::EngineStepRow step;
    step.step_id = static_cast<int64_t>(steps_.size());
    step.ts = now_;
    step.dur = ms * kMillisecond;
    step.prefill_requests = 1;
    step.prefill_tokens = tokens;
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
    int64_t ms = token == 0 ? plan.prefill_ms * plan.pieces : plan.decode_ms;
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
            plan.idle_ms + 5 * plan.faults;
    }
    for (int32_t i = 0; i < ranks_; ++i) {
      Slice(kIdle, now_ + kMillisecond, 1, i);
      if (is_fifth) Slice(kIdle, now_ + 5 * kMillisecond, plan.idle_ms, i);
    }
    const int64_t slept_ms = is_fifth ? plan.idle_ms : 0;
    step.processor_wait_ns = plan.engine_wait_ms * kMillisecond;
    step.processor_ns =
        (ms - plan.engine_wait_ms - (plan.is_rank_stopped ? 0 : slept_ms)) * kMillisecond;
    Ranks(step, ms, is_fifth ? plan.slow_ms : 0, is_fifth ? plan.rank_slow_ms : 0,
          (is_fifth ? plan.processor_ms : 0) + plan.busy_percent * ms / 100,
          is_fifth ? plan.faults : 0);
    for (int32_t i = 0; i < ranks_; ++i) {
      store::StepRow& rank = rank_steps_[rank_steps_.size() - 1 - static_cast<size_t>(i)];
      rank.processor_ns =
          rank.dur - rank.processor_wait_ns - (plan.is_rank_stopped ? slept_ms : 0) * kMillisecond;
    }
    now_ += ms * kMillisecond;
    if (is_fifth && plan.is_held_back) parts_.back().sent_ts = now_;
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
             int64_t processor_ms, int64_t faults) {
    for (int32_t i = 0; i < ranks_; ++i) {
      store::StepRow rank;
      rank.step_id = step.step_id;
      rank.process_id = rank.rank = i;
      rank.slice_id = static_cast<int32_t>(200'000 + step.step_id * 10 + i);
      rank.ts = now_ + kMillisecond / 10;
      const int64_t less_ms = i + 1 == ranks_ ? 0 : rank_ms;
      rank.dur = (ms - engine_ms - less_ms) * kMillisecond - 3 * kMillisecond / 10;
      rank.processor_wait_ns = processor_ms * kMillisecond;
      rank.process_major_faults = faults;
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

}  // namespace sonde::recipes::planned
