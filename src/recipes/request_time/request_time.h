// Why requests took as long as they did: for each whole request the parts of its time, what a
// request of its size usually takes in this session, and the reason for the difference.
//
// The reason of a request is the part with the largest excess; the second is named, too, where the
// first explains less than half. A request is slow where its time, its time to the first token or
// its longest pause is beyond what the other requests of the session make usual (limits.h), or
// beyond an objective that the user gave; its reason is of the first of these three. Causes are
// reasons of slow requests that are half of that limit or more, each once with all its requests.
// Units: nanoseconds. Pure, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "recipes/finding/finding.h"
#include "recipes/request_time/path.h"
#include "store/result_info.h"

namespace sonde::recipes {

// Objectives of a user; 0: none.
struct Objectives {
  int64_t ttft_ns = 0;
  int64_t itl_ns = 0;  // the longest pause between two pieces of output
  int64_t e2e_ns = 0;

  bool any() const { return ttft_ns > 0 || itl_ns > 0 || e2e_ns > 0; }
};
// "ttft=500ms,itl=50ms,e2e=2s".
Result<Objectives> ParseObjectives(std::string_view text);

// A request or a stretch of it, and what that usually is.
struct StretchTime {
  PartTimes parts;
  PartTimes usual;

  int64_t Excess(RequestPart part) const { return parts[part] - usual[part]; }
};

struct RequestReason {
  RequestPart part = RequestPart::kUnexplained;
  int64_t excess_ns = 0;
};

struct RequestTime {
  const store::RequestRow* row = nullptr;
  std::string_view name;
  StretchTime whole;
  StretchTime first;      // to its first token
  StretchTime pause;      // the longest between two pieces of output
  int64_t client_ns = 0;  // the sum of the parts: with the wait before the arrival
  int64_t usual_ns = 0;
  int64_t ttft_ns = -1;   // the same of the first token
  int64_t pause_ns = -1;  // the longest between two pieces of output
  bool is_slow = false;
  int64_t least_cause_ns = 0;                             // what is less does not make it slow
  StretchTime RequestTime::* slow = &RequestTime::whole;  // what of it is slow
  int64_t slow_excess_ns = 0;                             // of that; of the whole time: no limit
  std::vector<RequestReason> reasons;                     // none, one or two: largest excess first
  int32_t slow_rank = -1;                                 // where ranks waited for it
};

// Requests that are slow for one reason.
struct SlowCause {
  RequestPart part = RequestPart::kUnexplained;
  int64_t requests = 0;
  int64_t wait_ns = 0;         // the median excess of those requests in that part
  int64_t p99_ns = 0;          // of all whole requests
  int64_t p99_without_ns = 0;  // the same without that excess
  int64_t begin_ns = 0;        // of the first and the end of the last wait
  int64_t end_ns = 0;
  int32_t slow_rank = -1;
};

struct RequestTimes {
  std::vector<RequestTime> requests;  // whole ones, in the order of the table
  std::vector<SlowCause> causes;      // the one that changes P99 most first
  int64_t begin_ns = 0;               // the first arrival
};

RequestTimes ExplainRequests(const store::RowTables& tables, const Objectives& objectives = {});

// The reason as a key of finding/texts.inc with its arguments; the same in words.
std::vector<std::string> ReasonParts(const RequestTime& time);
std::string ReasonOf(const RequestTime& time, Language language = Language::kEnglish);
// The same of a cause: the whole sentence.
std::vector<std::string> CauseParts(const RequestTimes& times, const SlowCause& cause);

// A column for each part, in the order of parts.h.
#define SONDE_COLUMNS_REQUEST_TIME(C)                                                             \
  C(request_id, Int, "", KeyOf("request"), "number of the request")                               \
  C(name, Text, "", kLabel, "the server's id of it")                                              \
  C(is_slow, Int, "", kLabel, "1: beyond what is usual in this session")                          \
  C(why, OptText, "", kLabel, "part with the largest excess over what is usual")                  \
  C(why_next, OptText, "", kLabel, "the second, where the first explains less than half")         \
  C(why_excess_ns, Int, "ns", kNeither, "excess of the first")                                    \
  C(text_key, Text, "", kLabel, "of the reason in src/recipes/finding/texts.inc")                 \
  C(arguments, Text, "", kLabel, "what that text is filled with, a JSON list")                    \
  C(reason, Text, "", kLabel, "the reason in English")                                            \
  C(reason_zh, Text, "", kLabel, "the reason in Chinese")                                         \
  C(client_ns, Int, "ns", kLess, "the sum of its parts: from the wait before its arrival on")     \
  C(usual_ns, Int, "ns", kNeither, "what a request of its size usually takes in this session")    \
  C(ttft_ns, Opt, "ns", kLess, "time to first token, with the wait before its arrival")           \
  C(longest_pause_ns, Opt, "ns", kLess, "the longest pause between two pieces of its output")     \
  C(event_loop_ns, Int, "ns", kLess, "the front-end's event loop stood still")                    \
  C(tokenizing_ns, Int, "ns", kLess, "in the front-end, until the engine was asked")              \
  C(hand_over_ns, Int, "ns", kLess, "until the engine took it from the front-end")                \
  C(queue_ns, Int, "ns", kLess, "in the engine's queue")                                          \
  C(prefill_ns, Int, "ns", kLess, "computing its own prompt")                                     \
  C(other_prefill_ns, Int, "ns", kLess, "prompts of others in its steps")                         \
  C(preemption_ns, Int, "ns", kLess, "put back into the queue, and computed again")               \
  C(decode_ns, Int, "ns", kLess, "computing its tokens, in steps of usual length")                \
  C(engine_ns, Int, "ns", kLess, "longer than usual: the engine outside the work of its ranks")   \
  C(computing_ns, Int, "ns", kLess, "longer than usual: the ranks' own work")                     \
  C(communication_ns, Int, "ns", kLess, "longer than usual: communication of the ranks")          \
  C(rank_wait_ns, Int, "ns", kLess, "longer than usual: ranks waited for a slower one")           \
  C(processor_ns, Int, "ns", kLess, "longer than usual: waiting for a processor")                 \
  C(major_faults_ns, Int, "ns", kLess, "longer than usual: pages read from a disk or swap")       \
  C(compiling_ns, Int, "ns", kLess, "longer than usual: code was compiled")                       \
  C(garbage_collection_ns, Int, "ns", kLess, "garbage was collected, in the front-end or a step") \
  C(slow_step_ns, Int, "ns", kLess, "longer than usual: steps whose ranks were not recorded")     \
  C(delivery_ns, Int, "ns", kLess, "from the engine's output to the client")                      \
  C(unexplained_ns, Int, "ns", kLess, "not explained by anything recorded")
SONDE_RESULT(RequestTimeRow, kRequestTime, "request_time", SONDE_COLUMNS_REQUEST_TIME,
             "the parts of the time of a whole request, and why it took longer than usual")

#define SONDE_COLUMNS_REQUEST_PATH(C)                                                        \
  C(request_id, Int, "", KeyOf("request"), "the request")                                    \
  C(part, Text, "", KeyOf("request_part"), "what its client waited for, as in request_time") \
  C(label, Text, "", kLabel, "the part in English")                                          \
  C(label_zh, Text, "", kLabel, "the part in Chinese")                                       \
  C(start_ns, Int, "ns", kLabel, "begin of the piece")                                       \
  C(dur_ns, Int, "ns", kNeither, "duration")
SONDE_RESULT(RequestPathRow, kRequestPath, "request_path", SONDE_COLUMNS_REQUEST_PATH,
             "a piece of the path of a request: what its client waited for at that time")

#define SONDE_COLUMNS_LOOP_PAUSE(C)                                                \
  C(start_ns, Int, "ns", KeyOf("time"), "begin: when the loop was due to be back") \
  C(dur_ns, Int, "ns", kLess, "until it was")                                      \
  C(processor_ns, Opt, "ns", kLess, "its thread ran")                              \
  C(processor_wait_ns, Opt, "ns", kLess, "its thread waited for a processor")      \
  C(major_faults, Opt, "", kLess, "pages that the front-end waited for")
SONDE_RESULT(LoopPauseRow, kLoopPause, "loop_pause", SONDE_COLUMNS_LOOP_PAUSE,
             "a pause of the front-end's event loop of 1 ms and more")

}  // namespace sonde::recipes
