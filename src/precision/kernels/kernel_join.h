// Joins the kernels of a compiled graph with the calls of a run that was not compiled.
//
// Neither names nor scopes suffice: the compiler fuses and renames operators, and a function that
// several cells share has the scope of the first one. So the values are joined. In each run a value
// is known by its producer and its consumers, which are found by equal statistics within that run;
// the values of the two runs are aligned in their order, by element type, shape, the cells of
// producer and consumers, and the operator, and then by what flows into what; parameters are joined
// by their names first (parameter_values.h). Numbers of the two runs are never compared for it.
// Values without enough in common stay without a partner. Gradients follow by what they are the
// gradients of: gradient_join.h. Threads: pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "precision/dump/construct_file.h"
#include "precision/dump/dump_file.h"
#include "precision/kernels/kernel_flow.h"

namespace sonde::precision {

struct KernelJoin {
  std::vector<const KernelTensor*> partners;  // of each row of the dump; null: none
  uint64_t values = 0;                        // of the dump: distinct tensors with numbers
  uint64_t joined = 0;                        // of them
  uint64_t gradients = 0;                     // of the dump, likewise
  uint64_t joined_gradients = 0;              // of them
};

// Rows get only tensors of their own shape, or with `any_shape` also the same values in another
// one. Fails where the two runs have too many values for one table.
Result<KernelJoin> JoinKernels(const KernelFlow& flow, const DumpFile& dump,
                               const ConstructFile& construct, bool any_shape);

}  // namespace sonde::precision
