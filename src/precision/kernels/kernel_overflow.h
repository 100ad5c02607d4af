// `sonde probe overflow_check` on a dump of MindSpore's graphs: kernels of which the device or
// MindSpore recorded an overflow, and kernels with finite inputs and outputs that are not.
//
//   Opdebug.Node_OpDebug.<task>.<stream>.<time>.output.0.json    the device's record: the status of
//       AI Core and atomic adds, and the task and stream of the kernel
//   op_debug_mode 3 in .dump_metadata/data_dump.json             on a device only kernels with an
//       overflow are dumped; a CPU dumps all
//
// Errors: anything that keeps the whole job from being done is a Status. Threads: as
// ReadKernelFlow().
#pragma once

#include <string>

#include "base/status.h"
#include "precision/overflow_job.h"

namespace sonde::precision {

// The first of each rank in `found`; all in the table that is written.
Result<OverflowOutcome> FindKernelOverflows(const std::string& input_path,
                                            const std::string& output_path);

}  // namespace sonde::precision
