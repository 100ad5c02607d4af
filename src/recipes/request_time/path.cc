#include "recipes/request_time/path.h"

#include <algorithm>
#include <map>
#include <utility>

#include "recipes/request_time/usual.h"

namespace sonde::recipes {
namespace {

using store::RequestRow;
using store::RequestStepRow;

// A request that is seen this soon after a pause of the loop was there before its end: the loop
// reads its sockets first.
constexpr int64_t kRightAfterNs = 5'000'000;

class Path {
 public:
  Path(const ServedSession& session, const RequestRow& row)
      : session_(session), row_(row), end_ns_(DeliveredNs(row)) {
    for (const RequestStepRow* part : session.parts_of_requests[Number(row)]) {
      steps_of_request_[part->step_id] = part;
      if (part->output_tokens > 0 && part->output_ts >= 0) {
        last_output_ns_ = std::max(last_output_ns_, part->output_ts);
      }
      if (part->output_ts >= 0 && part->sent_ts > part->output_ts) {
        deliveries_.push_back({part->output_ts, std::min(part->sent_ts, end_ns_)});
      }
    }
  }

  std::vector<PathPiece> Take() {
    at_ns_ = row_.ts - WaitBeforeArrival(row_, session_.pauses);
    UntilOrPaused(row_.ts, RequestPart::kEventLoop);
    const int64_t asked_ns = row_.tokenized_ts >= 0 ? row_.tokenized_ts : row_.queued_ts;
    UntilOrPaused(asked_ns, RequestPart::kTokenizing);
    HandOverUntil(row_.queued_ts);
    const bool was_scheduled = row_.scheduled_ts >= 0;
    const int64_t left_queue_ns = was_scheduled         ? row_.scheduled_ts
                                  : row_.queued_ts >= 0 ? end_ns_
                                                        : at_ns_;
    QueueUntil(left_queue_ns);
    if (was_scheduled || !steps_of_request_.empty()) Serve();
    Until(end_ns_, RequestPart::kUnexplained);
    return std::move(pieces_);
  }

 private:
  static size_t Number(const RequestRow& row) { return static_cast<size_t>(row.request_id); }

  void Until(int64_t to_ns, RequestPart part) {
    to_ns = std::min(to_ns, end_ns_);
    if (to_ns <= at_ns_) return;
    if (!pieces_.empty() && pieces_.back().part == part) {
      pieces_.back().end_ns = to_ns;
    } else {
      pieces_.push_back({at_ns_, to_ns, part});
    }
    at_ns_ = to_ns;
  }

  // The loop's pauses are no time of the part.
  void UntilOrPaused(int64_t to_ns, RequestPart part) {
    const auto& pauses = session_.pauses;
    auto pause = std::partition_point(pauses.begin(), pauses.end(),
                                      [&](const LoopPause& one) { return one.end_ns <= at_ns_; });
    for (; pause != pauses.end() && pause->start_ns < to_ns; ++pause) {
      Until(pause->start_ns, part);
      InPause(*pause, std::min(pause->end_ns, to_ns));
    }
    Until(to_ns, part);
  }

  // When in the pause the loop's thread waited for what is unknown: each share of the pause has it.
  void InPause(const LoopPause& pause, int64_t to_ns) {
    if (pause.collects) {
      Until(to_ns, RequestPart::kGarbage);
      return;
    }
    const double share = static_cast<double>(to_ns - at_ns_) / static_cast<double>(pause.Length());
    const auto part_of = [&](int64_t ns) {
      return std::min(to_ns, at_ns_ + static_cast<int64_t>(share * static_cast<double>(ns)));
    };
    Until(part_of(pause.WaitedForProcessor()), RequestPart::kProcessor);
    Until(part_of(pause.WaitedForPages()), RequestPart::kMajorFaults);
    Until(to_ns, RequestPart::kEventLoop);
  }

  // The first step of its engine that ends behind this moment.
  size_t StepAt(int64_t ts) const {
    const auto place = std::partition_point(
        session_.steps.begin(), session_.steps.end(), [&](const EngineStep& step) {
          return step.row->engine < row_.engine ||
                 (step.row->engine == row_.engine && step.end_ns <= ts);
        });
    return static_cast<size_t>(place - session_.steps.begin());
  }
  bool IsStep(size_t place, int64_t before_ns) const {
    return place < session_.steps.size() && session_.steps[place].row->engine == row_.engine &&
           session_.steps[place].begin_ns < before_ns;
  }

  // What a step is longer than usual, and the request has not waited for yet.
  PartTimes& ExcessOf(size_t place) {
    if (place != excess_step_) {
      excess_step_ = place;
      excess_ = session_.times[place].excess;
    }
    return excess_;
  }

