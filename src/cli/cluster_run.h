// What `sonde cluster` and its steps have in common: from options to a mode, and from its outcome
// to files and lines.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "cli/cluster_options.h"
#include "cluster/frame/run.h"
#include "cluster/output/write.h"

namespace sonde::cli {

struct ClusterDone {
  cluster::RunResult result;
  cluster::Written written;
  std::vector<std::string> failures;
};

// Below the folder of -o, else that of -d.
std::string ClusterResultFolder(const ClusterOptions& options);
// `folder`: of the results.
Result<cluster::ModeOptions> ModeOptionsOf(const ClusterOptions& options,
                                           const std::string& folder);
cluster::RunOptions ClusterRunOptions(bool is_quiet);

// Writes the tables of `done.result`.
Status WriteOutcome(const ClusterOptions& options, const cluster::Mode& mode,
                    const std::string& folder, ClusterDone& done);
// Prints it, and returns the exit status.
Result<int> PrintOutcome(const ClusterOptions& options, const Result<ClusterDone>& done);

}  // namespace sonde::cli
