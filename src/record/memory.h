// Memory for the recorder when the program has none left.
//
// The recorder is a guest: it must not end the program for want of memory. In its library (not
// where it is linked statically) allocations that fail are served from a reserve that is set aside
// when the library is loaded. From the first one on IsOutOfMemory() holds, new names are not kept
// any more, and the session ends within the drain's period. Threads: any.
#ifndef SONDE_RECORD_MEMORY_H_
#define SONDE_RECORD_MEMORY_H_

#include <atomic>

namespace sonde::record {

extern std::atomic<bool> out_of_memory;

inline bool IsOutOfMemory() { return out_of_memory.load(std::memory_order_relaxed); }

// Before a session: whether there is memory again for a while of recording.
bool TryForMemory();

}  // namespace sonde::record

#endif  // SONDE_RECORD_MEMORY_H_
