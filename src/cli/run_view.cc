#include "cli/run_view.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "base/files.h"
#include "cli/command.h"

namespace sonde::cli {

Result<LivePage> LivePage::Start(const std::string& binary, const std::string& run_list,
                                 const std::string& save_path) {
  const std::string root = base::AbsolutePath(save_path);
  SONDE_RETURN_IF_ERROR(base::MakeDirectories(root));
  const pid_t process = ::fork();
  if (process < 0) return base::ErrnoStatus(errno, "start", binary);
  if (process == 0) {
    // Keys of the terminal are for the program; the page ends with us.
    ::setsid();
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    ::dup2(STDERR_FILENO, STDOUT_FILENO);
    ::execl(binary.c_str(), "sonde", "view", "--live-list", run_list.c_str(), "--root",
            root.c_str(), nullptr);
    ::_exit(kExitFailure);
  }
  return LivePage(process);
}

LivePage::LivePage(LivePage&& other) noexcept : process_(std::exchange(other.process_, 0)) {}

LivePage::~LivePage() {
  if (process_ == 0) return;
  ::kill(process_, SIGTERM);
  ::waitpid(process_, nullptr, 0);
}

void LivePage::StayOpen() {
  if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDERR_FILENO) == 0) return;
  PrintNotice("the page stays open; Ctrl+C ends it");
  ::waitpid(process_, nullptr, 0);
  process_ = 0;
}

}  // namespace sonde::cli
