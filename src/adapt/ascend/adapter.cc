#include "adapt/ascend/adapter.h"

#include <cerrno>
#include <mutex>
#include <string>

#include "adapt/ascend/mspti_tracer.h"
#include "adapt/device/device_tracer.h"

namespace sonde::adapt::ascend {
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
}  // namespace sonde::adapt::ascend

using sonde::adapt::ascend::Adapter;
using sonde::adapt::ascend::State;

int sonde_ascend_attach(void) {
  Adapter& adapter = State();
  const std::lock_guard lock(adapter.mutex);
  if (adapter.tracer != nullptr) return 0;
  adapter.tracer = sonde::adapt::ascend::MsptiTracer(&adapter.error);
  if (adapter.tracer == nullptr) return -ENOENT;
  return sonde::adapt::device::FollowSessions(adapter.tracer);
}

const char* sonde_ascend_last_error(void) { return State().error.c_str(); }
