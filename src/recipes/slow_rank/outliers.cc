#include "recipes/slow_rank/outliers.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/strings.h"

namespace sonde::recipes::slow_rank {
namespace {

struct OutlierKind {
  size_t row = 0;  // of the longest
  double longest = -1;
  double sum = 0;
  double count = 0;

  void Add(size_t of_row, double value, double sum_of_row, double count_of_row) {
    sum += sum_of_row;
    count += count_of_row;
    if (value > longest) {
      longest = value;
      row = of_row;
    }
  }
  double Outlier() const {
    return count < 2 ? 0 : std::max(longest - (sum - longest) / (count - 1), 0.0);
  }
};

}  // namespace

double ElementsOf(std::string_view shapes) {
  while (!shapes.empty() && (shapes.front() == '"' || shapes.front() == ';'))
    shapes.remove_prefix(1);
  const std::string_view first = shapes.substr(0, shapes.find_first_of(";\""));
  double elements = first.empty() ? 0 : 1;
  for (const std::string_view size : base::Split(first, ',')) {
    const auto number = base::ParseInt64(base::Trim(size));
    if (!number || *number < 0) return 0;
    elements *= static_cast<double>(*number);
  }
  return elements;
}

std::vector<int64_t> OutliersOf(const RankOfJob& rank) {
  const std::vector<WorkTasks>& rows = rank.Rows<WorkTasks>();
  std::map<std::pair<int32_t, int32_t>, OutlierKind> kinds;  // name, shapes
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].kind != WorkKind::kCompute) continue;
    kinds[{rows[i].name, rows[i].shapes}].Add(i, static_cast<double>(rows[i].longest_ns),
                                              static_cast<double>(rows[i].dur_ns),
                                              static_cast<double>(rows[i].count));
  }
  std::vector<int64_t> outliers(rows.size(), 0);
  std::map<int32_t, OutlierKind> single;  // ns an element, by name
  for (const auto& [key, kind] : kinds) {
    const double elements = kind.count > 1 ? 0 : ElementsOf(rank.Text(key.second));
    if (elements > 0) {
      single[key.first].Add(kind.row, kind.longest / elements, kind.longest / elements, 1);
    }
    outliers[kind.row] += static_cast<int64_t>(kind.Outlier());
  }
  for (const auto& [name, kind] : single) {
    const double elements = ElementsOf(rank.Text(rows[kind.row].shapes));
    outliers[kind.row] += static_cast<int64_t>(kind.Outlier() * elements);
  }
  return outliers;
}

}  // namespace sonde::recipes::slow_rank
