// Which values of a run are parameters of the model, by their names: for JoinKernels().
//
// Only names distinguish weights of one shape: their cell and their consumers are the same, and a
// compiled graph runs what does not depend on each other in any order.
//   of a dump   "Cell.head.Dense.forward.0.parameters.weight" is "head.weight"
//   of kernels  what the forward pass takes from a parameter of the graph that MindSpore wrote
//               beside the dump. (The "Parameter" files of a dump are written behind the
//               optimizer, with what it made of them.)
// Threads: pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "precision/dump/dump_file.h"
#include "precision/kernels/gradient_graph.h"
#include "precision/kernels/run_values.h"

namespace sonde::precision {

// The tensors of kernels that are the parameter of that name, in the order of the graph.
using ParameterTensors = std::map<std::string, std::vector<const KernelTensor*>>;

// With an entry for each parameter that the forward pass takes, maybe without a tensor.
ParameterTensors FindParameters(const std::vector<GradientGraph>& graphs);

// The name of the parameter of a row of it or of its gradient ("Cell.head.Dense.parameters_grad.0"
// and its "bias.0" -> "head.bias"); empty: a row of another kind.
std::string NameOfParameter(const DumpRow& row, std::string_view api);

// The parameter of the kernels that has this name, or the only one that has it behind or before
// the names of outer cells; empty: none.
std::string KernelParameter(const std::string& name, const ParameterTensors& parameters);

// Names the values of either run; those of the dump as the kernels name them.
void NameKernelValues(const ParameterTensors& parameters, RunValues* kernels);
void NameDumpValues(const DumpFile& dump, const ParameterTensors& parameters, RunValues* values);

// Pairs the values of one name: of each value of the dump the index of one of the kernels, -1:
// none.
std::vector<int64_t> PairParameters(const RunValues& dump, const RunValues& kernels);

}  // namespace sonde::precision
