// Workbooks of ranks: in text some modes give one for each rank, framed, with equal neighbours of
// some columns merged, as the reference's look. Errors: Status. One thread.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "cluster/frame/mode.h"

namespace sonde::cluster {

// Into `folder`, which is there; appends the paths to `files`. Those of an earlier run go.
Status WriteBooks(const Mode& mode, const Outcome& outcome, const std::string& folder,
                  std::vector<std::string>& files);

}  // namespace sonde::cluster
