// A sample of a large trace of events: its begin, its end and some pieces in between, cut between
// events, as a trace of its own. Of a trace packed with gzip some MB of its text, as a plain file.
//
// Threads: any, distinct samples. Errors: kNotFound where a sample saves nothing, else those of
// reading and writing.
#pragma once

#include <cstddef>
#include <string>

#include "base/status.h"

namespace sonde::importers::trace_events {

// Below it a file is read about as fast as its sample.
inline constexpr size_t kSampledBytes = size_t{48} << 20U;
Status WriteSample(const std::string& path, const std::string& sample,
                   size_t least_bytes = kSampledBytes);

// Of the file, or of the timeline in the folder `path`; see Importer::preview.
Result<std::string> WriteTimelinePreview(const std::string& path, const std::string& folder);

}  // namespace sonde::importers::trace_events
