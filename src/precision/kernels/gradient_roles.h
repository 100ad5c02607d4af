// What the gradients of a run are for, in words that are the same for both runs: for
// JoinGradients().
//
//   "whole <value>"                      the gradient of a value of the forward pass
//   "part <value> <input> of <inputs>"   what one call that gives the value adds to that of an
//   input "parameter <name>"                   the gradient of a parameter
//
// Values of the forward pass are named by their index in the kernels' run, which those of the dump
// have by their partners. Threads: pure.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "precision/dump/dump_file.h"
#include "precision/kernels/gradient_graph.h"
#include "precision/kernels/parameter_values.h"
#include "precision/kernels/run_values.h"

namespace sonde::precision {

// KeyOfValue() of the gradients by their role: a role of several is of no use.
using GradientRoles = std::map<std::string, std::set<std::string>>;

void AddKernelRoles(const GradientGraph& graph, const RunValues& kernels, GradientRoles* roles);

GradientRoles DumpRoles(const DumpFile& dump, const RunValues& values,
                        const std::vector<int64_t>& partners, const ParameterTensors& parameters);

// Whether a row is a gradient with numbers.
bool IsGradient(const DumpRow& row, std::string_view api);

}  // namespace sonde::precision
