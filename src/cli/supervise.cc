#include "cli/supervise.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/files.h"
#include "base/strings.h"

namespace sonde::cli {
namespace {

using base::Concat;

constexpr std::array kForwardedSignals = {SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2};

sigset_t WatchedSignals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  for (const int number : kForwardedSignals) sigaddset(&set, number);
  return set;
}

// A program for another machine is no script, though the system reports the same error for both.
bool IsElf(const std::string& path) {
  std::array<char, 4> begin{};
  std::ifstream(path, std::ios::binary).read(begin.data(), begin.size());
  return std::string_view(begin.data(), begin.size()) ==
         "\x7f"
         "ELF";
}

// In the child, between fork and exec: system calls only.
[[noreturn]] void BecomeProgram(const char* path, char* const* words, char* const* shell_words,
                                char* const* environment, const sigset_t& mask, pid_t parent,
                                int report) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(kExitNotExecutable);  // the parent died before the line above
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  execve(path, words, environment);
  // A script that does not name its interpreter is the shell's, as execvp(3) has it.
  if (errno == ENOEXEC && shell_words != nullptr) execve("/bin/sh", shell_words, environment);
  const int error_number = errno;
  // If even this cannot be written, the parent sees an exit status of 126.
  [[maybe_unused]] const ssize_t n = write(report, &error_number, sizeof(error_number));
  _exit(kExitNotExecutable);
}

// Reaps every child (as process 1 of a container we inherit strangers) until `child` ended.
bool Reap(pid_t child, ProgramEnd& end) {
  while (true) {
    int state = 0;
    const pid_t pid = waitpid(-1, &state, WNOHANG);
    if (pid < 0 && errno == EINTR) continue;
    if (pid <= 0) return false;
    if (pid != child) continue;
    if (WIFSIGNALED(state)) {
      end = {.exit_status = 128 + WTERMSIG(state), .signal = WTERMSIG(state)};
    } else {
      end = {.exit_status = WEXITSTATUS(state), .signal = 0};
    }
    return true;
  }
}

ProgramEnd WaitForEnd(pid_t child, const sigset_t& watched) {
  ProgramEnd end;
  while (true) {
    siginfo_t info{};
    const int number = sigwaitinfo(&watched, &info);
    if (number < 0) continue;  // EINTR: stopped and continued
    if (number == SIGCHLD) {
      if (Reap(child, end)) return end;
    } else if (info.si_code <= 0) {
      // Sent by a process. What the terminal sends (si_code SI_KERNEL) went to the whole group.
      kill(child, number);
    }
  }
}

}  // namespace

Result<std::string> FindProgram(const std::string& program) {
  if (program.find('/') != std::string::npos) {
    if (access(program.c_str(), X_OK) == 0 && !base::IsDirectory(program)) return program;
    if (base::IsDirectory(program)) return base::ErrnoStatus(EACCES, "run folder", program);
    return base::ErrnoStatus(errno, "run", program);
  }
  const char* search = std::getenv("PATH");
  bool found_but_no_right = false;
  for (const auto folder : base::Split(search == nullptr ? "/usr/bin:/bin" : search, ':')) {
    const std::string path = base::JoinPath(folder.empty() ? "." : folder, program);
    if (!base::IsRegularFile(path)) continue;
    if (access(path.c_str(), X_OK) == 0) return path;
    found_but_no_right = true;
  }
  if (found_but_no_right) return base::ErrnoStatus(EACCES, "run", program);
  return NotFoundError(Concat("command not found: '", program, "' (check its spelling and PATH)"));
}

Result<ProgramEnd> Supervise(const ProgramStart& start) {
  std::vector<std::string> word_texts = start.words;
  std::vector<std::string> environment_texts = MergedEnvironment(start.variables);
  const std::vector<char*> word_pointers = ExecPointers(word_texts);
  std::vector<std::string> shell_texts = {"/bin/sh", start.path};
  shell_texts.insert(shell_texts.end(), word_texts.begin() + 1, word_texts.end());
  const std::vector<char*> shell_pointers = ExecPointers(shell_texts);
  char* const* const as_script = IsElf(start.path) ? nullptr : shell_pointers.data();
  const std::vector<char*> environment_pointers = ExecPointers(environment_texts);
  // Without descriptors the program starts all the same: its exit status then says why it did not.
  std::array<int, 2> report{-1, -1};
  if (pipe2(report.data(), O_CLOEXEC) != 0) report = {-1, -1};

  const sigset_t watched = WatchedSignals();
  sigset_t before;
  sigprocmask(SIG_BLOCK, &watched, &before);
  std::signal(SIGCHLD, SIG_DFL);  // inherited as ignored, it would hide how the program ended
  std::fflush(nullptr);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    if (start.stdout_to_stderr) dup2(STDERR_FILENO, STDOUT_FILENO);
    if (start.without_stdout) dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDOUT_FILENO);
    BecomeProgram(start.path.c_str(), word_pointers.data(), as_script, environment_pointers.data(),
                  before, parent, report[1]);
  }
  const int fork_error = errno;
  close(report[1]);
  int exec_error = 0;
  const bool is_read = child >= 0 && report[0] >= 0;
  const ssize_t received = is_read ? read(report[0], &exec_error, sizeof(exec_error)) : 0;
  close(report[0]);
  Result<ProgramEnd> result =
      base::ErrnoStatus(child < 0 ? fork_error : exec_error, "run", start.path);
  if (child > 0 && received <= 0) {
    result = WaitForEnd(child, watched);
  } else if (child > 0) {
    waitpid(child, nullptr, 0);
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);
  return result;
}

void EndLike(const ProgramEnd& end) {
  std::fflush(nullptr);
  if (end.signal != 0) {
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    std::signal(end.signal, SIG_DFL);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, end.signal);
    sigprocmask(SIG_UNBLOCK, &only, nullptr);
    kill(getpid(), end.signal);
  }
  _exit(end.exit_status);  // also where the signal does not kill us, as for process 1
}

}  // namespace sonde::cli
