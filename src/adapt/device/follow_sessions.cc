#include <mutex>
#include <new>
#include <string>

#include "adapt/device/device_tracer.h"
#include "sonde/sonde.h"

namespace sonde::adapt::device {
namespace {

// One per process and vendor, as listeners are.
class Follower {
 public:
  explicit Follower(DeviceTracer* tracer) : tracer_(tracer) {}

  void Begin(uint32_t keep_last_seconds) {
    const std::lock_guard lock(mutex_);
    if (collecting_) return;
    const std::string folder = std::string(sonde_session_path()) + "/SONDE";
    const std::string problem = tracer_->Start(folder, keep_last_seconds);
    collecting_ = problem.empty();
    Report(problem);
  }

  void End() {
    const std::lock_guard lock(mutex_);
    if (!collecting_) return;
    collecting_ = false;
    Report(tracer_->Stop());
  }

  void AfterFork() {
    new (&mutex_) std::mutex();  // may be held by a thread of the parent
    collecting_ = false;
    tracer_->AfterFork();
  }

 private:
  static void Report(const std::string& problem) {
    if (!problem.empty()) sonde_report_issue(problem.c_str());
  }

  DeviceTracer* const tracer_;
  std::mutex mutex_;  // sessions begin one at a time, but a device may be found meanwhile
  bool collecting_ = false;
};

void OnSession(sonde_event event, const sonde_session_config* config, void* data) {
  auto& follower = *static_cast<Follower*>(data);
  if (event == SONDE_EVENT_START) {
    follower.Begin(config != nullptr ? config->keep_last_seconds : 0);
  } else if (event == SONDE_EVENT_STOP) {
    follower.End();
  } else if (event == SONDE_EVENT_FORK_CHILD) {
    follower.AfterFork();
  }
}

}  // namespace

int FollowSessions(DeviceTracer* tracer) {
  auto* const follower = new Follower(tracer);  // never destroyed: callbacks outlive static objects
  const int result = sonde_add_listener(&OnSession, follower);
  if (result == 0 && sonde_recording() != 0) follower->Begin(sonde_keep_last_seconds());
  return result;
}

}  // namespace sonde::adapt::device
