// The sets of kernels that moments.cc chooses from; see moments.h.
#pragma once

#include "probe/moments.h"

namespace sonde::probe {

extern const MomentKernels kBaselineMoments;
#if defined(__x86_64__)
extern const MomentKernels kHaswellMoments;
extern const MomentKernels kIcelakeMoments;
#endif

}  // namespace sonde::probe
