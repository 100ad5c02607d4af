#include "adapt/nvidia/cupti_calls.h"

#include <algorithm>

namespace sonde::adapt::nvidia {
namespace {

constexpr uint32_t kMostCalls = 1U << 16U;  // CUPTI's numbers are some hundred
constexpr auto kQueryCalls =
    std::to_array<std::string_view>({"cudaGetDevice",
                                     "cudaSetDevice",
                                     "cudaGetLastError",
                                     "cudaPeekAtLastError",
                                     "cudaEventCreate",
                                     "cudaEventCreateWithFlags",
                                     "cudaEventDestroy",
                                     "cudaEventQuery",
                                     "cudaStreamIsCapturing",
                                     "cudaStreamGetCaptureInfo",
                                     "cudaStreamGetPriority",
                                     "cudaDeviceGetAttribute",
                                     "cudaFuncGetAttributes",
                                     "cudaGetDeviceCount",
                                     "cudaGetDeviceProperties",
                                     "cudaPointerGetAttributes",
                                     "cudaDeviceGetStreamPriorityRange",
                                     "cudaOccupancyMaxActiveBlocksPerMultiprocessor",
                                     "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags",
                                     "cudaThreadExchangeStreamCaptureMode",
                                     "cudaGetDriverEntryPoint",
                                     "cudaGetDriverEntryPointByVersion",
                                     "cudaGetSymbolAddress"});
constexpr auto kDriverWork = std::to_array<std::string_view>(
    {"cuLaunch", "cuGraphLaunch", "cuMemcpy", "cuMemset", "cuMemBatch"});

bool IsNumber(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::string_view WithoutVersion(std::string_view name) {
  const size_t line = name.rfind("_v");
  const bool has_version = line != std::string_view::npos && IsNumber(name.substr(line + 2));
  // Of the driver "cuMemcpyHtoD_v2" is the name, not a release of it.
  return has_version && name.size() - line > 4 ? name.substr(0, line) : name;
}

bool IsRecordedCall(CuptiDomain domain, std::string_view name) {
  if (domain == kCuptiDriverApi) {
    return std::any_of(kDriverWork.begin(), kDriverWork.end(),
                       [&](std::string_view begin) { return name.starts_with(begin); });
  }
  return std::find(kQueryCalls.begin(), kQueryCalls.end(), WithoutVersion(name)) ==
         kQueryCalls.end();
}

void CuptiCalls::Learn(CuptiDomain domain, uint32_t callback, Call& call) const {
  call.is_known = true;
  const char* name = nullptr;
  if (cupti_.callback_name(domain, callback, &name) != kCuptiSuccess || name == nullptr) {
    call.name = domain == kCuptiDriverApi ? "driver call " : "runtime call ";
    call.name += std::to_string(callback);
    call.is_recorded = domain == kCuptiRuntimeApi;
    return;
  }
  call.name = WithoutVersion(name);
  call.is_recorded = IsRecordedCall(domain, name);
}

const char* CuptiCalls::NameOf(CuptiDomain domain, uint32_t callback) {
  if (callback >= kMostCalls) return nullptr;
  std::vector<Call>& calls = calls_[domain];
  if (callback >= calls.size()) calls.resize(callback + 1);
  Call& call = calls[callback];
  if (!call.is_known) Learn(domain, callback, call);
  return call.is_recorded ? call.name.c_str() : nullptr;
}

}  // namespace sonde::adapt::nvidia
