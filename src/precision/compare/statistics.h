// Differences of the four statistics of two rows, in exact IEEE double arithmetic.
//
//   difference = target - golden; relative error = |difference / golden * 100| per cent
//
// Values without a difference (NaN, infinities, texts, booleans) give the reference's words; equal
// texts give `0`, golden zero the relative error `inf`.
// Pure, any thread.
#pragma once

#include <array>

#include "precision/compare/cell.h"
#include "precision/compare/comparison.h"
#include "precision/dump/dump_file.h"

namespace sonde::precision {

struct StatisticDifference {
  Cell difference;
  Cell relative_error;
};

StatisticDifference CompareStatistic(const Value& target, const Value& golden);

// All eight cells of a row; `golden` may be null.
std::array<Cell, kMaxCells> CompareStatistics(const DumpRow& target, const DumpRow* golden);

}  // namespace sonde::precision
