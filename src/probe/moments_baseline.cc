// Kernels for the least that we build for: SSE4 on x86, NEON on ARM.
#include "probe/moments-inl.h"
#include "probe/moments_sets.h"

namespace sonde::probe {

const MomentKernels kBaselineMoments = HWY_NAMESPACE::kKernels;

}  // namespace sonde::probe
