// Notices on standard error about a job that was found, for all commands that take one.
#pragma once

#include "job/job.h"

namespace sonde::cli {

// What was found otherwise than it was named, and what lies there and is no trace.
void NotifyOfJob(const job::Job& job);

}  // namespace sonde::cli
