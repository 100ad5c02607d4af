// Classifies a GPU kernel by its name: its function, and whether it moves data or communicates.
//
// Names come from the driver: C++ functions with their return type, template arguments and
// parameters, mangled or not, or names that a compiler made up. Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace sonde::importers::common {

// The function without return type, template arguments and parameters:
// "void at::native::reduce_kernel<512, 1>(int)" -> "at::native::reduce_kernel".
std::string KernelFunction(std::string_view name);

// "allreduce", "allgather", ... for kernels of NCCL, RCCL and oneCCL, and for those of the list in
// store/collectives.h; "" for others. NCCL calls all that sends and receives "sendrecv".
std::string KernelCollective(std::string_view name);

// ROCm copies and fills by kernels, too: MEMCPY, MEMSET or KERNEL.
const char* KernelTaskType(std::string_view name);

}  // namespace sonde::importers::common
