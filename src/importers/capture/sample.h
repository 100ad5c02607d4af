// The begin of a large capture as a capture of its own: its dictionaries and first records.
//
// Threads: any, distinct samples. Errors: kNotFound where a sample saves nothing, else those of
// reading and writing.
#pragma once

#include <cstddef>
#include <string>

#include "base/status.h"

namespace sonde::importers {

// Below it a capture is read about as fast as its sample.
inline constexpr size_t kSampledCaptureBytes = size_t{64} << 20U;
// `sample` becomes the folder of the capture.
Status WriteCaptureSample(const std::string& path, const std::string& sample,
                          size_t least_bytes = kSampledCaptureBytes);

// See Importer::preview.
Result<std::string> WriteCapturePreview(const std::string& path, const std::string& folder);

}  // namespace sonde::importers
