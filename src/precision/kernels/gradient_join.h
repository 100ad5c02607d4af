// Joins the gradients of a compiled graph with those of a run that was not compiled.
//
// The graph itself, which MindSpore writes beside the dump, links each gradient with the call of
// the forward pass that it is of; so gradients are joined by what they are the gradient of: a
// value whose forward partner is known, an input of a call, a parameter. Numbers of the two runs
// are never compared for it. What is not certain stays without a partner. Threads: pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "precision/dump/dump_file.h"
#include "precision/kernels/gradient_graph.h"
#include "precision/kernels/kernel_flow.h"
#include "precision/kernels/parameter_values.h"
#include "precision/kernels/run_values.h"

namespace sonde::precision {

struct JoinedGradient {
  std::vector<uint32_t> rows;                // of the dump
  std::vector<const KernelTensor*> tensors;  // of the kernels; empty: none
};

// All gradients of the dump with numbers, equal ones together. `partners`: of each value of the
// dump the index of one of the kernels, -1: none.
std::vector<JoinedGradient> JoinGradients(const KernelFlow& flow,
                                          const std::vector<GradientGraph>& graphs,
                                          const ParameterTensors& parameters,
                                          const RunValues& kernels, const DumpFile& dump,
                                          const RunValues& values,
                                          const std::vector<int64_t>& partners);

}  // namespace sonde::precision
