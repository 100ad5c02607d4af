// Rows for ranges that may overlap: within a lane, ranges nest or are disjoint.
//
// Ranges come in the order (start ascending, end descending); each goes to the first lane in which
// it fits. Units: nanoseconds. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sonde::exporters {

class NestingLanes {
 public:
  size_t Place(int64_t start_ns, int64_t end_ns) {
    for (size_t lane = 0; lane < open_ends_.size(); ++lane) {
      std::vector<int64_t>& ends = open_ends_[lane];
      while (!ends.empty() && ends.back() <= start_ns) ends.pop_back();
      if (ends.empty() || end_ns <= ends.back()) {
        ends.push_back(end_ns);
        return lane;
      }
    }
    open_ends_.push_back({end_ns});
    return open_ends_.size() - 1;
  }
  size_t size() const { return open_ends_.size(); }

 private:
  std::vector<std::vector<int64_t>> open_ends_;  // by lane, innermost last
};

}  // namespace sonde::exporters
