// Writes the kernels of one step as a dump of cells and calls: dump.json, construct.json and links
// to the tensors. Threads: pure.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "precision/kernels/kernel_flow.h"

namespace sonde::precision {

// Each kernel a call "Primitive.<cell>.<kernel>.<n>.forward" within the cells of its scope.
Status WriteKernelCalls(const KernelFlow& flow, const std::string& folder);

// The kernels under the names of the dump in `dump_folder` into `folder`, and of that dump the same
// calls into `other_folder`; `notes` takes how many were found. Fails where none is.
Status WriteJoinedCalls(const KernelFlow& flow, const std::string& dump_folder,
                        const std::string& folder, const std::string& other_folder,
                        std::vector<std::string>* notes);

}  // namespace sonde::precision
