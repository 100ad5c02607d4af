// The implementation of a device adapter's C interface: one tracer a process, found at the first
// call and following the sessions from then on.
//
// Threads: any. Errors: 0 for success, a negative errno value otherwise. No exceptions.
#ifndef SONDE_ADAPT_DEVICE_ATTACHMENT_H_
#define SONDE_ADAPT_DEVICE_ATTACHMENT_H_

#include <cerrno>
#include <mutex>
#include <string>

#include "adapt/device/device_tracer.h"

namespace sonde::adapt::device {

class Attachment {
 public:
  // Gives the tracer, or null and the name of what the process lacks.
  using Find = DeviceTracer* (*)(std::string* lacks);

  // Records the device in the sessions to come, and in the one that runs. A second call does
  // nothing. -ENOENT: the process has no library to ask.
  int Attach(Find find) {
    const std::lock_guard lock(mutex_);
    if (tracer_ != nullptr) return 0;
    tracer_ = find(&error_);
    return tracer_ == nullptr ? -ENOENT : FollowSessions(tracer_);
  }

  const char* error() const { return error_.c_str(); }  // of the last failed call; "" none

 private:
  std::mutex mutex_;
  DeviceTracer* tracer_ = nullptr;
  std::string error_;
};

}  // namespace sonde::adapt::device

#endif  // SONDE_ADAPT_DEVICE_ATTACHMENT_H_
