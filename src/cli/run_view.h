// The page that `sonde run --view` offers while the program runs: `sonde view --live-list`.
//
// Use in a process with one thread only.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/status.h"

namespace sonde::cli {

// A server of the page that goes with the object, or with this process.
class LivePage {
 public:
  // `binary`: ours. `run_list`: the list in which processes write their addresses. `save_path`:
  // what the page may open. Its address is printed to standard error.
  static Result<LivePage> Start(const std::string& binary, const std::string& run_list,
                                const std::string& save_path);
  LivePage(LivePage&& other) noexcept;
  LivePage& operator=(LivePage&&) = delete;
  ~LivePage();

  // Where there is a terminal: until the user ends it by Ctrl+C.
  void StayOpen();

 private:
  explicit LivePage(pid_t process) : process_(process) {}
  pid_t process_;
};

}  // namespace sonde::cli
