// Keeps the memory of a server that runs for hours near what it uses.
//
// A thread a connection, and glibc gives threads heaps of their own, up to eight a processor; what
// large answers leave free in one is of no use to the others, and what lies free between small
// blocks that stay is not given back by itself. So there are few heaps, and every ten seconds in
// which something was answered their free pages are given back (some milliseconds).
// Measured: bench/view/long_use.py.
// Threads: make and destroy on one; NoteUse from any.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace sonde::cli {

class HeapCare {
 public:
  HeapCare();
  HeapCare(const HeapCare&) = delete;
  HeapCare& operator=(const HeapCare&) = delete;

  // Memory was used since the last time.
  void NoteUse() { is_used_.store(true, std::memory_order_relaxed); }

 private:
  void Run(const std::stop_token& stop);

  std::atomic<bool> is_used_ = false;
  std::mutex mutex_;  // of the condition only
  std::condition_variable_any wake_;
  std::jthread thread_;  // last: ends before the rest
};

}  // namespace sonde::cli
