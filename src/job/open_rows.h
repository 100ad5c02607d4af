// Opens the traces of a job for who reads their rows and asks no statements.
//
// As OpenFiles (open.h), but small traces of others lie in packs however few they are: eight with a
// store each cost more to make and to read than sixty-four in a pack. Captures have stores beside
// them.
#pragma once

#include <vector>

#include "base/status.h"
#include "job/job.h"
#include "job/open.h"
#include "job/packs.h"

namespace sonde::job {

Result<JobFiles> OpenForRows(const Job& job, const OpenOptions& options);

// Moves the small traces of others out of `traces`; of ours as TakeSmall does.
std::vector<StampedTrace> TakeSmallOfOthers(std::vector<Trace>& traces, int threads);

}  // namespace sonde::job
