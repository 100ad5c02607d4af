// Fills the tensor metrics of a comparison from the files next to two dumps.
//
// Rows without match, without file or with a file that cannot be read get `unsupported`; the last
// are errors, and their reasons are counted. Memory: two mapped files a thread.
// Threads: works in parallel inside.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "precision/compare/comparison.h"
#include "precision/tensor/tensor.h"
#include "precision/tensor/user_metric.h"

namespace sonde::precision {

struct TensorFileIssues {
  uint64_t unreadable = 0;
  std::string first;   // the first one's reason, in the order of rows
  uint64_t bytes = 0;  // compared, both sides
};

struct TensorSource {
  std::string target_folder;  // dump_tensor_data of either side
  std::string golden_folder;
  // Applied to every tensor behind loading; empty: none.
  std::function<Tensor(Tensor, const std::string& data_name, bool is_target)> transform = {};
  // Names of several files with ';' between: their tensors behind one another.
  bool join_files = false;
  // Each adds a column to the comparison.
  std::vector<UserMetric> metrics = {};
};

TensorFileIssues FillTensorMetrics(const TensorSource& source, Comparison* comparison);

}  // namespace sonde::precision
