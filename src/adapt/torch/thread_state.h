// State of the adapter per thread: open ranges of torch, caches of names and inputs.
//
// Made at a thread's first range, freed when the thread ends. A range that torch opens while the
// thread's destructors run finds no state and is not recorded.
#ifndef SONDE_ADAPT_TORCH_THREAD_STATE_H_
#define SONDE_ADAPT_TORCH_THREAD_STATE_H_

#include <cstdint>

#include "adapt/python/stacks.h"
#include "adapt/torch/inputs.h"
#include "adapt/torch/names.h"
#include "adapt/torch/torch_symbols.h"

namespace sonde::adapt {

struct ThreadState {
  static constexpr uint32_t kMaxOpen = 1024;

  uint32_t session = 0;       // of the entries in `open`
  uint32_t depth = 0;         // ranges open now; entries beyond kMaxOpen are not kept
  uint32_t outermost_op = 0;  // depth after the outermost operator was opened; 0: none is open
  uint32_t graph = 0;         // the same of the outermost compiled graph
  const TorchRange* open[kMaxOpen];
  NameCache names;
  InputsCache inputs;
  StackCache stacks;
};

// Initial-exec: one load instead of a call on the fast path; 8 bytes of the loader's reserve.
extern __thread ThreadState* t_state __attribute__((tls_model("initial-exec")));

// Makes the state of this thread; nullptr while the thread ends or where memory is missing.
ThreadState* MakeThreadState();

inline ThreadState* GetThreadState() {
  ThreadState* state = t_state;
  return state != nullptr ? state : MakeThreadState();
}

}  // namespace sonde::adapt

#endif  // SONDE_ADAPT_TORCH_THREAD_STATE_H_
