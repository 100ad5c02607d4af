// The begin of a trace file, unpacked: enough to recognize the format.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace sonde::importers::trace_events {

struct TraceHead {
  std::string text;        // the first 256 kB
  bool is_trace = false;   // an array or object of trace events, judged by the head
  bool is_object = false;  // events are in an object, with other members
  bool Has(std::string_view key) const { return text.find(key) != std::string::npos; }
};

// Names that traces usually have: .json, .trace, plain or with .gz.
bool HasTraceName(const std::string& path);

// For any name. Not a trace where the file cannot be read.
TraceHead ReadTraceHead(const std::string& path);

}  // namespace sonde::importers::trace_events
