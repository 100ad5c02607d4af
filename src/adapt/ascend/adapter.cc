#include "adapt/ascend/adapter.h"

#include <cerrno>
#include <mutex>
#include <string>

#include "adapt/ascend/device_tracer.h"

namespace sonde::adapt::ascend {
namespace {

// One per process, as the recorder's listeners are.
struct Adapter {
  std::mutex mutex;  // attach only: sessions are one at a time
  DeviceTracer* tracer = nullptr;
  bool collecting = false;
  std::string error;
};

Adapter& State() {
  static auto* adapter = new Adapter();  // never destroyed: callbacks outlive static objects
  return *adapter;
}

void OnSession(sonde_event event, const sonde_session_config* config, void*) {
  Adapter& adapter = State();
  std::string problem;
  if (event == SONDE_EVENT_START) {
    const uint32_t keep = config != nullptr ? config->keep_last_seconds : 0;
    problem = adapter.tracer->Start(std::string(sonde_session_path()) + "/SONDE", keep);
    adapter.collecting = problem.empty();
  } else if (event == SONDE_EVENT_STOP && adapter.collecting) {
    adapter.collecting = false;
    problem = adapter.tracer->Stop();
  } else if (event == SONDE_EVENT_FORK_CHILD) {
    adapter.collecting = false;
    adapter.tracer->AfterFork();
  }
  if (!problem.empty()) sonde_report_issue(problem.c_str());
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
  return sonde_add_listener(&sonde::adapt::ascend::OnSession, nullptr);
}

const char* sonde_ascend_last_error(void) { return State().error.c_str(); }
