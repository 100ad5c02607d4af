#include "cli/guarded.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <utility>

#include "base/files.h"

namespace sonde::cli {
namespace {

constexpr std::array kFaults = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};

// Lock-free, so that a process that dies leaves nothing locked.
using GuardMark = std::atomic<uint8_t>;
static_assert(GuardMark::is_always_lock_free);
constexpr uint8_t kNone = 0;  // as the kernel gives memory
constexpr uint8_t kInHand = 1;
constexpr uint8_t kDone = 2;

GuardMark* Marks(void* memory) { return static_cast<GuardMark*>(memory); }

bool IsFault(int wait_status) {
  return WIFSIGNALED(wait_status) &&
         std::ranges::find(kFaults, WTERMSIG(wait_status)) != kFaults.end();
}

void Silence() {
  const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (null < 0) return;
  ::dup2(null, STDOUT_FILENO);
  ::dup2(null, STDERR_FILENO);
}

// The process that waits passes on what asks it to end, so that the one at work ends, too.
pid_t g_worker = 0;
void PassOn(int number) {
  if (g_worker > 0) ::kill(g_worker, number);
}

struct Signals {
  Signals() {
    struct sigaction action{};
    action.sa_handler = &PassOn;
    ::sigaction(SIGTERM, &action, &term);
    ::sigaction(SIGINT, &action, &interrupt);
  }
  ~Signals() { Restore(); }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  void Restore() const {
    ::sigaction(SIGTERM, &term, nullptr);
    ::sigaction(SIGINT, &interrupt, nullptr);
  }
  struct sigaction term{};
  struct sigaction interrupt{};
};

// Runs it in a process of its own; its wait status.
Result<int> InProcess(const std::function<int()>& work, bool is_silent) {
  std::fflush(nullptr);  // else both would write what waits in the buffers
  const pid_t parent = ::getpid();
  const Signals signals;
  const pid_t worker = ::fork();
  if (worker < 0) return base::ErrnoStatus(errno, "start", "a worker process");
  if (worker == 0) {
    signals.Restore();
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    if (is_silent) Silence();
    const int status = work();
    std::fflush(nullptr);
    ::_exit(status);
  }
  g_worker = worker;
  int status = 0;
  while (::waitpid(worker, &status, 0) < 0 && errno == EINTR) {
  }
  g_worker = 0;
  return status;
}

// As the process at work ended, so does this one.
[[noreturn]] void EndLike(int wait_status) {
  std::signal(WTERMSIG(wait_status), SIG_DFL);
  ::raise(WTERMSIG(wait_status));
  ::_exit(128 + WTERMSIG(wait_status));
}

// Of the items in work at the crash: those that crash alone, too.
Result<std::vector<Crash>> Culprits(const std::vector<size_t>& suspects, int signal,
                                    const GuardedWork& work, WorkBoard& board) {
  if (suspects.size() == 1) return std::vector<Crash>{{suspects[0], signal}};
  std::vector<Crash> culprits;
  for (const size_t place : suspects) {
    board.LetGo();
    const auto alone = [&] { return work(std::span(&place, 1), board); };
    SONDE_ASSIGN_OR_RETURN(const int status, InProcess(alone, /*is_silent=*/true));
    if (IsFault(status)) {
      culprits.push_back({place, WTERMSIG(status)});
    } else if (WIFSIGNALED(status)) {
      EndLike(status);
    }
  }
  return culprits;
}

}  // namespace

void WorkBoard::Unmap::operator()(void* memory) const { ::munmap(memory, bytes); }

Result<WorkBoard> WorkBoard::Make(size_t count) {
  const size_t bytes = std::max<size_t>(count, 1) * sizeof(GuardMark);
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return base::ErrnoStatus(errno, "map", "shared memory");
  return WorkBoard(memory, count, bytes);
}

void WorkBoard::Begin(size_t place) { Marks(memory_.get())[place] = kInHand; }

void WorkBoard::End(size_t place, bool is_done) {
  Marks(memory_.get())[place] = is_done ? kDone : kNone;
}

bool WorkBoard::IsDone(size_t place) const { return Marks(memory_.get())[place] == kDone; }

std::vector<size_t> WorkBoard::InHand() const {
  std::vector<size_t> places;
  for (size_t i = 0; i < count_; ++i) {
    if (Marks(memory_.get())[i] == kInHand) places.push_back(i);
  }
  return places;
}

void WorkBoard::LetGo() {
  for (const size_t place : InHand()) End(place, /*is_done=*/false);
}

Result<GuardedResult> RunGuarded(size_t count, const GuardedWork& work) {
  SONDE_ASSIGN_OR_RETURN(WorkBoard board, WorkBoard::Make(count));
  std::vector<size_t> places(count);
  for (size_t i = 0; i < count; ++i) places[i] = i;
  GuardedResult result;
  for (;;) {
    board.LetGo();
    SONDE_ASSIGN_OR_RETURN(const int status,
                           InProcess([&] { return work(places, board); }, /*is_silent=*/false));
    if (WIFEXITED(status)) {
      result.exit_status = WEXITSTATUS(status);
      std::ranges::sort(result.crashes, {}, &Crash::place);
      return result;
    }
    if (!IsFault(status)) EndLike(status);
    SONDE_ASSIGN_OR_RETURN(const std::vector<Crash> culprits,
                           Culprits(board.InHand(), WTERMSIG(status), work, board));
    // A crash that none of the things makes is of the program itself.
    if (culprits.empty()) EndLike(status);
    for (const Crash& crash : culprits) std::erase(places, crash.place);
    result.crashes.insert(result.crashes.end(), culprits.begin(), culprits.end());
  }
}

}  // namespace sonde::cli
