// Python call stacks to dictionary ids, per thread.
//
// A stack met before costs the walk, a hash and one look-up. At first sight the GIL is taken once:
// each code object is referenced for good (its address then names nothing else), and names, file
// and line of each position are entered into the dictionary.
// Threads: one cache per thread; the table of positions is shared and used under the GIL.
#ifndef SONDE_ADAPT_PYTHON_STACKS_H_
#define SONDE_ADAPT_PYTHON_STACKS_H_

#include <cstddef>
#include <cstdint>

#include "adapt/python/id_cache.h"
#include "adapt/python/python_api.h"
#include "adapt/python/python_frames.h"

namespace sonde::adapt {

// [GIL] Once, at attach, after FramesInit().
void StacksInit(const PythonApi* python);

class StackCache {
 public:
  // Id of the calling thread's Python stack; 0 where it has none.
  uint32_t Capture();
  // The same of its innermost frames only, capture::kCallSiteFrames at most.
  uint32_t CaptureCallSite();

 private:
  IdCache<512> ids_;
};

}  // namespace sonde::adapt

#endif  // SONDE_ADAPT_PYTHON_STACKS_H_
