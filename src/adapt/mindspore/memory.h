// Allocations and releases of MindSpore's memory pool for the CPU.
//
// The pool's two functions are called through tables of virtual functions. Ours replace them at
// attach and stay: sizes of all blocks are known from then on, so that a release has one also in a
// session that began later. Totals are the pool's own, in bytes. Threads: any. Cost while nothing
// is recorded: one entry of a table a block.
#ifndef SONDE_ADAPT_MINDSPORE_MEMORY_H_
#define SONDE_ADAPT_MINDSPORE_MEMORY_H_

#include "adapt/python/self_test_report.h"

namespace sonde::adapt {

// Once a process. False: memory is not recorded.
bool PoolMemoryInit(SelfTestReport* report);
// Libraries that were loaded since then.
void PoolMemoryFollow();
// Around a fork.
void PoolMemoryBeforeFork();
void PoolMemoryAfterFork();

}  // namespace sonde::adapt

#endif  // SONDE_ADAPT_MINDSPORE_MEMORY_H_
