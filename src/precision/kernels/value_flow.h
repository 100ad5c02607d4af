// Improves the pairs of values of two runs by what flows into what: for JoinKernels().
//
// Where a call takes a value in a slot and gives another one, and a kernel does so with their
// partners, the pairs confirm each other. Threads: pure.
#pragma once

#include <cstdint>
#include <vector>

#include "precision/kernels/run_values.h"

namespace sonde::precision {

// `partners`: of each value of the dump the index of one of the kernels, -1: none. Pairs that
// nothing confirms, neither a cell nor the flow, are taken apart; those of one parameter stay.
void FollowFlow(const RunValues& dump, const RunValues& kernels, std::vector<int64_t>* partners);

}  // namespace sonde::precision
