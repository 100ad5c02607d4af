// Importer of Sonde's own captures: a span folder with a SONDE folder inside.
//
// What a process recorded becomes slices, framework ops, device tasks (the CPU as device),
// communication ops, memory, flows, marks and steps of a store; whatever is garbled, cut off or
// missing becomes import issues. Fails only where there is no readable capture or the store cannot
// be written.
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

// What the metadata call `role` in the capture of a helper process; those with a rank are none.
inline constexpr std::string_view kHelperRole = R"("worker")";
bool IsHelperCapture(const std::string& path);

// From names and sizes of the files, and what rings say about their content.
Result<int64_t> CaptureStamp(const std::string& path);

// Removes the files of the capture, which then cannot be imported again; other files of the folder
// stay. Fails where no store lies beside them. From one rename on all records are gone for every
// reader: a kill at any moment leaves the whole capture or the store alone.
Status RemoveRawRecords(const std::string& path);

// Removes what a killed RemoveRawRecords left.
Status FinishRemoval(const std::string& path);

// Fills an empty store; the caller publishes it.
Result<ImportSummary> ImportCapture(const std::string& path, store::Store& store,
                                    const ImportOptions& options);

namespace capture_import {
struct ServingEvents;
}  // namespace capture_import

// The same for a process of a server whose tables are made of several captures: what it told about
// requests and engine steps goes into `serving` and not into the store, and the captures with the
// same `clocks` are tied to real time alike. Both may be null.
Result<ImportSummary> ImportPart(const std::string& path, store::Store& store,
                                 const ImportOptions& options,
                                 capture_import::ServingEvents* serving,
                                 capture_import::ClockOffsets* clocks);

}  // namespace sonde::importers
