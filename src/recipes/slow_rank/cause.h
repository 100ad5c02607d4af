// Why a rank takes longer than others of its role: its excess of own work, part by part.
//
// Time in which other programs had the processor (work.h, unserved) is no part of it.
//
//   kernels    of each name: time of the rank - median of the others
//     slower   calls of one name and shapes that both have: common calls * difference of the
//              median time; where no shapes match, time an element of the first input
//     more     what is left: further calls, larger shapes
//   frequency  instead of one kernel, where the others are slower, too: without the kernel that
//              loses most, by kAlikeSlow of its slowdown, or the cores' frequency is lower by half
//              of the slowdown; not where it was recorded and is not lower
//   copies, host (late launches), device (idle though work was launched): differences of the sums
//   what the host did: the name whose time in the idle stretches grew most, where it explains
//              kExplained of their growth; of those within half of it one that is known to stop a
//              host is preferred
// The cause is the greatest part; others are named from kAlsoShare of the excess on. Units:
// nanoseconds a step of those in which the rank was slow. Pure, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "recipes/host_activity/host_activity.h"
#include "recipes/slow_rank/excess.h"
#include "recipes/slow_rank/job.h"

namespace sonde::recipes::slow_rank {

inline constexpr double kAlikeSlow = 0.35;
inline constexpr double kExplained = 0.3;
inline constexpr double kAlsoShare = 0.3;

enum class CauseKind : uint8_t {
  kKernel,     // one kernel, or some, slower
  kFrequency,  // all slower
  kWork,       // more calls or larger inputs
  kCopy,
  kHost,    // launched late
  kDevice,  // idle though launched
  kLink,
};
std::string_view NameOf(CauseKind kind);

// What a host did that launched late.
using recipes::ActivityOf;
using recipes::HostActivity;
using recipes::NameOf;

struct Cause {
  CauseKind kind = CauseKind::kKernel;
  double ns = 0;            // of the excess
  std::string what = {};    // kernel, type of copy, host slice or type of collective; "": unknown
  std::string shapes = {};  // of the kernel
  std::string of_others = {};  // shapes where they differ
  HostActivity activity = HostActivity::kUnknown;
  double own = 0;  // kKernel: ns a call; kWork: calls a step; kFrequency: MHz; else ns a step
  double others = 0;
  double calls = 0;   // kKernel: a step
  double factor = 0;  // kKernel, kFrequency: slower by this share
  int64_t ts = 0;     // where to look in the trace
};

// Greatest first; the first explains most. `slow`: places of ranks that are not to be compared
// with, in addition to the rank itself.
std::vector<Cause> CausesOf(const Role& role, const Excess& excess,
                            const std::vector<size_t>& slow);

}  // namespace sonde::recipes::slow_rank
