// Calls of the host that each give a device work, by their exact names: without that work in the
// trace, records are lost. Copies and fills are not among them: some do nothing, and some of the
// host's memory only. Pure, any thread.
#pragma once

#include <algorithm>
#include <string_view>

namespace sonde::store {

inline constexpr std::string_view kLaunchCalls[] = {
    "cuGraphLaunch",      "cuLaunchCooperativeKernel",
    "cuLaunchKernel",     "cuLaunchKernelEx",
    "cudaGraphLaunch",    "cudaLaunchCooperativeKernel",
    "cudaLaunchKernel",   "cudaLaunchKernelExC",
    "hipExtLaunchKernel", "hipExtModuleLaunchKernel",
    "hipGraphLaunch",     "hipLaunchCooperativeKernel",
    "hipLaunchKernel",    "hipModuleLaunchKernel"};
static_assert(std::is_sorted(std::begin(kLaunchCalls), std::end(kLaunchCalls)));

inline bool IsLaunchCall(std::string_view name) {
  return std::binary_search(std::begin(kLaunchCalls), std::end(kLaunchCalls), name);
}

}  // namespace sonde::store
