#include "cli/capture_output.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "base/clock.h"
#include "base/files.h"
#include "base/strings.h"

namespace sonde::cli {
namespace {

constexpr size_t kMaxOutputBytes = size_t{16} << 20U;

// A pipe whose ends close with the object.
struct Pipe {
  std::array<int, 2> ends = {-1, -1};

  Pipe() = default;
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    CloseEnd(0);
    CloseEnd(1);
  }
  bool Open() { return pipe2(ends.data(), O_CLOEXEC) == 0; }
  void CloseEnd(size_t i) {
    if (ends[i] >= 0) close(ends[i]);
    ends[i] = -1;
  }
};

// 0, or the error number. The child gets a process group of its own.
int Spawn(std::vector<std::string>& words, const EnvironmentVariables& variables, const Pipe& out,
          const Pipe& err, pid_t& child) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, out.ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, err.ends[1], STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  std::vector<std::string> environment = MergedEnvironment(variables);
  const int error_number =
      posix_spawnp(&child, words.front().c_str(), &files, &attributes, ExecPointers(words).data(),
                   ExecPointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  return error_number;
}

// Appends what is there; false at the end of the pipe.
bool ReadSome(int descriptor, std::string& text) {
  std::array<char, 65536> piece;
  const ssize_t n = read(descriptor, piece.data(), piece.size());
  if (n < 0) return errno == EINTR;
  if (n == 0) return false;
  if (text.size() < kMaxOutputBytes) text.append(piece.data(), static_cast<size_t>(n));
  return true;
}

// Reads both pipes to their ends; false when the time was over before.
bool ReadBoth(Pipe& out, Pipe& err, ProgramOutput& output, int64_t deadline_ns) {
  while (out.ends[0] >= 0 || err.ends[0] >= 0) {
    const int64_t left_ms = (deadline_ns - base::MonotonicRawNs()) / 1'000'000;
    if (left_ms <= 0) return false;
    std::array<pollfd, 2> polled = {pollfd{out.ends[0], POLLIN, 0}, pollfd{err.ends[0], POLLIN, 0}};
    if (poll(polled.data(), polled.size(), static_cast<int>(left_ms)) <= 0) continue;
    if (polled[0].revents != 0 && !ReadSome(out.ends[0], output.out)) out.CloseEnd(0);
    if (polled[1].revents != 0 && !ReadSome(err.ends[0], output.err)) err.CloseEnd(0);
  }
  return true;
}

}  // namespace

Result<ProgramOutput> CaptureOutput(std::vector<std::string> words,
                                    const EnvironmentVariables& variables, int timeout_s) {
  Pipe out;
  Pipe err;
  if (!out.Open() || !err.Open()) return base::ErrnoStatus(errno, "start", words.front());
  pid_t child = -1;
  const int spawn_error = Spawn(words, variables, out, err, child);
  if (spawn_error != 0) return base::ErrnoStatus(spawn_error, "run", words.front());
  out.CloseEnd(1);
  err.CloseEnd(1);
  ProgramOutput output;
  const int64_t deadline_ns = base::MonotonicRawNs() + int64_t{timeout_s} * 1'000'000'000;
  const bool in_time = ReadBoth(out, err, output, deadline_ns);
  if (!in_time) kill(-child, SIGKILL);
  int state = 0;
  while (waitpid(child, &state, 0) < 0 && errno == EINTR) {
  }
  if (!in_time) {
    return base::UnavailableError(
        base::Concat("'", words.front(), "' did not end within ", std::to_string(timeout_s), " s"));
  }
  output.exit_status = WIFSIGNALED(state) ? 128 + WTERMSIG(state) : WEXITSTATUS(state);
  return output;
}

}  // namespace sonde::cli
