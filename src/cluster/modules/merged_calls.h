// Calls of modules that run the same operators with the same kernels, as one row each.
//
//   order     number of the operator in its instance of the module (parents, name, begin, end)
//   sequence  the operators of the instance; instances of different ones are not merged
//   a row     parents, module, operator, order, kernels and sequence in common: sums over its calls
//   suffix    where neighbouring rows of a module differ in their sequence the module's name gets
//             _0, _1, ... by it
// Rows come in the order of their first operator, as in the reference. Units: nanoseconds. Pure,
// any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cluster/modules/module_tree.h"

namespace sonde::cluster {

struct MergedCalls {
  std::string parent;
  std::string module;
  std::string op;
  std::string kernels;  // names, ", " between
  double total_ns = 0;
  int64_t count = 0;
  int64_t begin = 0;  // of the first operator
  size_t order = 0;
  size_t sequence = 0;
  std::vector<size_t> calls;  // of the ops
};

std::vector<MergedCalls> MergeCalls(const std::vector<PlacedOp>& placed,
                                    const std::vector<LaunchingOp>& ops);

}  // namespace sonde::cluster
