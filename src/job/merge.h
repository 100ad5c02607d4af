// A job of traces that others found: processes of other hosts, whose files this one may not see.
// Pure, any thread.
#pragma once

#include <vector>

#include "job/job.h"

namespace sonde::job {

// Their ranks are known; grouped, ordered and numbered as FindJob does.
Job JobOf(std::vector<Trace> traces);

}  // namespace sonde::job
