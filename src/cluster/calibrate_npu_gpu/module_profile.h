// Time of the kernels of operators by module, of a rank of either kind of device, and that of GPUs
// from an export of Nsight Systems (nsys export --type sqlite).
//
//   ranges   NVTX push and pop. A module is one whose name has one of kModuleWords; an operator one
//            with "::", by the text before the first ','
//   kernels  lie in what is open on the launching thread where they were launched: the last
//            module, the modules around it, the last operator ("None" without); outside of modules
//            they are left out. The rank is the device's number
// A range that was never closed holds until the end of the trace. Units: microseconds. Errors:
// Status where the file cannot be read or is no such export. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace sonde::cluster {

inline constexpr auto kModuleWords = std::to_array<std::string_view>(
    {"Qwen", "Attention", "Linear", "RMSNorm", "Embedding", "Sampler", "Logits"});

// Kernels of one operator in one module.
struct ModuleTime {
  std::string parent;
  std::string module;
  std::string op;
  std::string kernels;
  double count = 0;
  double total_us = 0;
  double mean_us = 0;  // mean of those of its kernels (GPU) or kinds of calls (NPU)
};

// Rows of one (parent, module, op) as one, in the order of these; kernels with ", " between.
std::vector<ModuleTime> SumByOp(const std::vector<ModuleTime>& rows);

// By rank.
// Whether it is an export of the GPU's tool with the tables that are needed.
Status CheckGpuFile(const std::string& path);

Result<std::map<int32_t, std::vector<ModuleTime>>> ReadGpuModules(const std::string& path);

}  // namespace sonde::cluster
