#include "probe/moments.h"

#include <array>

#include "probe/moments_sets.h"

namespace sonde::probe {
namespace {

constexpr size_t kMaxSets = 3;

std::array<const MomentKernels*, kMaxSets + 1> FindSets() {
  std::array<const MomentKernels*, kMaxSets + 1> sets = {&kBaselineMoments};
#if defined(__x86_64__)
  size_t count = 1;
  if (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 &&
      __builtin_cpu_supports("bmi2") != 0 && __builtin_cpu_supports("f16c") != 0) {
    sets[count++] = &kHaswellMoments;
  }
  if (count == 2 && __builtin_cpu_supports("avx512vbmi2") != 0 &&
      __builtin_cpu_supports("avx512bitalg") != 0 && __builtin_cpu_supports("vaes") != 0 &&
      __builtin_cpu_supports("avx512vpopcntdq") != 0) {
    sets[count++] = &kIcelakeMoments;
  }
#endif
  return sets;
}

}  // namespace

const MomentKernels* const* AllMoments() {
  static const std::array<const MomentKernels*, kMaxSets + 1> sets = FindSets();
  return sets.data();
}

const MomentKernels& Moments() {
  static const MomentKernels* const best = [] {
    const MomentKernels* const* set = AllMoments();
    while (set[1] != nullptr) set++;
    return *set;
  }();
  return *best;
}

}  // namespace sonde::probe
