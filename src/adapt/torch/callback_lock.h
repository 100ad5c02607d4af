// The lock with which torch guards its list of observers' callbacks; for forks.
//
// A thread that is new, or that finds the list changed, takes it at its next operator. Where
// another thread holds it during a fork, the child waits for it for ever: so the forking thread
// holds it. The lock has no symbol: it is found by watching which lock this thread takes while it
// adds and removes a callback that is never called. Threads: once, at attach.
#ifndef SONDE_ADAPT_TORCH_CALLBACK_LOCK_H_
#define SONDE_ADAPT_TORCH_CALLBACK_LOCK_H_

#include <pthread.h>

#include "adapt/torch/torch_symbols.h"

namespace sonde::adapt {

// nullptr: not found.
pthread_mutex_t* FindCallbackLock(const TorchSymbols& torch);

}  // namespace sonde::adapt

#endif  // SONDE_ADAPT_TORCH_CALLBACK_LOCK_H_
