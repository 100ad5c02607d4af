#include "store/statement_watch.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "base/files.h"
#include "base/strings.h"

namespace sonde::store::internal {
namespace {

using base::Concat;
using Clock = std::chrono::steady_clock;

constexpr int64_t kLittle = int64_t{64} << 20;

enum class Excess : uint8_t { kNone, kTime, kMemory };

class Watch {
 public:
  Watch(const StatementLimits& limits, Cancellation& cancellation)
      : limits_(limits),
        most_bytes_(HeldBytes(0) + MemorySlack(limits)),
        cancellation_(cancellation) {}
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch() { End(); }

  Excess End() {
    {
      const std::scoped_lock lock(mutex_);
      has_ended_ = true;
    }
    ended_.notify_one();
    if (thread_.joinable()) thread_.join();
    return excess_;
  }

 private:
  Excess Seen() const {
    const auto time = Clock::now() - begun_;
    if (limits_.max_seconds > 0 && time >= std::chrono::seconds(limits_.max_seconds)) {
      return Excess::kTime;
    }
    return HeldBytes(0) > most_bytes_ ? Excess::kMemory : Excess::kNone;
  }
  void Look() {
    constexpr auto kOften = std::chrono::milliseconds(20);
    std::unique_lock lock(mutex_);
    while (!ended_.wait_for(lock, kOften, [&] { return has_ended_; })) {
      excess_ = Seen();
      if (excess_ == Excess::kNone) continue;
      lock.unlock();  // the statement ends while it is being cancelled
      cancellation_.Cancel();
      return;
    }
  }

  const StatementLimits limits_;
  const int64_t most_bytes_;
  Cancellation& cancellation_;
  const Clock::time_point begun_ = Clock::now();
  std::mutex mutex_;
  std::condition_variable ended_;
  bool has_ended_ = false;
  Excess excess_ = Excess::kNone;
  std::thread thread_{[this] { Look(); }};  // last: it uses the others
};

}  // namespace

int64_t MostMemory(int64_t wanted_bytes) {
  if (wanted_bytes > 0) return wanted_bytes;
  auto most = static_cast<int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE);
  const auto group = base::ReadFile("/sys/fs/cgroup/memory.max");  // "max" without a limit
  const auto limit = group.ok() ? base::ParseInt64(base::Trim(*group)) : std::nullopt;
  if (limit && *limit > 0) most = std::min(most, *limit);
  return most / 2;
}

int64_t DatabaseShare(int64_t limit_bytes) {
  constexpr int64_t kForOthers = int64_t{64} << 20;
  return limit_bytes - std::min(kForOthers, limit_bytes / 3);
}

int64_t MostHeld(const StatementLimits& limits, int64_t held_bytes) {
  const int64_t most = MostMemory(limits.memory_bytes);
  return std::max(most + most / 10, held_bytes + kLittle);
}

int64_t MemorySlack(const StatementLimits& limits) {
  const int64_t most = MostMemory(limits.memory_bytes);
  return most + most / 4 + kLittle;
}

int64_t HeldBytes(int pid) {
  const auto text = base::ReadFile(pid == 0 ? "/proc/self/statm"
                                            : Concat("/proc/", std::to_string(pid), "/statm"));
  if (!text.ok()) return 0;
  const auto pages = base::Split(*text, ' ');
  const auto number = [&](size_t i) {
    return pages.size() > i ? base::ParseInt64(pages[i]).value_or(0) : 0;
  };
  return (number(1) - number(2)) * ::sysconf(_SC_PAGESIZE);
}

Status ExceedsMemory(std::string_view detail) {
  return base::ResourceExhaustedError(
      Concat("the statement exceeds its memory limit: --max-memory SIZE raises it",
             detail.empty() ? "" : Concat(" (", detail, ")")));
}

Status TookTooLong(const StatementLimits& limits) {
  return base::CancelledError(Concat("the statement was cancelled after ",
                                     std::to_string(limits.max_seconds),
                                     " s: --max-seconds N raises the limit"));
}

Status Watched(const StatementLimits& limits, Cancellation* cancellation,
               const std::function<Status(Cancellation*)>& statement) {
  Cancellation own;
  if (cancellation == nullptr) cancellation = &own;
  Watch watch(limits, *cancellation);
  Status status = statement(cancellation);
  const Excess excess = watch.End();
  const bool is_large = status.code() == base::StatusCode::kResourceExhausted;
  const bool was_ended = status.code() == base::StatusCode::kCancelled;
  if (is_large || (was_ended && excess == Excess::kMemory)) {
    return ExceedsMemory(is_large ? status.message() : "");
  }
  return was_ended && excess == Excess::kTime ? TookTooLong(limits) : status;
}

}  // namespace sonde::store::internal
