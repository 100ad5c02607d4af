#include "compare/frame/matching.h"

#include "base/host/common_runs.h"

namespace sonde::compare {
namespace {

void AddAlone(size_t& base, size_t base_end, size_t& comparison, size_t comparison_end,
              std::vector<PlacePair>& pairs) {
  for (; base < base_end; ++base) pairs.emplace_back(static_cast<int32_t>(base), kNobody);
  for (; comparison < comparison_end; ++comparison) {
    pairs.emplace_back(kNobody, static_cast<int32_t>(comparison));
  }
}

}  // namespace

std::vector<PlacePair> MatchSequences(std::span<const int32_t> base,
                                      std::span<const int32_t> comparison) {
  std::vector<PlacePair> pairs;
  size_t i = 0;
  size_t j = 0;
  for (const base::CommonRun& run : base::CommonRuns(base, comparison)) {
    AddAlone(i, run.a, j, run.b, pairs);
    for (size_t k = 0; k < run.size; ++k) {
      pairs.emplace_back(static_cast<int32_t>(i++), static_cast<int32_t>(j++));
    }
  }
  AddAlone(i, base.size(), j, comparison.size(), pairs);
  return pairs;
}

std::vector<PlacePair> MatchNothing(size_t base_size, size_t comparison_size) {
  std::vector<PlacePair> pairs;
  size_t i = 0;
  size_t j = 0;
  AddAlone(i, base_size, j, comparison_size, pairs);
  return pairs;
}

}  // namespace sonde::compare
