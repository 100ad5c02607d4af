// State of the adapter per thread: caches of names and stacks, and data for the case that
// MindSpore's own profiler records at the same time.
//
// Made at a thread's first range, freed when the thread ends. A range that MindSpore opens while
// the thread's destructors run finds no state and is not recorded.
#ifndef SONDE_ADAPT_MINDSPORE_THREAD_STATE_H_
#define SONDE_ADAPT_MINDSPORE_THREAD_STATE_H_

#include <cstdint>

#include "adapt/mindspore/runtime_names.h"
#include "adapt/python/id_cache.h"
#include "adapt/python/stacks.h"

namespace sonde::adapt {

struct ThreadState {
  static constexpr uint32_t kMaxBoth = 64;
  static constexpr uint32_t kStamps = 8;

  RuntimeNames names;
  StackCache stacks;
  // Ranges that both record: the object belongs to MindSpore then.
  struct Both {
    const void* object;
    uint32_t word;
  };
  Both both[kMaxBoth];
  uint32_t both_depth = 0;
  // The last times that MindSpore was given, in its clock and in ours.
  struct Stamp {
    uint64_t theirs;
    uint64_t ticks;
  };
  Stamp stamps[kStamps] = {};
  uint32_t next_stamp = 0;
  // Inputs of operators: known sets, and names of their marks.
  IdCache<256> inputs;
  IdCache<128> input_marks;
};

// Initial-exec: one load instead of a call on the fast path; 8 bytes of the loader's reserve.
extern __thread ThreadState* t_mindspore_state __attribute__((tls_model("initial-exec")));

// Makes the state of this thread; nullptr while the thread ends or where memory is missing.
ThreadState* MakeThreadState();

inline ThreadState* GetThreadState() {
  ThreadState* state = t_mindspore_state;
  return state != nullptr ? state : MakeThreadState();
}

}  // namespace sonde::adapt

#endif  // SONDE_ADAPT_MINDSPORE_THREAD_STATE_H_
