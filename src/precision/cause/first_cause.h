// Where two runs differ first, by cause: the walk through both runs in order of execution.
//
// A call is the first place when its inputs agree within rounding (tolerance.h) and its outputs
// do not, when a parameter or an input of the program differs, or when the runs call something
// else (alignment.h). A parameter is not computed: any difference is a change. A value that a call
// got is looked up among the outputs before it: what an earlier call gave was judged there; what no
// recorded call gave comes from outside, or from code of the module around it.
// Checksums cannot distinguish rounding from a fault; the place is found all the same.
// Everything points into the dumps. Threads: pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "precision/cause/alignment.h"
#include "precision/compare/comparison.h"
#include "precision/dump/construct_file.h"

namespace sonde::precision {

enum class CauseKind : uint8_t {
  kIdentical,    // all values are equal to the last digit
  kRounding,     // they differ by no more than rounding
  kWeight,       // a parameter or buffer differs
  kInput,        // a value from outside of the recorded calls differs
  kArgument,     // a number or text that a call got
  kOperator,     // equal inputs, other outputs
  kCalls,        // another order or number of calls, or another call's result is taken
  kDtype,        // an element type differs
  kShape,        // a shape differs
  kNotFinite,    // NaN or an infinity first appears here
  kRandom,       // a call that is random by design gave other numbers
  kChecksum,     // checksums differ from here on, by how much is unknown
  kNotCompared,  // nothing could be compared
  kOtherRank,    // a collective gave something else, though what this rank gave agrees
  kOptimizer,  // gradients of the step before agree, the weights that the optimizer made of them do
               // not
};
std::string_view CauseText(CauseKind kind);  // "changed weight"

// What the walk found of one row whose two values are not equal to the last digit.
struct JudgedRow {
  uint32_t row = 0;  // index into the target's rows
  double distance = 0;
  double explained = 0;  // by rounding; 0: nothing was to be explained, as of a weight
};

struct FirstCause {
  CauseKind kind = CauseKind::kIdentical;
  int32_t target_call = kNoCall;  // index into apis(); kNoCall: only the golden run has the call
  int32_t golden_call = kNoCall;
  const DumpRow* target_row = nullptr;  // null: the call itself
  const DumpRow* golden_row = nullptr;
  std::string place;                  // full name of the row or call
  std::string how;                    // in a few words, of a weight and of calls; empty: none
  std::string module;                 // nearest module around it; empty: unknown
  std::vector<std::string> evidence;  // lines: what both sides have, and why this is the first
  uint64_t values = 0;                // compared
  uint64_t exact = 0;                 // of these equal to the last digit
  uint64_t unreadable = 0;            // could not be compared
  double largest_relative = 0;        // of differences that passed as rounding
  std::string largest_place;
  double largest_share = 0;  // of what rounding explains, that a difference has used
  std::string share_place;
  // A number that a call got and that differs, while no recorded result shows it: "PLACE: 0.9
  // against 0.1". Empty: none.
  std::string unseen_argument;
  // Statistics of a 16-bit type that rounding moves: a wrong element among many is not seen.
  bool hides_elements = false;
  std::vector<JudgedRow> judged;  // in order of the walk, which ends at the finding

  bool IsFinding() const { return kind > CauseKind::kRounding; }
};

struct CauseOptions {
  // Relative distance that an earlier step's gradients had by rounding alone: weights that were
  // updated by them may differ. 0: the weights have had no reason to differ.
  double carried = 0;
  // The step before was compared, and nothing but rounding differs in it: weights that differ were
  // made so by the optimizer.
  bool follows_agreement = false;
  // In the step before the optimizers made other calls: forms of one differ in the last digit.
  bool other_optimizer = false;
  const ConstructFile* golden_construct = nullptr;  // may be null
};

// `comparison` of the two dumps; `construct` of the target, may be null.
FirstCause FindFirstCause(const Comparison& comparison, const DumpFile& target,
                          const DumpFile& golden, const Alignment& alignment,
                          const ConstructFile* construct, const CauseOptions& options);

}  // namespace sonde::precision
