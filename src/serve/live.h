// Programs that record on request (`sonde run --control`), seen from the page: asked to start and
// stop, and their recordings shown while they grow.
//
// A thread looks at each program twice a second; while one records, the contents of its capture
// is read again every few seconds, less often the longer that takes. Threads: any. Errors: Status
// with the program's own words.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/status.h"
#include "serve/messages.h"
#include "serve/session.h"

namespace sonde::serve {

class Live {
 public:
  // `session` outlives it. `run_list`: a file to which processes append where they listen
  // (docs/reference/environment.md); empty: none.
  Live(Session& session, std::vector<std::string> addresses, std::string run_list = {});
  Live(const Live&) = delete;
  Live& operator=(const Live&) = delete;
  ~Live();

  std::vector<LiveMessage> Describe() const;
  // All programs that answer; fails where none did as asked. `options`: JSON of the control
  // address.
  Status Start(const std::string& options);
  Status Stop();

 private:
  void Watch();
  void ReadRunList();
  void AddProgram(std::string address);
  void Look(size_t index);
  Status ToAll(const std::string& path, const std::string& body, int seconds);

  Session& session_;
  const std::string run_list_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  bool stopped_ = false;
  std::vector<LiveMessage> programs_;
  std::mutex showing_;    // held while recordings are read, so that the last state is shown last
  std::jthread watcher_;  // last: it uses the others
};

}  // namespace sonde::serve
