// A provisional look at a large trace while it is imported: its begin, its end and pieces in
// between, read as a trace of their own; of one packed with gzip, and of a capture of Sonde, the
// begin. Of text traces, databases of Ascend's profilers and captures.
//
// Threads: any. Errors: kNotFound where there is nothing to gain (a small trace, other formats),
// else those of the import; the session then goes on without.
#pragma once

#include <memory>
#include <string>

#include "base/host/private_folder.h"
#include "base/status.h"
#include "importers/registry.h"
#include "store/store.h"

namespace sonde::serve {

// Copies the begin, the end and some pieces in between, cut between events; of a packed file some
// MB of its text, as a plain file. kNotFound where the
// file is smaller than `least_bytes`, which is read about as fast as its sample, or no events are
// found.
inline constexpr size_t kSampledBytes = size_t{48} << 20U;
Status WriteSample(const std::string& path, const std::string& sample,
                   size_t least_bytes = kSampledBytes);

// The begin of a capture as a capture of its own, in the folder `sample`: its dictionaries and what
// was recorded first. kNotFound where all that was recorded is smaller than `least_bytes`.
inline constexpr size_t kSampledCaptureBytes = size_t{64} << 20U;
Status WriteCaptureSample(const std::string& path, const std::string& sample,
                          size_t least_bytes = kSampledCaptureBytes);

// The store of such a sample, in `folder`.
Result<std::unique_ptr<store::Store>> MakePreview(const importers::TraceSource& source,
                                                  const base::PrivateFolder& folder);

}  // namespace sonde::serve
