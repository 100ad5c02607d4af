// Parallel loops and task groups; the only place where the project starts worker threads for work.
//
// On oneTBB, and on std::thread in the `tsan` preset, because ThreadSanitizer sees nothing inside
// TBB. Loop bodies must not throw. Nesting is allowed.
// Threads: the free functions may be called from any; a TaskGroup is used by the thread that made
// it and by its own tasks.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "base/status.h"

namespace sonde::base {

// Processors that this process may use (its affinity mask), at least 1.
int AvailableThreads();

struct ParallelOptions {
  int max_threads = 0;    // 0: AvailableThreads()
  size_t grain_size = 1;  // least number of indices that a thread gets at a time
};

// Calls body(begin, end) for pieces that cover [0, count) once; returns when all are done.
void ParallelFor(size_t count, const ParallelOptions& options,
                 const std::function<void(size_t begin, size_t end)>& body);
void ParallelFor(size_t count, const std::function<void(size_t begin, size_t end)>& body);

// Calls body(i) for every i of [0, count). After a failure no new index is begun; returns the
// failure of the smallest index that failed.
Status ParallelForStatus(size_t count, const ParallelOptions& options,
                         const std::function<Status(size_t index)>& body);

class TaskGroup {
 public:
  explicit TaskGroup(int max_threads = 0);
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;
  ~TaskGroup();  // waits

  void Run(std::function<void()> task);
  // Returns when all tasks are done, those started meanwhile by tasks too. The caller helps.
  void Wait();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sonde::base
