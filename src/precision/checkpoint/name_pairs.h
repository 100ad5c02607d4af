// Which tensors of two checkpoints belong together: those of one name.
//
// Wrappers put something in front of every name (`module.` of DDP, `model.` of a trainer,
// `_orig_mod.` of a compiled model). The prefix of either side is taken away with which most names
// meet. Pure, any thread.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "precision/checkpoint/named_tensor.h"

namespace sonde::precision {

struct NamePairs {
  std::vector<std::pair<size_t, size_t>> both;  // places, in the golden order
  std::vector<size_t> target_only;
  std::vector<size_t> golden_only;
  std::vector<std::string> notes;
};

NamePairs PairNames(const std::vector<NamedTensor>& target, const std::vector<NamedTensor>& golden);

}  // namespace sonde::precision
