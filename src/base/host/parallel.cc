#include "base/host/parallel.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#ifdef SONDE_PARALLEL_ON_STD_THREAD
#include <condition_variable>
#include <deque>
#include <thread>
#include <vector>
#else
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#endif

namespace sonde::base {
namespace {

int ThreadLimit(int max_threads) {
  const int available = AvailableThreads();
  return max_threads <= 0 ? available : std::min(max_threads, available);
}

}  // namespace

int AvailableThreads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

void ParallelFor(size_t count, const std::function<void(size_t, size_t)>& body) {
  ParallelFor(count, ParallelOptions(), body);
}

Status ParallelForStatus(size_t count, const ParallelOptions& options,
                         const std::function<Status(size_t)>& body) {
  std::atomic<bool> failed = false;
  std::mutex mutex;
  size_t first_index = count;
  Status first_error;
  ParallelFor(count, options, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end && !failed.load(std::memory_order_relaxed); ++i) {
      Status status = body(i);
      if (status.ok()) continue;
      failed.store(true, std::memory_order_relaxed);
      const std::lock_guard lock(mutex);
      if (i >= first_index) continue;
      first_index = i;
      first_error = std::move(status);
    }
  });
  return first_error;
}

#ifdef SONDE_PARALLEL_ON_STD_THREAD

void ParallelFor(size_t count, const ParallelOptions& options,
                 const std::function<void(size_t, size_t)>& body) {
  const size_t grain = std::max<size_t>(1, options.grain_size);
  const size_t pieces = (count + grain - 1) / grain;
  const auto workers = std::min(pieces, static_cast<size_t>(ThreadLimit(options.max_threads)));
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t begin = next.fetch_add(grain); begin < count; begin = next.fetch_add(grain)) {
      body(begin, std::min(begin + grain, count));
    }
  };
  std::vector<std::jthread> threads;
  for (size_t i = 1; i < workers; ++i) threads.emplace_back(work);
  work();
}

// A queue and threads of its own; they end with the group.
class TaskGroup::Impl {
 public:
  explicit Impl(int max_threads) {
    for (int i = 1; i < ThreadLimit(max_threads); ++i) {
      threads_.emplace_back([this] { Work(/*until_idle=*/false); });
    }
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
    }
    changed_.notify_all();
  }

  void Run(std::function<void()> task) {
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back(std::move(task));
      ++unfinished_;
    }
    changed_.notify_all();
  }

  void Work(bool until_idle) {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(
          lock, [&] { return !queue_.empty() || closing_ || (until_idle && unfinished_ == 0); });
      if (queue_.empty()) return;
      const std::function<void()> task = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      task();
      lock.lock();
      if (--unfinished_ == 0) changed_.notify_all();
    }
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  size_t unfinished_ = 0;
  bool closing_ = false;
  std::vector<std::jthread> threads_;  // last: joined before the rest goes
};

TaskGroup::TaskGroup(int max_threads) : impl_(std::make_unique<Impl>(max_threads)) {}
void TaskGroup::Run(std::function<void()> task) { impl_->Run(std::move(task)); }
void TaskGroup::Wait() { impl_->Work(/*until_idle=*/true); }

#else

void ParallelFor(size_t count, const ParallelOptions& options,
                 const std::function<void(size_t, size_t)>& body) {
  if (count == 0) return;
  const tbb::blocked_range<size_t> range(0, count, std::max<size_t>(1, options.grain_size));
  const auto run = [&] {
    tbb::parallel_for(
        range, [&](const tbb::blocked_range<size_t>& piece) { body(piece.begin(), piece.end()); });
  };
  const int limit = ThreadLimit(options.max_threads);
  if (options.max_threads <= 0) {
    run();
  } else {
    tbb::task_arena(limit).execute(run);
  }
}

class TaskGroup::Impl {
 public:
  explicit Impl(int max_threads) : arena_(ThreadLimit(max_threads)) {}
  void Run(std::function<void()> task) {
    arena_.execute([&] { group_.run(std::move(task)); });
  }
  void Wait() {
    arena_.execute([&] { group_.wait(); });
  }

 private:
  tbb::task_arena arena_;
  tbb::task_group group_;
};

TaskGroup::TaskGroup(int max_threads) : impl_(std::make_unique<Impl>(max_threads)) {}
void TaskGroup::Run(std::function<void()> task) { impl_->Run(std::move(task)); }
void TaskGroup::Wait() { impl_->Wait(); }

#endif

TaskGroup::~TaskGroup() { Wait(); }

}  // namespace sonde::base
