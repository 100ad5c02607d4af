// Opens the traces of a job for who reads their rows and asks no statements.
//
// As OpenFiles (open.h), but small traces of others lie in packs however few they are: eight with a
// store each cost more to make and to read than sixty-four in a pack. Captures have stores next to
// them. Small traces that are in no pack yet, and whose importer reads by table, have none made:
// what one analysis asks for is read from their files about as fast as from a pack. Copies of a
// trace are there as often as they were found: a rank each.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "job/job.h"
#include "job/open.h"
#include "job/packs.h"
#include "recipes/trace/needs.h"
#include "store/store.h"

namespace sonde::job {

Result<JobFiles> OpenForRows(const Job& job, const OpenOptions& options);

// Where ReadRows may have a file while it reads: for traces too large for memory, and for importers
// that need a database. Makes the folder and tries to write there, so that callers ask once for all
// traces.
std::string SpareForRows();

// What `needs` asks for of a trace, from its own files: in rows() of a store that has no file, as
// importers::ImportRows makes it. `notify` gets a line about which of several forms of the trace
// was taken.
Result<std::unique_ptr<store::Store>> ReadRows(const importers::TraceSource& source,
                                               const recipes::Needs& needs,
                                               const std::string& spare, int threads,
                                               const NoticeSink& notify);

// Moves the small traces of others out of `traces`; of ours as TakeSmall does.
std::vector<StampedTrace> TakeSmallOfOthers(std::vector<Trace>& traces, int threads);

}  // namespace sonde::job
