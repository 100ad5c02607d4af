// Kernels for x86 processors with AVX2.
#include "probe/moments-inl.h"
#include "probe/moments_sets.h"

namespace sonde::probe {

const MomentKernels kHaswellMoments = HWY_NAMESPACE::kKernels;

}  // namespace sonde::probe
