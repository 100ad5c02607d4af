#include "record/ring_list.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "record/clock.h"
#include "record/error.h"

namespace sonde::record {
namespace {

constexpr int64_t kWaitUntilOutNs = 1'000'000'000;

void SleepNs(long ns) {
  const timespec pause{0, ns};
  nanosleep(&pause, nullptr);
}

bool MemoryBarrierOnAllThreads() {
  if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0) return true;
  return RegisterMemoryBarrier() &&
         syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0;
}

}  // namespace

bool RegisterMemoryBarrier() {
  return syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
}

void RingList::Open(const CaptureIdentity& identity, uint32_t ring_slots, uint32_t word,
                    Waker waker) {
  const std::lock_guard lock(mutex_);
  waker_ = waker;
  identity_ = identity;
  ring_slots_ = ring_slots == 0 ? kDefaultRingSlots : ring_slots;
  word_ = word;
}

void RingList::Close() {
  const std::lock_guard lock(mutex_);
  word_ = 0;
  waker_ = {};
}

// Polls: the drain thread needs some 10 us a ring, and a condition variable would not survive a
// fork. Where nothing comes, 20 ms long, the thread makes a ring.
void RingList::WaitForSpare(uint32_t word) {
  constexpr int kTries = 200;
  constexpr long kPauseNs = 100'000;
  for (int i = 0; i < kTries; ++i) {
    {
      const std::lock_guard lock(mutex_);
      if (word != word_ || word == 0 || !spares_.empty()) return;
      if (ended_.load(std::memory_order_relaxed) < kMaxEnded) return;
      if (i == 0) waker_.wake(waker_.session);
    }
    SleepNs(kPauseNs);
  }
}

Ring* RingList::Acquire(uint32_t word, const ThreadEntry& thread) {
  std::string issue;
  Ring* ring = nullptr;
  WaitForSpare(word);
  {
    const std::lock_guard lock(mutex_);
    if (word != word_ || word == 0) return nullptr;
    if (spares_.empty()) {
      spares_wanted_ = std::min(2 * spares_wanted_, kMaxSpares);
      ring = Ring::Create(identity_, ring_slots_, next_number_++, &ended_, &issue);
    } else {
      ring = spares_.back();
      spares_.pop_back();
    }
    if (ring != nullptr) {
      threads_began_ = true;
      ring->Begin(thread.index, thread.tid, word);
      rings_.push_back(ring);
    }
  }
  if (ring == nullptr) issue = "no memory for a ring buffer: a thread is not recorded";
  if (!issue.empty()) dictionary_->WriteOnce(capture::EntryType::kIssue, 0, issue);
  if (ring != nullptr) dictionary_->SetThread(thread);
  return ring;
}

bool RingList::Keep(Ring* ring) {
  const std::lock_guard lock(mutex_);
  if (word_ == 0 || spares_.size() >= kMaxSpares || !ring->HasFile()) return false;
  rings_.erase(std::remove(rings_.begin(), rings_.end(), ring), rings_.end());
  ring->Rest();
  spares_.push_back(ring);
  return true;
}

bool RingList::MakeSpares() {
  bool threads_began = false;
  for (;;) {
    CaptureIdentity identity;
    uint32_t slots = 0;
    uint32_t number = 0;
    {
      const std::lock_guard lock(mutex_);
      threads_began |= std::exchange(threads_began_, false);
      if (word_ == 0 || spares_.size() >= spares_wanted_) return threads_began;
      if (ended_.load(std::memory_order_relaxed) > 0) return threads_began;  // they become spares
      identity = identity_;
      slots = ring_slots_;
      number = next_number_++;
    }
    std::string issue;  // reported by the thread that needs a ring
    Ring* ring = Ring::Create(identity, slots, number, &ended_, &issue);
    if (ring == nullptr) return threads_began;
    if (!ring->HasFile()) {
      ring->Discard();
      return threads_began;
    }
    ring->PopulateAhead();
    const std::lock_guard lock(mutex_);
    spares_.push_back(ring);
  }
}

void RingList::RemoveSpares() {
  const std::lock_guard lock(mutex_);
  for (Ring* ring : spares_) {
    ring->RemoveFile();
    ring->Discard();
  }
  spares_.clear();
  spares_wanted_ = kMinSpares;
}

bool RingList::WaitUntilOut() {
  Close();
  const bool ordered = MemoryBarrierOnAllThreads();
  if (!ordered) SleepNs(1'000'000);  // stores leave a processor's store buffer long before that
  const int64_t deadline_ns = MonotonicNs() + kWaitUntilOutNs;
  // Under the mutex, so that the drain thread cannot delete a ring whose owner ends meanwhile. An
  // owner in its recording section never waits for the mutex.
  const std::lock_guard lock(mutex_);
  for (Ring* ring : rings_) {
    while (ring->writer()->busy.load(std::memory_order_acquire) != 0) {
      if (MonotonicNs() > deadline_ns) return false;
      SleepNs(20'000);
    }
  }
  return ordered;
}

std::vector<Ring*> RingList::Snapshot() {
  const std::lock_guard lock(mutex_);
  return rings_;
}

void RingList::Remove(Ring* ring) {
  const std::lock_guard lock(mutex_);
  rings_.erase(std::remove(rings_.begin(), rings_.end(), ring), rings_.end());
}

void RingList::DropInChild() {
  for (std::vector<Ring*>* rings : {&rings_, &spares_}) {
    for (Ring* ring : *rings) ring->Discard();
    rings->clear();
  }
  word_ = 0;
  waker_ = {};
  ended_ = 0;
}

}  // namespace sonde::record
