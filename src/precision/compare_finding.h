// The finding of one pair of ranks: its first cause, with the source line and what an earlier step
// shows.
//
// Any thread. Reads the two tensors of the finding, where there are such.
#pragma once

#include <cstdint>
#include <string>

#include "precision/cause/alignment.h"
#include "precision/compare/comparison.h"
#include "precision/dump/dump_folder.h"
#include "precision/output/conclusion.h"

namespace sonde::precision {

// What an earlier step of a rank shows about the weights of the next.
struct StepBefore {
  int64_t step = 0;
  double rounding = 0;  // the largest relative distance, by rounding alone
  bool differs = false;
  bool other_optimizer = false;  // makes other calls in the two runs
};

struct PairPlace {
  int64_t step = 0;
  int64_t rank = 0;
  // Where the tensors of the dumps lie, for a value that has its numbers in another order.
  std::string target_tensors;
  std::string golden_tensors;
};

// `before` may be null: no earlier step of this rank was compared.
PairFinding FindingOfPair(const DumpPair& pair, const Comparison& comparison,
                          const Alignment& alignment, const PairPlace& place,
                          const StepBefore* before);

}  // namespace sonde::precision