  // What a slow step is longer than usual, as far as the request waited in it.
  void TakeExcess(size_t place, int64_t to_ns) {
    PartTimes& excess = ExcessOf(place);
    for (size_t i = 0; i < kRequestParts; ++i) {
      const int64_t ns = std::clamp<int64_t>(to_ns - at_ns_, 0, excess.ns[i]);
      excess.ns[i] -= ns;
      Until(at_ns_ + ns, static_cast<RequestPart>(i));
    }
  }

  // Not in the engine's batch: slow steps of others hold it up, too. `wait` gets the time between
  // steps, `step` what is left of a step.
  template <class Wait, class Step>
  void WaitUntil(int64_t to_ns, const Wait& wait, const Step& in_step) {
    to_ns = std::min(to_ns, end_ns_);
    for (size_t place = StepAt(at_ns_); at_ns_ < to_ns && IsStep(place, to_ns); ++place) {
      const EngineStep& step = session_.steps[place];
      wait(std::max(at_ns_, step.begin_ns));
      TakeExcess(place, std::min(step.end_ns, to_ns));
      in_step(place, std::min(step.end_ns, to_ns));
    }
    wait(to_ns);
  }

  // An engine in a step takes requests at its end. One that is in none takes them at once; else it
  // stands still.
  void HandOverUntil(int64_t to_ns) {
    int64_t usual_ns = session_.hand_over_ns;
    const auto wait = [&](int64_t until_ns) {
      const int64_t begin_ns = at_ns_;
      UntilOrPaused(std::min(until_ns, at_ns_ + usual_ns), RequestPart::kHandOver);
      usual_ns -= at_ns_ - begin_ns;
      UntilOrPaused(until_ns, RequestPart::kEngine);
    };
    WaitUntil(to_ns, wait,
              [&](size_t, int64_t until_ns) { UntilOrPaused(until_ns, RequestPart::kHandOver); });
  }

  // Where a place was free, the prompts of others took up what a step may compute.
  void QueueUntil(int64_t to_ns) {
    const auto in_step = [&](size_t place, int64_t until_ns) {
      const store::EngineStepRow& step = *session_.steps[place].row;
      const StepTime& time = session_.times[place];
      const bool has_place = step.running_requests < session_.most_running.at(step.engine);
      if (has_place && step.prefill_tokens > 0) {
        Until(std::min(until_ns, at_ns_ + time.usual_ns - time.decode_ns),
              RequestPart::kOtherPrefill);
      }
      Until(until_ns, RequestPart::kQueue);
    };
    WaitUntil(to_ns, [&](int64_t until_ns) { Until(until_ns, RequestPart::kQueue); }, in_step);
  }

  void Serve() {
    for (const Interval& delivery : Merge(std::move(deliveries_))) {
      Compute(delivery.start_ns);
      DeliverUntil(delivery.end_ns);
    }
    Compute(last_output_ns_ >= 0 ? last_output_ns_ : end_ns_);
    if (last_output_ns_ >= 0) UntilOrPaused(end_ns_, RequestPart::kDelivery);
  }

  // The engine sends what it has made while it is in its next step: where it stands still in that
  // one, so does what it has not sent.
  void DeliverUntil(int64_t to_ns) {
    to_ns = std::min(to_ns, end_ns_);
    for (size_t place = StepAt(at_ns_); at_ns_ < to_ns && IsStep(place, to_ns); ++place) {
      const EngineStep& step = session_.steps[place];
      const int64_t over_ns = std::min(step.end_ns, to_ns);
      UntilOrPaused(step.begin_ns, RequestPart::kDelivery);
      int64_t& still_ns = ExcessOf(place)[RequestPart::kEngine];
      const int64_t ns = std::clamp<int64_t>(over_ns - at_ns_, 0, still_ns);
      still_ns -= ns;
      UntilOrPaused(at_ns_ + ns, RequestPart::kEngine);
      UntilOrPaused(over_ns, RequestPart::kDelivery);
    }
    UntilOrPaused(to_ns, RequestPart::kDelivery);
  }

  void Compute(int64_t to_ns) {
    to_ns = std::min(to_ns, end_ns_);
    for (size_t place = StepAt(at_ns_); at_ns_ < to_ns && IsStep(place, to_ns); ++place) {
      Until(session_.steps[place].begin_ns, Gap());
      InStep(place, std::min(session_.steps[place].end_ns, to_ns));
    }
    Until(to_ns, steps_of_request_.empty() ? RequestPart::kUnexplained : Gap());
  }

  RequestPart Gap() const {
    return is_preempted_ ? RequestPart::kPreemption : RequestPart::kEngine;
  }

