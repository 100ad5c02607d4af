// The files that a comparison of checkpoints writes.
//
// Errors: a file that cannot be written. Threads: one.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "precision/checkpoint/weight_words.h"

namespace sonde::precision {

struct WeightRow {
  std::string name;
  const Tensor* target = nullptr;  // null: the golden checkpoint alone has it
  const Tensor* golden = nullptr;
  WeightDifference difference;
  JudgedWeight judged;
};

// msProbe's: {"name": {"l2": 0.0, "cos": 1.0, "numel": 4, "shape": [2, 2]}}, tensors of both sides.
Status WriteSimilarityJson(const std::vector<WeightRow>& rows, const std::string& path);
Status WriteWeightTable(const std::vector<WeightRow>& rows, const std::string& path);

}  // namespace sonde::precision
