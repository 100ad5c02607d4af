// The thread behind the control address and the watched control file. It runs while either is in
// use.
//
// Threads: any; one at a time changes the settings. Errors: negative errno with text (error.h).
#pragma once

#include <pthread.h>

#include <atomic>
#include <map>
#include <mutex>
#include <string>

#include "record/control_server.h"
#include "record/dynamic_config.h"
#include "record/session_config.h"
#include "sonde/sonde.h"

namespace sonde::record {

class Recorder;

class ControlThread {
 public:
  explicit ControlThread(Recorder* recorder);
  ControlThread(const ControlThread&) = delete;
  ControlThread& operator=(const ControlThread&) = delete;

  [[nodiscard]] int Listen(const std::string& address, const SessionConfig& defaults);
  [[nodiscard]] int Watch(const std::string& folder, const SessionConfig& defaults);
  std::string Address();

  // Sets the function for POST `path`, in addition to the recorder's own; none removes it. Any
  // thread.
  struct Route {
    sonde_control_function function = nullptr;
    void* user = nullptr;
  };
  void SetRoute(const std::string& path, Route route);
  // Ends both. As Listen and Watch, not from a listener that the control thread has called: it
  // would wait for itself.
  void Close();

  // The same, but gives up when another thread is at it or the thread does not end within a second.
  void CloseAtExit();

  DynamicConfig& dynamic() { return dynamic_; }
  // In the child of a fork: the parent keeps serving, the child does not.
  void DropInChild();

 private:
  HttpResponse Answer(const HttpRequest& request);
  [[nodiscard]] int StartThread();
  void EndThread();
  void WakeThread();
  static void* Main(void* self);
  void Loop();

  std::mutex mutex_;  // of the callers; the thread has the server for itself while it runs
  ControlServer server_;
  DynamicConfig dynamic_;
  SessionConfig defaults_;
  std::mutex routes_mutex_;  // of routes_; never held while a route's function runs
  std::map<std::string, Route> routes_;
  pthread_t thread_ = {};
  bool running_ = false;
  int wake_fd_ = -1;  // an eventfd: ends the thread, or makes it look again
  DescriptorIdentity wake_identity_;
  std::atomic<bool> end_{false};
  Recorder* const recorder_;
};

}  // namespace sonde::record
