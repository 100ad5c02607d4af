// The calls of two runs side by side, in order of execution, as far as they are the same sequence.
//
// Calls are the same when their names without call number are: where one run has calls that the
// other lacks, numbers behind them are shifted, and pairs by number would compare calls of other
// places. Conversions and views count in neither sequence: a run that casts once more differs in
// the type that its next call gets, which is more informative.
// Where no common continuation is found within 512 calls, the rest stays unaligned.
// Threads: pure.
#pragma once

#include <cstdint>
#include <vector>

#include "precision/compare/comparison.h"
#include "precision/dump/construct_file.h"
#include "precision/dump/dump_file.h"

namespace sonde::precision {

inline constexpr int32_t kNoCall = -1;

// One place in time: a call of both runs, or of one only.
struct AlignedCall {
  int32_t target = kNoCall;  // index into apis() of the dump
  int32_t golden = kNoCall;
};

struct Alignment {
  std::vector<AlignedCall> calls;
  bool is_complete = true;       // false: what lies behind the last call could not be aligned
  bool other_optimizer = false;  // calls of optimizers were left out
};

// Where both trees are given, calls are the same only in modules of the same path, whatever wraps
// these, and an optimizer's calls are left out where the two runs have it in other forms (fused,
// foreach, loop) or update weights in another order. Among calls that the runs do not share, those
// of one name that got the same values are the same.
Alignment AlignCalls(const DumpFile& target, const DumpFile& golden,
                     const ConstructFile* target_tree = nullptr,
                     const ConstructFile* golden_tree = nullptr);

// For pairs that were made by a mapping: as the comparison paired them. Calls without partner are
// left out, they are no sign of another order.
Alignment AlignmentOf(const Comparison& comparison);

// Whether the call only converts or views: it may be missing in one run.
bool IsConversion(std::string_view api);

}  // namespace sonde::precision
