// Identifiers of traces and spans: those of a client's header, and made ones.
//
// Made ones depend only on what they are made of, in every version: exported again, a request is
// the same span. Pure, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sonde::exporters {

// The header `traceparent` of W3C Trace Context. Ids are lower-case hexadecimal.
struct TraceParent {
  std::string_view trace_id;  // 32 digits
  std::string_view span_id;   // 16 digits
  uint8_t flags = 0;
};
// None for what the standard does not take. The parts refer to `header`.
std::optional<TraceParent> ParseTraceParent(std::string_view header);

// Not 0, which stands for none.
std::string MakeTraceId(std::string_view session, std::string_view request);
std::string MakeSpanId(std::string_view trace_id, std::string_view session, int64_t request,
                       int64_t place);

}  // namespace sonde::exporters
