// Allocations and releases of torch's allocators, of all devices and threads.
//
// Every torch allocator that keeps count reports through two functions of libc10. While a session
// with memory runs, the import-table entries of those two functions in the loaded torch libraries
// point here; the originals are always called, so that a concurrent torch.profiler sees every
// event, too. (The documented way, an object in the thread's debug information, sees one thread
// only and keeps torch.profiler from starting.) Outside of sessions the entries are as the loader
// left them. A block from before the session is not reported by torch when it is released. Threads:
// Start/Stop under the caller's lock; reports come on any thread.
#ifndef SONDE_ADAPT_TORCH_MEMORY_H_
#define SONDE_ADAPT_TORCH_MEMORY_H_

#include <cstdint>

#include "adapt/python/python_api.h"
#include "adapt/torch/self_test.h"

namespace sonde::adapt {

// Looks the functions up and tries them on one tensor [GIL]. False: memory is not recorded.
bool MemoryInit(const PythonApi& python, SelfTestReport* report);
void MemoryStart();
void MemoryStop();

}  // namespace sonde::adapt

#endif  // SONDE_ADAPT_TORCH_MEMORY_H_
