// The begin of a trace file, unpacked: enough to tell what the file is.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace sonde::importers::trace_events {

struct TraceHead {
  std::string text;        // the first 256 kB
  bool is_trace = false;   // an array or object of trace events, as far as can be seen
  bool is_object = false;  // events lie in an object, with facts beside them
  bool Has(std::string_view key) const { return text.find(key) != std::string::npos; }
};

// Names that traces usually have: .json, .trace, plain or with .gz.
bool HasTraceName(const std::string& path);

// Whatever the name. Not a trace where the file cannot be read.
TraceHead ReadTraceHead(const std::string& path);

}  // namespace sonde::importers::trace_events
