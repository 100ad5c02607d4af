#include "adapt/nvidia/adapter.h"

#include <cerrno>
#include <mutex>
#include <string>

#include "adapt/device/device_tracer.h"
#include "adapt/nvidia/cupti_tracer.h"

namespace sonde::adapt::nvidia {
namespace {

struct Adapter {
  std::mutex mutex;
  device::DeviceTracer* tracer = nullptr;
  std::string error;
};

Adapter& State() {
  static auto* adapter = new Adapter();  // never destroyed: callbacks outlive static objects
  return *adapter;
}

}  // namespace
}  // namespace sonde::adapt::nvidia

using sonde::adapt::nvidia::Adapter;
using sonde::adapt::nvidia::State;

int sonde_nvidia_attach(void) {
  Adapter& adapter = State();
  const std::lock_guard lock(adapter.mutex);
  if (adapter.tracer != nullptr) return 0;
  adapter.tracer = sonde::adapt::nvidia::CuptiTracer(&adapter.error);
  if (adapter.tracer == nullptr) return -ENOENT;
  return sonde::adapt::device::FollowSessions(adapter.tracer);
}

const char* sonde_nvidia_last_error(void) { return State().error.c_str(); }
