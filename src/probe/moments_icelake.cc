// Kernels for x86 processors with AVX-512 as of Ice Lake.
#include "probe/moments-inl.h"
#include "probe/moments_sets.h"

namespace sonde::probe {

const MomentKernels kIcelakeMoments = HWY_NAMESPACE::kKernels;

}  // namespace sonde::probe
