// What the ranks of a role did in some of their steps, added up by name, and the median of others.
//
// Units: nanoseconds, of all the steps together. Refers to the role. Pure, any thread.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "recipes/slow_rank/excess.h"
#include "recipes/slow_rank/job.h"

namespace sonde::recipes::slow_rank {

struct TaskSum {
  double count = 0;
  double ns = 0;
  int64_t ts = 0;  // of the longest
  int64_t longest_ns = -1;
  double PerCall() const { return count > 0 ? ns / count : 0; }
};

struct RankSums {
  double compute = 0;
  double copies = 0;
  double late = 0;
  double waiting = 0;  // idle though launched
  double mhz = -1;
  std::map<std::string_view, std::map<std::string_view, TaskSum>> kernels;  // name, shapes
  std::map<std::string_view, TaskSum> copy_names;
  std::map<std::string_view, TaskSum> host;
};

// Of the rank at a place of the role, in steps of the role.
RankSums SumsOf(const Role& role, size_t rank, const std::vector<size_t>& steps);

// The median of `get` over the ranks.
template <class Get>
double MedianOf(const std::vector<RankSums>& ranks, const Get& get) {
  std::vector<double> values;
  values.reserve(ranks.size());
  for (const RankSums& rank : ranks) values.push_back(get(rank));
  return values.empty() ? 0 : MedianOf(std::move(values));
}

}  // namespace sonde::recipes::slow_rank
