#include "recipes/request_time/host_times.h"

#include <algorithm>
#include <map>
#include <utility>

#include "recipes/request_time/steps.h"

namespace sonde::recipes {

std::vector<Interval> HostTimes(const store::RowTables& tables, HostActivity activity) {
  std::map<int32_t, bool> names;
  std::vector<Interval> times;
  for (const store::SliceRow& row : tables.Rows<store::SliceRow>()) {
    if (row.dur <= 0 || row.name < 0) continue;
    const auto [name, is_new] = names.try_emplace(row.name);
    if (is_new) name->second = ActivityOf(NameIn(tables, row.name)) == activity;
    const bool is_collection =
        activity == HostActivity::kGarbageCollection && NameIn(tables, row.category) == "gc";
    if (name->second || is_collection) times.push_back({row.ts, row.ts + row.dur});
  }
  return Merge(std::move(times));
}

int64_t OverlapNs(const std::vector<Interval>& times, int64_t begin_ns, int64_t end_ns) {
  auto place = std::partition_point(times.begin(), times.end(),
                                    [&](const Interval& one) { return one.end_ns <= begin_ns; });
  int64_t sum = 0;
  for (; place != times.end() && place->start_ns < end_ns; ++place) {
    sum += std::min(place->end_ns, end_ns) - std::max(place->start_ns, begin_ns);
  }
  return sum;
}

}  // namespace sonde::recipes
