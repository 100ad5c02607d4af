#include "importers/common/impossible_times.h"

#include <algorithm>

namespace sonde::importers {
namespace {

struct Group {
  int64_t first;
  int64_t last;
  size_t count;
  bool IsZero() const { return first == 0 && last == 0; }
};

// Times that no gap of kApartNs parts.
std::vector<Group> GroupsOf(const std::vector<int64_t>& sorted) {
  std::vector<Group> groups;
  for (const int64_t ts : sorted) {
    if (groups.empty() || Distance(groups.back().last, ts) > kApartNs)
      groups.push_back({ts, ts, 0});
    groups.back().last = ts;
    ++groups.back().count;
  }
  return groups;
}

}  // namespace

TimeWindow WindowOf(std::vector<int64_t> begins) {
  std::sort(begins.begin(), begins.end());
  const std::vector<Group> groups = GroupsOf(begins);
  if (groups.size() < 2) return {};
  const auto fewer = [](const Group& a, const Group& b) {
    return a.IsZero() != b.IsZero() ? a.IsZero() : a.count < b.count;
  };
  const Group& most = *std::max_element(groups.begin(), groups.end(), fewer);
  TimeWindow window{most.first, most.last};
  for (const Group& group : groups) {
    if (group.IsZero() || group.count * 4 < most.count) continue;
    window.first = std::min(window.first, group.first);
    window.last = std::max(window.last, group.last);
  }
  return window;
}

}  // namespace sonde::importers
