// Notices on standard error about a job that was found, for all commands that take one.
#pragma once

#include "job/job.h"

namespace sonde::cli {

// Traces found under other paths than named, and files that are no trace.
void NotifyOfJob(const job::Job& job);

}  // namespace sonde::cli
