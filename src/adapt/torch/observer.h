// The observer of torch's ranges: operators, autograd nodes, user scopes, asynchronous work.
//
// While a session records, one global callback is registered with torch for each set of scopes;
// outside of sessions nothing is registered, so that being attached costs nothing. The start
// function pushes a range onto the recorder's open stack of the thread and remembers the torch
// object's address, the end function pops it; nothing is allocated after a thread's first range.
//
// Rules for the edge cases:
//  * a range that was open at START has no entry: its end finds nothing and is ignored; a range
//    open at STOP still ends through us later: its entry carries the session and is dropped;
//  * a range marked asynchronous may end on another thread: it lives in a small table shared by
//    all threads and becomes a complete record where it ends;
//  * user ranges may end out of order: the entry is found below the top and removed; and on another
//    thread: crossing_scopes.h.
// Threads: Start, Stop and the like lock for themselves; the callbacks on any thread, also without
// Python.
#ifndef SONDE_ADAPT_TORCH_OBSERVER_H_
#define SONDE_ADAPT_TORCH_OBSERVER_H_

#include <cstdint>

#include "adapt/torch/inputs.h"
#include "adapt/torch/layout.h"
#include "adapt/torch/self_test.h"
#include "adapt/torch/torch_symbols.h"

namespace sonde::adapt {

struct ObserverConfig {
  TorchSymbols torch;
  InputsConfig inputs;
};

struct ObserverOptions {
  bool shapes = false;
  bool stacks = false;
  bool operator_inputs = false;  // wanted by collectives, without shapes of all operators
};

struct ObserverCounts {
  uint64_t async_dropped;  // asynchronous ranges beyond the table
  uint64_t misnested;      // ranges that ended out of order
};

// Once per process, at attach; the configuration must live as long as the process.
void ObserverInit(const ObserverConfig* config, SelfTestReport* report);
void ObserverStart(const ObserverOptions& options);
// While a session runs; from any thread.
void ObserverSetOperatorInputs(bool wanted);
void ObserverStop();
void ObserverAfterFork();  // in the child: another thread may have held the lock
ObserverCounts ObserverGetCounts();

// A kernel that torch opens no range for, recorded like an operator; any thread. The end takes the
// begin's return value: 0 where nothing is recorded.
uint32_t KernelBegin(uint32_t name, uint32_t args);
void KernelEnd(uint32_t begun);

}  // namespace sonde::adapt

#endif  // SONDE_ADAPT_TORCH_OBSERVER_H_
