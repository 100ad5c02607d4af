// Which parameter of a cell is which of its module, where the two frameworks name them differently.
//
// By the same name, else by what the name says ("gamma" of MindSpore is "weight" of PyTorch, "beta"
// is "bias"). By position only where names say nothing: the order differs, too, since gradients
// come in the order in which they are computed.
// Threads: pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sonde::precision {

// What PyTorch calls the parameter; empty: the name says nothing.
std::string_view UsualParameterName(std::string_view name);

// "parameters.gamma" -> "parameters.weight", "gamma.0" -> "weight.0"; empty: it says nothing.
std::string UsualParameterSuffix(std::string_view suffix);

// Of each target suffix the index among the golden ones, -1: none; each of these once.
std::vector<int> PairParameterNames(const std::vector<std::string_view>& target,
                                    const std::vector<std::string_view>& golden);

}  // namespace sonde::precision
