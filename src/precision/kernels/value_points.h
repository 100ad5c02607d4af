// What a value of a dump and one of kernels have in common: for JoinKernels(). Threads: pure.
#pragma once

#include <cstdint>
#include <vector>

#include "precision/kernels/run_values.h"

namespace sonde::precision {

// Fewer points join nothing by themselves.
inline constexpr int kEnoughPoints = 3;

// Marks the values of a dump whose operator kernels of its cells, or of none, have by that name,
// with results of that size: it was not renamed, so that results of other operators are other
// values.
void FindKnownOperators(const std::vector<RunValue>& kernels, std::vector<RunValue>* dump);

// 0: they cannot be the same, or have nothing but their size in common.
int PointsOf(const RunValue& of_dump, const RunValue& of_kernels);

// Whether the cell of a producer or consumer is among it.
bool ShareCell(const RunValue& of_dump, const RunValue& of_kernels);

// Whether the longer shape only divides axes of the shorter one; of equal length: they are equal.
bool IsMergedShape(const std::vector<int64_t>& a, const std::vector<int64_t>& b);

}  // namespace sonde::precision
