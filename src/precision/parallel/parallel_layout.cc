#include "precision/parallel/parallel_layout.h"

#include <algorithm>
#include <array>

#include "base/strings.h"

namespace sonde::precision {
namespace {

using base::Concat;
using base::InvalidArgumentError;

constexpr std::array<std::string_view, 5> kDimensions = {"tp", "cp", "ep", "dp", "pp"};

int64_t SizeOf(const ParallelLayout& layout, std::string_view dimension) {
  if (dimension == "tp") return layout.tensor;
  if (dimension == "pp") return layout.pipeline;
  if (dimension == "dp") return layout.rank_size / (layout.tensor * layout.pipeline);
  return 1;
}

// The dimensions in their order; those that are not named come last.
Result<std::vector<std::string_view>> DimensionsOf(const ParallelLayout& layout) {
  std::vector<std::string_view> out;
  for (const std::string_view name : base::Split(layout.order, '-')) {
    if (std::find(kDimensions.begin(), kDimensions.end(), name) == kDimensions.end() ||
        std::find(out.begin(), out.end(), name) != out.end()) {
      return InvalidArgumentError(
          Concat("--order '", layout.order, "' must name tp, cp, ep, dp and pp, each once"));
    }
    out.push_back(name);
  }
  for (const std::string_view name : kDimensions) {
    if (std::find(out.begin(), out.end(), name) != out.end()) continue;
    if (SizeOf(layout, name) != 1) {
      return InvalidArgumentError(Concat("--order '", layout.order, "' leaves out ", name));
    }
    out.push_back(name);
  }
  return out;
}

}  // namespace

Status CheckLayout(const ParallelLayout& layout, size_t ranks) {
  if (static_cast<int64_t>(ranks) != layout.rank_size) {
    return InvalidArgumentError(Concat("--rank_size is ", std::to_string(layout.rank_size),
                                       ", but there are ", std::to_string(ranks), " rank folders"));
  }
  if (layout.tensor < 1 || layout.pipeline < 1 || layout.virtual_pipeline < 1) {
    return InvalidArgumentError("--tp, --pp and --vpp must be positive");
  }
  if (layout.tensor > layout.rank_size || layout.pipeline > layout.rank_size ||
      layout.rank_size % (layout.tensor * layout.pipeline) != 0) {
    return InvalidArgumentError("--rank_size must be a multiple of tp times pp");
  }
  if (layout.virtual_pipeline > 1 && layout.pipeline < 2) {
    return InvalidArgumentError("--vpp above 1 needs --pp above 1");
  }
  return DimensionsOf(layout).status();
}

Result<RankGroups> GroupsOf(const ParallelLayout& layout, std::string_view dimension) {
  SONDE_ASSIGN_OR_RETURN(const std::vector<std::string_view> dimensions, DimensionsOf(layout));
  int64_t stride = 1;
  for (const std::string_view name : dimensions) {
    if (name == dimension) break;
    stride *= SizeOf(layout, name);
  }
  const int64_t size = SizeOf(layout, dimension);
  RankGroups out;
  for (int64_t rank = 0; rank < layout.rank_size; ++rank) {
    if (rank / stride % size != 0) continue;  // not the first of its group
    std::vector<int64_t>& group = out.emplace_back();
    for (int64_t i = 0; i < size; ++i) group.push_back(rank + i * stride);
  }
  return out;
}

LayerNumber FindLayerNumber(std::string_view name) {
  for (size_t at = name.find("layer"); at != std::string_view::npos;
       at = name.find("layer", at + 1)) {
    size_t begin = at + 5;
    if (begin < name.size() && name[begin] == 's') ++begin;
    if (begin >= name.size() || name[begin] != '.') continue;
    const size_t end = name.find_first_not_of("0123456789", ++begin);
    if (end != std::string_view::npos && end > begin && name[end] == '.') return {begin, end};
  }
  return {};
}

std::string WithLayerNumber(std::string_view name, std::string_view number) {
  std::string out;
  while (true) {
    const LayerNumber place = FindLayerNumber(name);
    if (place.begin == std::string_view::npos) break;
    out += Concat(name.substr(0, place.begin), number, ".");
    name.remove_prefix(place.end + 1);
  }
  return out += name;
}

}  // namespace sonde::precision
