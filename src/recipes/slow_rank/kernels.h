// How much of the kernels' longer time is slower calls and how much is more to do (cause.h).
//
// Units: nanoseconds and calls of all the steps together. Refers to the sums. Pure, any thread.
#pragma once

#include <string_view>
#include <vector>

#include "recipes/slow_rank/sums.h"

namespace sonde::recipes::slow_rank {

struct KernelShare {
  std::string_view name = {};
  std::string_view shapes = {};            // those that lose most
  std::string_view shapes_of_others = {};  // where the others have other ones
  double slower_ns = 0;
  double more_ns = 0;
  double common_ns = 0;  // what the others need for the calls that both have
  double common = 0;     // calls of these shapes
  double own_per_call = 0;
  double per_call = 0;  // of the others
  double own_count = 0;
  double count = 0;
  int64_t ts = 0;
};

struct KernelShares {
  double slower_ns = 0;
  double more_ns = 0;
  double common_ns = 0;
  KernelShare slowest;  // of one name
  KernelShare most;
};

KernelShares ShareKernels(const RankSums& own, const std::vector<RankSums>& others);

}  // namespace sonde::recipes::slow_rank
