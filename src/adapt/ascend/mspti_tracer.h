// The tracer of Ascend devices, by CANN's libmspti.so.
//
// Threads and errors as those of DeviceTracer.
#ifndef SONDE_ADAPT_ASCEND_MSPTI_TRACER_H_
#define SONDE_ADAPT_ASCEND_MSPTI_TRACER_H_

#include <string>

#include "adapt/device/device_tracer.h"

namespace sonde::adapt::ascend {

// Null where the process has not loaded the library; `lacks` then names what is missing. Lives as
// long as the process: the library keeps pointers to it.
device::DeviceTracer* MsptiTracer(std::string* lacks);

}  // namespace sonde::adapt::ascend

#endif  // SONDE_ADAPT_ASCEND_MSPTI_TRACER_H_
