// One request of a server as spans: itself, and a child for each piece of its path.
//
// Names and attributes are those of OpenTelemetry's conventions for generative AI where these have
// some; all else begins with `sonde.`. Pieces of decoding and delivery take turns with each token:
// a run of them is one span, with the time of each in its attributes. Units: nanoseconds of the
// Unix epoch. Pure, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "recipes/request_time/request_time.h"

namespace sonde::exporters {

struct SpanAttribute {
  std::string key;
  // A list holds texts.
  std::variant<std::string, int64_t, double, bool, std::vector<std::string>> value;
};

enum class SpanKind : uint8_t { kInternal = 1, kServer = 2 };

struct Span {
  std::string trace_id;  // hexadecimal, as in trace_ids.h
  std::string span_id;
  std::string parent_id;  // "": none
  uint32_t flags = 0;
  std::string name;
  SpanKind kind = SpanKind::kInternal;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  std::vector<SpanAttribute> attributes;
  std::vector<std::pair<std::string, int64_t>> events;  // name and time
  std::string error;                                    // "": none
};

// What the requests of a session have in common.
struct SpannedSession {
  const recipes::ServedSession& served;
  std::string name;
  std::string model;  // "": not recorded
};

// The first is the request. `time`: null where the request is not whole; then it has no children.
std::vector<Span> SpansOf(const SpannedSession& session, const store::RequestRow& row,
                          const recipes::RequestTime* time);

}  // namespace sonde::exporters
