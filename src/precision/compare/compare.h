// Compares two dumps row by row: pairing, metrics, verdicts.
//
// Errors: dumps of different modes, a structure dump, tensor folders that are not there.
// Threads: works in parallel inside; the dumps are only read.
#pragma once

#include <string>

#include "base/status.h"
#include "precision/compare/comparison.h"
#include "precision/compare/pairing.h"
#include "precision/dump/dump_file.h"

namespace sonde::precision {

// Which metrics two dumps allow. Fails when their tasks differ or one lacks checksums.
Result<Mode> DecideMode(const DumpFile& target, const DumpFile& golden);

// Whether the two come from different frameworks (MindSpore against PyTorch); fails for pairs that
// nobody can compare.
Result<bool> DecideCrossFramework(const DumpFile& target, const DumpFile& golden);

// Pairs and judges, with the metrics of statistics and md5 mode. In tensor mode the cells are left
// for FillTensorMetrics() and judged after it by JudgeAll().
Comparison PairAndCompare(const DumpFile& target, const DumpFile& golden, Mode mode,
                          const PairingOptions& options);

// Metrics and verdicts of rows that are paired already; in tensor mode as PairAndCompare().
void CompareGroups(Comparison* comparison);

// Applies the rules to every group. PairAndCompare() has done so except in tensor mode.
void JudgeAll(Comparison* comparison);

}  // namespace sonde::precision
