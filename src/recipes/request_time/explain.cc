#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "recipes/finding/limits.h"
#include "recipes/request_time/request_time.h"
#include "recipes/request_time/usual.h"

namespace sonde::recipes {
namespace {

using store::RequestRow;
using store::RequestStepRow;

// By which size of a request a part grows.
enum class Grows : uint8_t { kNot, kWithPrompt, kWithOutput };

Grows GrowthOf(RequestPart part) {
  switch (part) {
    case RequestPart::kTokenizing:
    case RequestPart::kPrefill:
      return Grows::kWithPrompt;
    case RequestPart::kDecode:
    case RequestPart::kOtherPrefill:
    case RequestPart::kEngine:
    case RequestPart::kComputing:
    case RequestPart::kCommunication:
    case RequestPart::kProcessor:
    case RequestPart::kMajorFaults:
    case RequestPart::kSlowStep:
    case RequestPart::kDelivery:
      return Grows::kWithOutput;
    default:
      return Grows::kNot;
  }
}

int64_t SizeOf(RequestPart part, const RequestRow& row) {
  switch (GrowthOf(part)) {
    case Grows::kWithPrompt:
      return std::max<int64_t>(row.prompt_tokens, 1);
    case Grows::kWithOutput:
      return std::max<int64_t>(row.output_tokens, 1);
    case Grows::kNot:
      break;
  }
  return 1;
}

// The request's own work: with nothing to compare with, it is as usual. All else is waiting, of
// which nothing is usual then.
bool IsOwnWork(RequestPart part) {
  return part == RequestPart::kPrefill || part == RequestPart::kDecode;
}

// Between two pieces of output; begin and end are the same where there are none.
Interval LongestPause(const std::vector<const RequestStepRow*>& parts) {
  std::vector<int64_t> moments;
  for (const RequestStepRow* part : parts) {
    const int64_t ts = part->sent_ts >= 0 ? part->sent_ts : part->output_ts;
    if (part->output_tokens > 0 && ts >= 0) moments.push_back(ts);
  }
  std::sort(moments.begin(), moments.end());
  Interval longest;
  for (size_t i = 1; i < moments.size(); ++i) {
    if (moments[i] - moments[i - 1] > longest.end_ns - longest.start_ns) {
      longest = {moments[i - 1], moments[i]};
    }
  }
  return longest;
}

// The rank for which the others waited longest.
int32_t SlowRankOf(const ServedSession& session, const RequestRow& row) {
  int64_t longest = 0;
  int32_t rank = -1;
  for (size_t i = 0; i < session.steps.size(); ++i) {
    const EngineStep& step = session.steps[i];
    const int64_t wait = session.times[i].excess[RequestPart::kRankWait];
    const bool is_within = step.end_ns > row.ts && step.begin_ns < row.ts + row.dur;
    if (wait <= longest || !is_within || step.row->engine != row.engine) continue;
    longest = wait;
    rank = session.times[i].slow_rank;
  }
  return rank;
}

RequestTime TimeOf(const ServedSession& session, const RequestRow& row) {
  RequestTime time;
  time.row = &row;
  time.name = NameIn(*session.tables, row.name);
  const std::vector<PathPiece> path = PathOf(session, row);
  time.whole.parts = SumOf(path);
  time.client_ns = time.whole.parts.Sum();
  if (row.ttft_ns >= 0) {
    time.ttft_ns = row.ttft_ns + (time.client_ns - (DeliveredNs(row) - row.ts));
    time.first.parts = SumWithin(path, {row.ts + row.ttft_ns - time.ttft_ns, row.ts + row.ttft_ns});
  }
  const Interval pause =
      LongestPause(session.parts_of_requests[static_cast<size_t>(row.request_id)]);
  if (pause.end_ns > pause.start_ns) {
    time.pause_ns = pause.end_ns - pause.start_ns;
    time.pause.parts = SumWithin(path, pause);
  }
  if (time.whole.parts[RequestPart::kRankWait] > 0) time.slow_rank = SlowRankOf(session, row);
  return time;
}

// The first token does not wait for the others, and a pause is between two.
bool GrowsWithin(StretchTime RequestTime::* stretch, RequestPart part) {
  if (stretch == &RequestTime::whole) return true;
  return stretch == &RequestTime::first && GrowthOf(part) == Grows::kWithPrompt;
}

void FindUsual(std::vector<RequestTime>& requests, StretchTime RequestTime::* stretch) {
  for (size_t i = 0; i < kRequestParts; ++i) {
    const auto part = static_cast<RequestPart>(i);
    const bool grows = GrowsWithin(stretch, part);
    const auto size = [&](const RequestTime& one) { return grows ? SizeOf(part, *one.row) : 1; };
    std::vector<std::pair<int64_t, int64_t>> values;
    for (const RequestTime& one : requests) {
      const PartTimes& parts = (one.*stretch).parts;
      if (parts.Sum() > 0) values.emplace_back(size(one), parts[part]);
    }
    const UsualBySize usual(values);
    for (RequestTime& one : requests) {
      StretchTime& time = one.*stretch;
      time.usual[part] = usual.is_known()  ? usual.Of(size(one), time.parts[part])
                         : IsOwnWork(part) ? time.parts[part]
                                           : 0;
    }
  }
}

// What is beyond a robust limit: of `values` (time and what of it is usual).
class SlowLimit {
 public:
  SlowLimit(const std::vector<std::pair<int64_t, int64_t>>& values, double share, double least_ms)
      : share_(share), least_ns_(least_ms * 1e6) {
    std::vector<int64_t> rests;
    rests.reserve(values.size());
    for (const auto& [time, usual] : values) rests.push_back(time - usual);
    spread_ns_ = SpreadOf(rests);
  }
  // Marks a request in which this is beyond, and keeps what a cause of that is at least.
  bool Mark(RequestTime& one, int64_t time, int64_t usual) const {
    const double limit =
        std::max({kSlowSpreads.value * spread_ns_,
                  share_ * static_cast<double>(std::max<int64_t>(usual, 0)), least_ns_});
    if (static_cast<double>(time - usual) <= limit) return false;
    one.is_slow = true;
    one.least_cause_ns = std::llround(std::max(kReasonShare.value * limit, least_ns_));
    return true;
  }

