// Files next to ASCEND_PROFILER_OUTPUT: profiler_info_<rank>.json (how the capture was made) and
// profiler_metadata.json (the job's own description), from the capture's metadata.
//
// Written whatever the form of the deliverables; both small. Errors: Status.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exporters/exporter.h"

namespace sonde::exporters {

Status WriteSpanFiles(const ExportContext& context);

// The texts, for tests. Metadata is "" where the job gave none.
std::string ProfilerInfoJson(const recipes::DeviceView& view);
std::string ProfilerMetadataJson(const recipes::TraceData& data);
// What profiler_metadata.json and the table META_DATA hold: keys and their JSON, in order. Parallel
// sizes (distributed_args) only where the job gave them all, as their readers need.
std::vector<std::pair<std::string, std::string>> ProfilerMetadata(const recipes::TraceData& data);
// JSON text laid out with four blanks a level, members in their order.
std::string IndentJson(std::string_view json);

}  // namespace sonde::exporters
