// How a model was spread over ranks, and which ranks belong together.
// Pure, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace sonde::precision {

struct ParallelLayout {
  int64_t rank_size = 0;  // 0: ranks are not merged
  int64_t tensor = 1;
  int64_t pipeline = 1;
  int64_t virtual_pipeline = 1;
  std::string order = "tp-cp-ep-dp-pp";  // the fastest dimension first
};

using RankGroups = std::vector<std::vector<int64_t>>;

// `ranks`: how many rank folders there are.
Status CheckLayout(const ParallelLayout& layout, size_t ranks);

// The groups that sizes and order imply; `dimension` is "tp" or "pp".
Result<RankGroups> GroupsOf(const ParallelLayout& layout, std::string_view dimension);

// "layers.3." and "layer.3.": where the first such part of a name has its number; begin is npos
// without one.
struct LayerNumber {
  size_t begin = std::string_view::npos;
  size_t end = 0;
};
LayerNumber FindLayerNumber(std::string_view name);
// All numbers of layers in the name become this one.
std::string WithLayerNumber(std::string_view name, std::string_view number);

}  // namespace sonde::precision
