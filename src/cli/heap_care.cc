#include "cli/heap_care.h"

#include <malloc.h>

#include <algorithm>
#include <chrono>

#include "base/host/parallel.h"

namespace sonde::cli {
namespace {

constexpr std::chrono::seconds kPause{10};

}  // namespace

HeapCare::HeapCare() {
  mallopt(M_ARENA_MAX, std::max(2, base::AvailableThreads()));
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
}

void HeapCare::Run(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    wake_.wait_for(lock, stop, kPause, [] { return false; });
    if (is_used_.exchange(false, std::memory_order_relaxed)) malloc_trim(0);
  }
}

}  // namespace sonde::cli
