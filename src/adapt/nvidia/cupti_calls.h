// Names of the CUDA calls that are recorded, by CUPTI's numbers.
//
// Of the runtime interface all calls except queries (cudaGetDevice and the like: thousands a step,
// each without measurable time). Of the driver's only those that give work to a device, since the
// runtime calls the others. Threads: one at a time.
#ifndef SONDE_ADAPT_NVIDIA_CUPTI_CALLS_H_
#define SONDE_ADAPT_NVIDIA_CUPTI_CALLS_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "adapt/nvidia/cupti.h"

namespace sonde::adapt::nvidia {

// "cudaLaunchKernel_v7000" -> "cudaLaunchKernel".
std::string_view WithoutVersion(std::string_view name);

// Whether a call of that name is recorded.
bool IsRecordedCall(CuptiDomain domain, std::string_view name);

class CuptiCalls {
 public:
  explicit CuptiCalls(const Cupti& cupti) : cupti_(cupti) {}

  // nullptr: not recorded. Lives as long as this object.
  const char* NameOf(CuptiDomain domain, uint32_t callback);

 private:
  struct Call {
    bool is_known = false;
    bool is_recorded = false;
    std::string name;
  };
  void Learn(CuptiDomain domain, uint32_t callback, Call& call) const;

  const Cupti cupti_;
  std::array<std::vector<Call>, 3> calls_;  // by domain and number
};

}  // namespace sonde::adapt::nvidia

#endif  // SONDE_ADAPT_NVIDIA_CUPTI_CALLS_H_
