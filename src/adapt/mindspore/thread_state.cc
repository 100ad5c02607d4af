#include "adapt/mindspore/thread_state.h"

#include <new>

namespace sonde::adapt {

__thread ThreadState* t_mindspore_state = nullptr;

namespace {

// Frees the state when the thread ends. A C++ thread_local for its destructor only: reading it on
// the fast path would cost a guard check.
struct Owner {
  ThreadState* state = nullptr;
  bool ended = false;

  ~Owner() {
    ended = true;
    t_mindspore_state = nullptr;
    delete state;
  }
};
thread_local Owner t_owner;
thread_local bool t_ended = false;

}  // namespace

ThreadState* MakeThreadState() {
  if (t_ended) return nullptr;
  Owner& owner = t_owner;
  if (owner.ended) return nullptr;
  owner.state = new (std::nothrow) ThreadState();
  t_mindspore_state = owner.state;
  return owner.state;
}

}  // namespace sonde::adapt
