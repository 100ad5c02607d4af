// Importer of Sonde's own captures: a span folder with a SONDE folder inside.
//
// Records of a process become slices, framework ops, device tasks (the CPU as device),
// communication ops, memory, flows, marks and steps of a store; garbled, cut and missing parts
// become import issues. Fails only where there is no readable capture or the store cannot be
// written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "importers/capture/tick_clock.h"
#include "importers/importer.h"
#include "store/store.h"

namespace sonde::importers {

// True for a span folder or the SONDE folder of a capture.
bool IsCapture(const std::string& path);

// Rank of a capture from its metadata, -1 unknown; reads the dictionary only.
Result<int32_t> CaptureRank(const std::string& path);
int32_t CaptureWorld(const std::string& path);

// The `role` in the metadata of a helper process's capture; processes with a rank are no helpers.
inline constexpr std::string_view kHelperRole = R"("worker")";
bool IsHelperCapture(const std::string& path);

// From names and sizes of the files, and the headers of rings.
Result<int64_t> CaptureStamp(const std::string& path);

// Removes the files of the capture, which then cannot be imported again; other files of the folder
// stay. Fails where no store is next to them. A single rename hides all records from every reader:
// a kill at any moment leaves the whole capture or the store alone.
Status RemoveRawRecords(const std::string& path);

// Removes leftovers of a killed RemoveRawRecords.
Status FinishRemoval(const std::string& path);

// Fills an empty store; the caller publishes it.
Result<ImportSummary> ImportCapture(const std::string& path, store::Store& store,
                                    const ImportOptions& options);

namespace capture_import {
struct ServingEvents;
}  // namespace capture_import

// The same for a process of a server whose tables are made of several captures. Its events of
// requests and engine steps go into `serving` and not into the store; the captures with the same
// `clocks` are tied to real time alike. Both may be null.
Result<ImportSummary> ImportPart(const std::string& path, store::Store& store,
                                 const ImportOptions& options,
                                 capture_import::ServingEvents* serving,
                                 capture_import::ClockOffsets* clocks);

}  // namespace sonde::importers
