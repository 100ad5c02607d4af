// Reads one event object after another from a piece of JSON text in memory.
//
// Threads: one scanner a thread. Bad input never reads outside [begin, end).
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "importers/trace_events/event.h"
#include "importers/trace_events/event_shapes.h"

namespace sonde::importers::trace_events {

enum class ScanResult {
  kEvent,       // an event, maybe one that the caller has to refuse: see EventProblem
  kIncomplete,  // the text ends inside the object
  kBad,         // no JSON object
};

enum class EventProblem {
  kNone,
  kNoPhase,  // an object without "ph"
  kBadTime,  // "ts" or "dur" is missing where it must not, or is no number that fits
};

class EventScanner {
 public:
  // `begin` is at '{', `event` as it is made. On kEvent `behind` is the place behind its '}'; the
  // texts of `event` refer to the scanned text, or live until ForgetTexts.
  ScanResult Scan(const char* begin, const char* end, TraceEvent& event, const char*& behind);
  EventProblem problem() const { return problem_; }

  void ForgetTexts() { texts_.clear(); }
  // Strings with quotes that should have been escaped, so far.
  int64_t repaired_strings() const { return repaired_; }

 private:
  struct Value {
    std::string_view text;  // of a string: without its quotes, escaped
    bool is_string = false;
    bool escaped = false;
  };

  ScanResult ScanOnce(const char* begin, const char* end, TraceEvent& event, const char*& behind);
  enum class Step { kValue, kEnd, kIncomplete, kBad };
  static Step ReadKey(const char*& p, const char* end, EventField& field, std::string_view& key);
  const char* ReadFieldValue(EventField field, std::string_view key, const char* p, const char* end,
                             TraceEvent& event);
  void LearnValue(EventField field, const char* p, const char* behind, const TraceEvent& event);
  const char* ReadPlain(EventField field, const char* p, const char* end, TraceEvent& event);
  static const char* ReadPlainTime(const char* p, const char* end, int64_t& ns, bool& has);
  const char* ReadValue(const char* p, const char* end, Value& value);
  const char* ReadUnescapedName(const char* p, const char* end, Value& value);
  void TakeField(EventField field, const Value& value, TraceEvent& event);
  std::string_view Text(const Value& value);
  static char PhaseOf(std::string_view text);
  void TakeTime(const Value& value, int64_t& ns, bool& has);
  void JoinSliceFacts(TraceEvent& event);
  void Finish(TraceEvent& event);

  EventShapes shapes_;
  EventProblem problem_ = EventProblem::kNone;
  bool careful_ = false;  // the name may hold quotes that look like its end
  bool bad_time_ = false;
  int64_t repaired_ = 0;
  std::vector<std::pair<std::string_view, Value>> slice_facts_;  // key and value of kSliceFact
  std::deque<std::string> texts_;                                // unescaped ones
};

// The first place in [p, end) where an event object may begin: '{' followed by a key that events
// begin with. nullptr where there is none.
const char* FindEventBegin(const char* p, const char* end);

// A place between two events that follows `p`, for cutting a file in pieces: '{' of an event behind
// "}," or "},\n". Such text cannot be inside a JSON string; the caller must check that it is not
// inside an event's arguments. nullptr where there is none.
const char* FindEventBoundary(const char* p, const char* end);

}  // namespace sonde::importers::trace_events
