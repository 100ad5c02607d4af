// One event of a trace in the Chrome trace event format, and the interface of sinks for events.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/status.h"

namespace sonde::importers::trace_events {

// The phase of an event whose "ph" has more than one character; no writer uses this value.
inline constexpr char kUnknownPhase = '\x7f';

// Texts are views that live until TakeEvents returns; those of the file's strings are unescaped.
struct TraceEvent {
  char phase = 0;             // 'X', 'B', 'E', 'b', 'n', 'e', 'i', 'C', 'M', 's', 't', 'f', ...
  bool has_ts = false;        // events of phase 'M' need none
  bool has_dur = false;       //
  bool id_is_text = false;    // the id was in quotes
  bool flow_in = false;       // an arrow of `bind_id` ends at this event
  bool flow_out = false;      // one begins here
  bool has_more = false;      // thread clock or stack frames that nothing takes
  int64_t ts_ns = 0;          // from decimal microseconds, beyond the third rounded half to even
  int64_t dur_ns = 0;         // the same; may be negative in the file
  std::string_view name;      //
  std::string_view category;  // "cat"
  std::string_view pid;       // the text of a number or string
  std::string_view tid;       //
  std::string_view id;        // "id" or the text of the object "id2"
  std::string_view bind;      // "bp"
  std::string_view bind_id;   // of arrows that are recorded by the events at their ends
  std::string_view scope;     // "s" of an instant, "scope" of an asynchronous event
  std::string_view args;      // JSON text of the object with its braces, "" where there is none;
                              // with thread clock and stack frames where the phase has a place
  uint64_t position = 0;      // of its '{' in the (unpacked) file
};

class EventSink {
 public:
  virtual ~EventSink() = default;
  // Some hundred events, in the order of the file. A failure ends the reading and is returned.
  virtual Status TakeEvents(std::span<const TraceEvent> events) = 0;
  // The other members of a file that is an object, as JSON text; may come before or after the
  // events.
  virtual void TakeMetadata(std::string_view /*key*/, std::string_view /*json*/) {}
};

}  // namespace sonde::importers::trace_events
