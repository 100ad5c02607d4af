// Runs over the traces of a job as they were found, several at a time: for who imports or opens
// them. Rows of traces are for for_each_trace.h.
//
// A trace that fails is an issue and not the end.
// Threads: the function is called from several, never for one trace twice.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "base/host/progress.h"
#include "base/status.h"
#include "job/failures.h"
#include "job/job.h"

namespace sonde::job {

struct ForEachOptions {
  int at_a_time = 0;                        // traces; 0: as many as there are processors
  base::ProgressBar* progress = nullptr;    // advanced by each trace
  std::function<bool()> is_cancelled = {};  // no trace is begun once it returns true
};

// Those that failed, in the order of the traces; of a run that was cancelled those that were not
// begun, too (kCancelled).
std::vector<TraceFailure> ForEach(
    std::span<const Trace> traces, const ForEachOptions& options,
    const std::function<Status(const Trace& trace, size_t place)>& function);

}  // namespace sonde::job
