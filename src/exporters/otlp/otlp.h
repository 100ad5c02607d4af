// The requests of a server as traces of OpenTelemetry: for Jaeger, Tempo, and whatever else takes
// OTLP.
//
// otlp_traces.jsonl lies in the folder of the session. Each line is the body of a request to
// /v1/traces in the JSON encoding of OTLP. A request is one span, named as the GenAI conventions
// have it, with a child for each piece of its path (request_spans.h). A valid `traceparent` of its
// client makes it part of that trace. Requests that had not ended when recording ended have no
// span.
#pragma once

#include <string_view>

#include "exporters/exporter.h"

namespace sonde::exporters {

inline constexpr std::string_view kOtlpFile = "otlp_traces.jsonl";

Status ExportOtlp(const ExportContext& context);

}  // namespace sonde::exporters
