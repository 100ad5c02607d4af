// Where the time of a rank's step went, in parts that two runs have in common, and how long its
// collectives of one kind took. Units: nanoseconds. Pure, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "cluster/frame/mode.h"

namespace sonde::cluster {

inline constexpr std::string_view kStepPart = "step";
inline constexpr std::string_view kComputingPart = "computing";
inline constexpr std::string_view kFreePart = "free";
// Of groups whose kind of parallelism is not known.
inline constexpr std::string_view kOtherGroups = "communication";

// step: its length; computing: with a kernel; a kind of group (tp, dp): communicating without a
// kernel; free: neither. All within the step; without steps the trace is one of number -1.
struct StepPart {
  int64_t step = 0;
  size_t place = 0;  // of the step in the rank, from 0 on
  std::string part;
  int64_t ns = 0;
};

// Collectives of one kind, type and size; without the time in which they wait for other ranks,
// where that is known.
struct CollectiveSum {
  std::string group;  // kind of it
  std::string kind;   // allReduce
  std::string data_type;
  int64_t elements = -1;
  int64_t ranks = 0;  // of the largest group
  int64_t count = 0;
  int64_t ns = 0;
};

Status MapParts(const RankInput& rank, Part& part);

}  // namespace sonde::cluster
