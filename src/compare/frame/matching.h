// Two sequences side by side: common elements, and those of one side only.
//
// The longest run that both have is found first, then those before and behind it, as Python's
// difflib does without its heuristics, so that pairs come out as the reference has them. Cost: the
// number of equal pairs for each run; sequences that are equal are found in one pass. Pure, any
// thread.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace sonde::compare {

inline constexpr int32_t kNobody = -1;

// Places in the sequences; kNobody where the other has none.
using PlacePair = std::pair<int32_t, int32_t>;

// In the order of both: before each run what only the base has, then what only the other has.
std::vector<PlacePair> MatchSequences(std::span<const int32_t> base,
                                      std::span<const int32_t> comparison);

// Everything alone, the base first.
std::vector<PlacePair> MatchNothing(size_t base_size, size_t comparison_size);

// Numbers for texts, the same for the same.
class TextNumbers {
 public:
  int32_t Of(std::string_view text) {
    const auto found = numbers_.find(text);
    if (found != numbers_.end()) return found->second;
    return numbers_.emplace(text, static_cast<int32_t>(numbers_.size())).first->second;
  }

 private:
  struct HashOf {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::unordered_map<std::string, int32_t, HashOf, std::equal_to<>> numbers_;
};

}  // namespace sonde::compare
