// What is said on standard error of a job that was found, by all commands that take one.
#pragma once

#include "job/job.h"

namespace sonde::cli {

// What was found otherwise than it was named, and what lies there and is no trace.
void NotifyOfJob(const job::Job& job);

}  // namespace sonde::cli
