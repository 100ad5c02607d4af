// The tracer of NVIDIA GPUs, by CUPTI's activities.
//
// Threads and errors as those of DeviceTracer.
#ifndef SONDE_ADAPT_NVIDIA_CUPTI_TRACER_H_
#define SONDE_ADAPT_NVIDIA_CUPTI_TRACER_H_

#include <string>

#include "adapt/device/device_tracer.h"

namespace sonde::adapt::nvidia {

// Null where the process has not loaded CUPTI; `lacks` then names what is missing. Lives as long as
// the process: the library keeps pointers to it.
device::DeviceTracer* CuptiTracer(std::string* lacks);

}  // namespace sonde::adapt::nvidia

#endif  // SONDE_ADAPT_NVIDIA_CUPTI_TRACER_H_
