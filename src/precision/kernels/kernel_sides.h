// Dumps of MindSpore's graphs as dumps of cells and calls, so that they are compared with a run
// that was not compiled and drawn as graphs like all others.
//
// The dumps are written into a new folder below the output path: target/step<N>/rank<N>/dump.json
// and golden/...; tensors stay where they are, links lead to them. Errors: Status that names the
// folder. Threads: works in parallel inside.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace sonde::precision {

struct KernelSides {
  std::string target;
  std::string golden;              // empty: there is none
  std::vector<std::string> notes;  // for the user
};

// One side holds kernels only, the other is a dump of cells and calls: both with those calls whose
// values are found in either.
Result<KernelSides> JoinKernelSides(const std::string& target, const std::string& golden,
                                    const std::string& output_path);

// Sides of kernels alone, each kernel a call within the cells of its scope; `golden` may be empty.
Result<KernelSides> KernelsAsCalls(const std::string& target, const std::string& golden,
                                   const std::string& output_path);

// Either of them where a side holds kernels only; the paths as they are where none does.
Result<KernelSides> ReadKernelSides(const std::string& target, const std::string& golden,
                                    const std::string& output_path);

}  // namespace sonde::precision
