#include "recipes/request_time/usual.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace sonde::recipes {
namespace {

constexpr size_t kLeastOfSize = 3;
constexpr int64_t kFar = 8;           // times the largest known size
constexpr double kSizesOfDouble = 3;  // groups from one size to its double

int64_t SizeGroup(int64_t size) {
  return std::lround(std::log2(static_cast<double>(std::max<int64_t>(size, 1))) * kSizesOfDouble);
}

int64_t Scaled(int64_t value, int64_t size, int64_t of_size) {
  return static_cast<int64_t>(static_cast<double>(value) * static_cast<double>(size) /
                              static_cast<double>(std::max<int64_t>(of_size, 1)));
}

}  // namespace

int64_t MedianOf(std::vector<int64_t> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double QuantileOf(const std::vector<int64_t>& ascending, double share) {
  if (ascending.empty()) return 0;
  const double place = share * static_cast<double>(ascending.size() - 1);
  const auto below = static_cast<size_t>(std::floor(place));
  const size_t above = std::min(below + 1, ascending.size() - 1);
  const auto low = static_cast<double>(ascending[below]);
  return low + (static_cast<double>(ascending[above]) - low) * (place - static_cast<double>(below));
}

double SpreadOf(const std::vector<int64_t>& values) {
  constexpr double kOfNormal = 1.4826;
  const int64_t median = MedianOf(values);
  std::vector<int64_t> distances;
  distances.reserve(values.size());
  for (const int64_t value : values) distances.push_back(std::abs(value - median));
  return kOfNormal * static_cast<double>(MedianOf(std::move(distances)));
}

UsualBySize::UsualBySize(const std::vector<std::pair<int64_t, int64_t>>& values) {
  std::map<int64_t, std::pair<std::vector<int64_t>, std::vector<int64_t>>> groups;
  for (const auto& [size, value] : values) {
    auto& [sizes, group_values] = groups[SizeGroup(size)];
    sizes.push_back(size);
    group_values.push_back(value);
  }
  for (auto& [group, lists] : groups) {
    if (lists.first.size() < kLeastOfSize) continue;
    known_.emplace_back(MedianOf(std::move(lists.first)), MedianOf(std::move(lists.second)));
  }
}

int64_t UsualBySize::Of(int64_t size, int64_t value) const {
  if (known_.empty()) return value;
  const auto above = std::lower_bound(known_.begin(), known_.end(), std::pair(size, INT64_MIN));
  if (above == known_.end()) {
    const auto& [last_size, last] = known_.back();
    if (size / kFar > last_size) return value;
    return std::clamp(value, last, std::max(last, Scaled(last, size, last_size)));
  }
  if (above->first == size) return above->second;
  if (above == known_.begin()) {
    const auto& [first_size, first] = known_.front();
    return std::clamp(value, std::min(first, Scaled(first, size, first_size)), first);
  }
  const auto& [low_size, low] = *(above - 1);
  const double share =
      static_cast<double>(size - low_size) / static_cast<double>(above->first - low_size);
  return low + static_cast<int64_t>(share * static_cast<double>(above->second - low));
}

}  // namespace sonde::recipes