  void InStep(size_t place, int64_t to_ns) {
    TakeExcess(place, to_ns);
    const StepTime& time = session_.times[place];
    const store::EngineStepRow& step = *session_.steps[place].row;
    const auto part = steps_of_request_.find(step.step_id);
    if (part == steps_of_request_.end()) {
      // Before its first step of all it was prepared ahead, while another one ran.
      is_preempted_ = is_preempted_ || (row_.preemptions > 0 && has_output_);
      Until(to_ns, is_preempted_                             ? RequestPart::kPreemption
                   : step.prefill_requests > 0 && has_begun_ ? RequestPart::kOtherPrefill
                                                             : RequestPart::kQueue);
      return;
    }
    has_begun_ = true;
    is_preempted_ = false;
    const RequestStepRow& own = *part->second;
    const bool again =
        has_output_ && row_.preemptions > 0 && own.tokens > own.output_tokens + own.drafted_tokens;
    const bool is_prefill = !has_output_;
    if (own.output_tokens > 0) has_output_ = true;
    const int64_t others = step.prefill_tokens - (is_prefill ? own.tokens : 0);
    const int64_t prompts_ns = time.usual_ns - time.decode_ns;
    const int64_t others_ns =
        step.prefill_tokens > 0 && others > 0
            ? static_cast<int64_t>(static_cast<double>(prompts_ns) * static_cast<double>(others) /
                                   static_cast<double>(step.prefill_tokens))
            : 0;
    Until(std::min(to_ns, at_ns_ + others_ns), RequestPart::kOtherPrefill);
    Until(to_ns, again        ? RequestPart::kPreemption
                 : is_prefill ? RequestPart::kPrefill
                              : RequestPart::kDecode);
  }

  const ServedSession& session_;
  const RequestRow& row_;
  int64_t end_ns_;
  int64_t at_ns_ = 0;
  int64_t last_output_ns_ = -1;
  size_t excess_step_ = SIZE_MAX;
  PartTimes excess_;  // of that step, not yet taken
  bool has_begun_ = false;
  bool has_output_ = false;
  bool is_preempted_ = false;
  std::map<int64_t, const RequestStepRow*> steps_of_request_;  // by number of the step
  std::vector<Interval> deliveries_;
  std::vector<PathPiece> pieces_;
};

}  // namespace

ServedSession ServedSession::Of(const store::RowTables& tables) {
  ServedSession session;
  session.tables = &tables;
  session.steps = RunningSteps(tables.Rows<store::EngineStepRow>());
  session.times = TimesOfSteps(tables, session.steps);
  session.pauses = LoopPauses(tables);
  for (const EngineStep& step : session.steps) {
    int32_t& most = session.most_running[step.row->engine];
    most = std::max(most, static_cast<int32_t>(step.row->running_requests));
  }
  std::vector<int64_t> hand_overs;
  int32_t requests = 0;
  for (const RequestRow& row : tables.Rows<RequestRow>()) {
    requests = std::max(requests, row.request_id + 1);
    if (row.tokenized_ts >= 0 && row.queued_ts >= row.tokenized_ts) {
      hand_overs.push_back(row.queued_ts - row.tokenized_ts);
    }
  }
  session.hand_over_ns = MedianOf(std::move(hand_overs));
  session.parts_of_requests.resize(static_cast<size_t>(requests));
  for (const RequestStepRow& row : tables.Rows<RequestStepRow>()) {
    if (row.request_id < 0 || row.request_id >= requests) continue;
    session.parts_of_requests[static_cast<size_t>(row.request_id)].push_back(&row);
  }
  return session;
}

int64_t DeliveredNs(const RequestRow& row) { return std::max(row.ts + row.dur, row.delivered_ts); }

int64_t WaitBeforeArrival(const RequestRow& row, const std::vector<LoopPause>& pauses) {
  if (row.loop_lag_ns >= 0) return row.loop_lag_ns;
  const auto after = std::partition_point(
      pauses.begin(), pauses.end(), [&](const LoopPause& one) { return one.start_ns <= row.ts; });
  if (after == pauses.begin()) return 0;
  const LoopPause& last = *std::prev(after);
  return row.ts <= last.end_ns + kRightAfterNs ? row.ts - last.start_ns : 0;
}

std::vector<PathPiece> PathOf(const ServedSession& session, const RequestRow& row) {
  return Path(session, row).Take();
}

PartTimes SumOf(const std::vector<PathPiece>& path) {
  return path.empty() ? PartTimes() : SumWithin(path, {path.front().begin_ns, path.back().end_ns});
}

PartTimes SumWithin(const std::vector<PathPiece>& path, const Interval& time) {
  PartTimes sum;
  for (const PathPiece& piece : path) {
    const int64_t ns =
        std::min(piece.end_ns, time.end_ns) - std::max(piece.begin_ns, time.start_ns);
    sum[piece.part] += std::max<int64_t>(ns, 0);
  }
  return sum;
}

}  // namespace sonde::recipes
