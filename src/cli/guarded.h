// Work on several things, of which none can take the others with it: all of it runs in a process of
// its own, and when that crashes over one thing, this one is found, left out and named, and the
// work is done again for the others.
//
// A crash is an end by a signal of a fault (SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT). Other
// ends (Ctrl+C, kill, the kernel out of memory) end this process in the same way. The process at
// work ends with this one.
// Threads: call it while no other thread runs; `work` may start as many as it likes.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"

namespace sonde::cli {

// Where the process at work writes down what it has in hand; in memory that both see. Any thread.
class WorkBoard {
 public:
  static Result<WorkBoard> Make(size_t count);

  void Begin(size_t place);
  void End(size_t place, bool is_done);
  // By this process or one before it: it need not be done again.
  bool IsDone(size_t place) const;

  std::vector<size_t> InHand() const;
  void LetGo();  // nothing is in hand; what is done stays

 private:
  struct Unmap {
    size_t bytes = 0;
    void operator()(void* memory) const;
  };
  WorkBoard(void* memory, size_t count, size_t bytes)
      : memory_(memory, Unmap{bytes}), count_(count) {}
  std::unique_ptr<void, Unmap> memory_;
  size_t count_;
};

struct Crash {
  size_t place = 0;
  int signal = 0;
};

// Of the things `places`, in that order: updates the board, prints the notices, returns the
// exit status.
using GuardedWork = std::function<int(std::span<const size_t> places, WorkBoard& board)>;

struct GuardedResult {
  int exit_status = 0;         // of the last process at work
  std::vector<Crash> crashes;  // by place
};

// `count` things, numbered from 0. Errors: no process can be started.
Result<GuardedResult> RunGuarded(size_t count, const GuardedWork& work);

}  // namespace sonde::cli
