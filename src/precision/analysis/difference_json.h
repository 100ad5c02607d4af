// First-difference analysis (-da): the per-rank JSON of all compared calls, and the calls at which
// the runs first differ.
//
// A call differs when one of its outputs has a relative error above its threshold, an infinite or
// undefined one, or (checksums) another checksum. Threads: pure.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "base/status.h"
#include "precision/analysis/first_node.h"
#include "precision/compare/comparison.h"
#include "precision/dump/stack_file.h"

namespace sonde::precision {

// Fractions: 0.5 is 50 %.
struct DifferenceThresholds {
  std::array<double, kStatisticCount> relative = {0.5, 0.5, 0.5, 0.5};
};

// The calls of one rank with their verdicts; `comparison` must be of statistics or md5 mode.
RankTimeline DifferenceTimeline(const Comparison& comparison, const DumpFile& target,
                                const DifferenceThresholds& thresholds, int64_t rank);

// compare_result_rank<N>_<time>.json, written under `path`.
Status WriteDifferenceJson(const std::string& path, const Comparison& comparison,
                           const RankTimeline& timeline, const StackFile* stack);

// One rank's data for the final report.
struct DifferenceRank {
  const Comparison* comparison = nullptr;
  const StackFile* stack = nullptr;
  RankTimeline timeline;
};

// diff_analyze_<time>.json: the found calls, by rank.
std::string DifferenceReport(const std::vector<DifferenceRank>& ranks,
                             const std::vector<FoundCall>& found);

}  // namespace sonde::precision