 private:
  double share_;
  double least_ns_;
  double spread_ns_ = 0;
};

// A measure that has one usual value; for the first token without the request's own prefill. What
// is slow of a request is what exceeds its usual by most; its whole time goes before both.
void MarkByMeasure(std::vector<RequestTime>& requests, int64_t RequestTime::* measure,
                   StretchTime RequestTime::* stretch, double share, double least_ms) {
  const bool less_prefill = stretch == &RequestTime::first;
  std::vector<int64_t> rests;
  const auto own = [&](const RequestTime& one) {
    return less_prefill ? one.whole.parts[RequestPart::kPrefill] : 0;
  };
  for (const RequestTime& one : requests) {
    if (one.*measure >= 0) rests.push_back(one.*measure - own(one));
  }
  const int64_t median = MedianOf(rests);
  std::vector<std::pair<int64_t, int64_t>> values;
  for (const int64_t rest : rests) values.emplace_back(rest, median);
  const SlowLimit limit(values, share, least_ms);
  for (RequestTime& one : requests) {
    const int64_t excess = one.*measure - median - own(one);
    if (one.*measure < 0 || (one.is_slow && excess <= one.slow_excess_ns)) continue;
    if (!limit.Mark(one, one.*measure, median + own(one))) continue;
    one.slow = stretch;
    one.slow_excess_ns = excess;
  }
}

void MarkSlow(std::vector<RequestTime>& requests) {
  std::vector<std::pair<int64_t, int64_t>> values;
  for (const RequestTime& one : requests) values.emplace_back(one.client_ns, one.usual_ns);
  const SlowLimit limit(values, kSlowRequestShare.value, kSlowRequestMs.value);
  for (RequestTime& one : requests) {
    if (limit.Mark(one, one.client_ns, one.usual_ns)) one.slow_excess_ns = INT64_MAX;
  }
  constexpr size_t kComparable = 3;
  if (requests.size() < kComparable) return;
  MarkByMeasure(requests, &RequestTime::ttft_ns, &RequestTime::first, kSlowTtftShare.value,
                kSlowTtftMs.value);
  MarkByMeasure(requests, &RequestTime::pause_ns, &RequestTime::pause, kSlowPauseShare.value,
                kSlowPauseMs.value);
}

void MarkByObjectives(std::vector<RequestTime>& requests, const Objectives& objectives) {
  const auto misses = [](int64_t time, int64_t objective) {
    return objective > 0 && time > objective;
  };
  for (RequestTime& one : requests) {
    one.is_slow = true;
    if (misses(one.client_ns, objectives.e2e_ns)) {
      one.slow = &RequestTime::whole;
    } else if (misses(one.ttft_ns, objectives.ttft_ns)) {
      one.slow = &RequestTime::first;
    } else if (misses(one.pause_ns, objectives.itl_ns)) {
      one.slow = &RequestTime::pause;
    } else {
      one.is_slow = false;
    }
  }
}

void FindReasons(RequestTime& one) {
  const StretchTime& time = one.*one.slow;
  std::vector<RequestReason> excess;
  for (size_t i = 0; i < kRequestParts; ++i) {
    const auto part = static_cast<RequestPart>(i);
    excess.push_back({part, time.Excess(part)});
  }
  std::sort(excess.begin(), excess.end(), [](const RequestReason& a, const RequestReason& b) {
    return a.excess_ns > b.excess_ns;
  });
  const int64_t all = std::max(time.parts.Sum() - time.usual.Sum(), excess.front().excess_ns);
  if (excess.front().excess_ns <= 0) return;
  one.reasons.push_back(excess[0]);
  const double half = kReasonShare.value * static_cast<double>(all);
  if (static_cast<double>(excess[0].excess_ns) >= half || excess[1].excess_ns <= 0) return;
  one.reasons.push_back(excess[1]);
}

// Of the part, where it is a reason of the request; else 0.
int64_t ExcessOf(const RequestTime& one, RequestPart part) {
  for (const RequestReason& reason : one.reasons) {
    if (reason.part == part) return reason.excess_ns;
  }
  return 0;
}

double P99(const std::vector<RequestTime>& requests, RequestPart without, bool has_all) {
  std::vector<int64_t> times;
  times.reserve(requests.size());
  for (const RequestTime& one : requests) {
    const int64_t of_part = has_all || !one.is_slow ? 0 : ExcessOf(one, without);
    const int64_t excess = std::min(of_part, one.client_ns - one.usual_ns);
    times.push_back(one.client_ns - std::max<int64_t>(excess, 0));
  }
  std::sort(times.begin(), times.end());
  constexpr double kP99 = 0.99;
  return QuantileOf(times, kP99);
}

SlowCause CauseOf(const ServedSession& session, const std::vector<RequestTime>& requests,
                  RequestPart part, const std::vector<const RequestTime*>& slow) {
  SlowCause cause;
  cause.part = part;
  cause.requests = static_cast<int64_t>(slow.size());
  cause.p99_ns = std::llround(P99(requests, part, true));
  cause.p99_without_ns = std::llround(P99(requests, part, false));
  cause.begin_ns = INT64_MAX;
  std::vector<int64_t> waits;
  for (const RequestTime* one : slow) {
    waits.push_back(ExcessOf(*one, part));
    if (cause.slow_rank < 0) cause.slow_rank = one->slow_rank;
    // The short waits that are usual do not belong to the cause.
    int64_t longest = 0;
    const std::vector<PathPiece> path = PathOf(session, *one->row);
    for (const PathPiece& piece : path) {
      if (piece.part == part) longest = std::max(longest, piece.end_ns - piece.begin_ns);
    }
    constexpr int64_t kMuch = 4;
    for (const PathPiece& piece : path) {
      if (piece.part != part || piece.end_ns - piece.begin_ns < longest / kMuch) continue;
      cause.begin_ns = std::min(cause.begin_ns, piece.begin_ns);
      cause.end_ns = std::max(cause.end_ns, piece.end_ns);
    }
  }
  cause.wait_ns = MedianOf(std::move(waits));
  return cause;
}

void FindCauses(const ServedSession& session, RequestTimes& times) {
  std::map<RequestPart, std::vector<const RequestTime*>> slow;
  for (const RequestTime& one : times.requests) {
    if (!one.is_slow) continue;
    for (const RequestReason& reason : one.reasons) {
      if (reason.excess_ns >= one.least_cause_ns) slow[reason.part].push_back(&one);
    }
  }
  for (const auto& [part, requests] : slow) {
    times.causes.push_back(CauseOf(session, times.requests, part, requests));
  }
  std::stable_sort(
      times.causes.begin(), times.causes.end(), [](const SlowCause& a, const SlowCause& b) {
        return a.p99_without_ns != b.p99_without_ns ? a.p99_without_ns < b.p99_without_ns
                                                    : a.requests > b.requests;
      });
}

}  // namespace

RequestTimes ExplainRequests(const store::RowTables& tables, const Objectives& objectives) {
  const ServedSession session = ServedSession::Of(tables);
  RequestTimes times;
  times.begin_ns = INT64_MAX;
  for (const RequestRow& row : tables.Rows<RequestRow>()) {
    times.begin_ns = std::min(times.begin_ns, row.ts);
    if (row.is_whole != 0) times.requests.push_back(TimeOf(session, row));
  }
  for (const auto stretch : {&RequestTime::whole, &RequestTime::first, &RequestTime::pause}) {
    FindUsual(times.requests, stretch);
  }
  for (RequestTime& one : times.requests) one.usual_ns = one.whole.usual.Sum();
  objectives.any() ? MarkByObjectives(times.requests, objectives) : MarkSlow(times.requests);
  for (RequestTime& one : times.requests) FindReasons(one);
  FindCauses(session, times);
  return times;
}

}  // namespace sonde::recipes
