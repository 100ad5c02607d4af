// Events of a server of language models besides operators, and the tables made of them.
//
// The server's processes (front-end, engine, ranks) record requests and engine steps by flows,
// marks and counters (python/sonde/vllm/_marks.py), with the same keys in all of them. Events are
// extracted from one capture at a time; the tables take those of all captures of a session.
// Units: nanoseconds of the Unix epoch. Pure, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "importers/capture/trace.h"
#include "store/name_pool.h"
#include "store/rows.h"

namespace sonde::importers::capture_import {

inline constexpr std::string_view kServingDomain = "sonde.serving";

// Whether a flow is one of the server's and not of the user.
inline bool IsServingFlow(std::string_view name) { return name.starts_with("sonde."); }

enum class ServingKind : uint8_t {
  kStep,       // of an engine step: in the range of its scheduling, in the step of a rank
  kUpdate,     // of an engine step: in the range that deals with its output
  kPrefill,    // of a request: takes part in the step being scheduled, with value tokens
  kDecode,     // the same
  kCached,     // value tokens of its prompt were in the prefix cache
  kPreempt,    // it is put back into the queue
  kDrafted,    // value tokens were proposed for it
  kOutput,     // value tokens came out of the engine
  kToken,      // value tokens reached the front-end
  kSent,       // a piece of its stream was sent
  kAnswered,   // its answer is complete
  kDelivered,  // what the client had not taken by then has left the server
};

struct ServingFlow {
  int64_t ts = 0;
  uint64_t key = 0;
  int64_t value = 0;
  int64_t range_ts = 0;   // the range in which it was recorded
  int64_t range_end = 0;  // kOpenEnd where that had not ended
  int32_t slice_id = -1;  // the same
  ServingKind kind = ServingKind::kStep;
  bool out = false;
};

// kKnown: the front-end had it before the recording.
enum class RequestMoment : uint8_t { kArrived, kKnown, kQueued, kFinished, kDone };

// A mark with facts; -1 and "": unknown.
struct RequestFact {
  int64_t ts = 0;
  RequestMoment moment = RequestMoment::kArrived;
  uint64_t key = 0;
  std::string name;
  std::string reason;
  int64_t arrival_ns = -1;
  int64_t prompt_tokens = -1;
  int64_t output_tokens = -1;  // before the recording
  int64_t preemptions = -1;
  int64_t loop_lag_ns = -1;
  int64_t max_tokens = -1;
  std::string sampling;  // JSON object
  std::string lora;
  std::string traceparent;   // headers of HTTP
  std::string x_request_id;  // the same
  int32_t slice_id = -1;
  bool is_queued = false;  // at this moment; else the engine had it before the recording
};

struct ServingRange {
  int64_t ts = 0;
  int64_t end = 0;
  int32_t slice_id = -1;
  ProcessorUse use = {};
};

struct ServingEvents {
  int32_t process_id = 0;
  int64_t begin_ns = 0;             // of the recording
  std::vector<ServingFlow> flows;   // by time
  std::vector<RequestFact> facts;   // by time
  std::vector<ServingRange> steps;  // ranges of engine steps, by begin
  std::vector<CounterInstant> running;
  std::vector<CounterInstant> waiting;
  std::vector<CounterInstant> kv_use;

  bool empty() const { return flows.empty() && facts.empty(); }
};

ServingEvents FindServingEvents(const CaptureTrace& trace);

struct ServingRows {
  std::vector<store::RequestRow> requests;
  std::vector<store::EngineStepRow> engine_steps;
  std::vector<store::RequestStepRow> request_steps;
  std::vector<store::FlowRow> flows;  // numbered from `next_flow`
};

ServingRows MakeServingRows(const std::vector<ServingEvents>& parts, int32_t next_flow,
                            store::NamePool& names);
Status WriteServingRows(const ServingRows& rows, store::Transaction& transaction);

}  // namespace sonde::importers::capture_import
