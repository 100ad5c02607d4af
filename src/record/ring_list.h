// The rings of the session that runs: where threads get theirs, and where the session finds them.
//
// A few spare rings are ready, made ahead by the drain thread or left by threads that ended, so
// that a new thread waits for no file. A thread that finds none makes its own, but where threads
// end faster than their rings are drained: then it wakes the drain thread and waits a moment for a
// ring, so that however many threads a program has one after the other, memory holds few rings.
//
// Threads: Acquire and the owner's side from any thread; the rest from the one thread that drains
// or stops. The mutex is never held while anything but making a thread's own ring is done.
#ifndef SONDE_RECORD_RING_LIST_H_
#define SONDE_RECORD_RING_LIST_H_

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "record/capture_files.h"
#include "record/dictionary.h"
#include "record/ring.h"

namespace sonde::record {

class RingList {
 public:
  explicit RingList(Dictionary* dictionary) : dictionary_(dictionary) {}
  RingList(const RingList&) = delete;
  RingList& operator=(const RingList&) = delete;

  // Has the drain thread look at the rings at once; any thread.
  struct Waker {
    void (*wake)(void* session) = nullptr;
    void* session = nullptr;
  };
  // From now on threads get rings of this capture under this session word. `waker` is used until
  // Close.
  void Open(const CaptureIdentity& identity, uint32_t ring_slots, uint32_t word, Waker waker);
  // No more rings.
  void Close();
  // A ring for the calling thread, entered in the dictionary; nullptr when `word` is not (or no
  // longer) the session's.
  Ring* Acquire(uint32_t word, const ThreadEntry& thread);

  // Waits until no thread can be making a record any more (see fast_path.h), at most about a
  // second. sonde_features_ must be 0 already. False: could not be made sure for every thread.
  bool WaitUntilOut();

  std::vector<Ring*> Snapshot();
  // Takes a ring out of the list; the caller then releases it.
  void Remove(Ring* ring);
  // Instead of Remove, for a ring that is OwnerDone and drained: keeps it as a spare. False: there
  // are enough, and the caller removes it.
  bool Keep(Ring* ring);
  // Makes spare rings as many as threads lately began at a time. Whether any began since last time.
  bool MakeSpares();
  void RemoveSpares();  // with their files; no thread records any more

  void LockForFork() { mutex_.lock(); }
  void UnlockAfterFork() { mutex_.unlock(); }
  void DropInChild();  // forgets the parent's rings; mutex held

 private:
  // Rings without a thread have less than 100 MB of address space, also where all were filled.
  static constexpr size_t kMinSpares = 2;
  static constexpr size_t kMaxSpares = 32;
  static constexpr int32_t kMaxEnded = 12;

  void WaitForSpare(uint32_t word);

  Dictionary* const dictionary_;
  std::mutex mutex_;  // guards all below
  CaptureIdentity identity_;
  Waker waker_;
  uint32_t ring_slots_ = 0;
  uint32_t word_ = 0;         // 0: closed
  uint32_t next_number_ = 0;  // of a ring's file
  std::vector<Ring*> rings_;
  std::vector<Ring*> spares_;
  size_t spares_wanted_ = kMinSpares;
  bool threads_began_ = false;     // since MakeSpares
  std::atomic<int32_t> ended_{0};  // rings whose thread has ended; not under the mutex
};

// Prepares the process for WaitUntilOut; false where the kernel has no membarrier for it.
bool RegisterMemoryBarrier();

}  // namespace sonde::record

#endif  // SONDE_RECORD_RING_LIST_H_
