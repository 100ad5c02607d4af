#include "recipes/op_statistic/op_statistic.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "recipes/recipe.h"

namespace sonde::recipes {

std::vector<OpStatisticRow> OpStatistic(const DeviceView& view) {
  const TraceData& data = *view.data;
  // Kinds that differ only in shapes share a row.
  std::map<std::tuple<size_t, std::string_view, std::string_view>, size_t> places;
  std::vector<size_t> place_of_kind(view.devices.size() * data.kinds.size(), SIZE_MAX);
  std::vector<OpStatisticRow> rows;
  std::vector<size_t> device_of_row;
  std::vector<int64_t> device_total_ns(view.devices.size(), 0);
  for (const store::DeviceTaskRow& task : data.tasks) {
    if (data.kinds[static_cast<size_t>(task.kind_id)].core == store::kNone) continue;  // no kernel
    const size_t device = view.device_of_track[static_cast<size_t>(task.track_id)];
    size_t& place = place_of_kind[device * data.kinds.size() + static_cast<size_t>(task.kind_id)];
    if (place == SIZE_MAX) {
      const store::TaskKindRow& kind = data.kinds[static_cast<size_t>(task.kind_id)];
      const std::tuple key(device, data.Name(kind.op_type), data.Name(kind.core));
      const auto [found, is_new] = places.try_emplace(key, rows.size());
      if (is_new) {
        rows.push_back({view.devices[device].process_id, view.devices[device].device_id,
                        std::get<1>(key), std::get<2>(key)});
        device_of_row.push_back(device);
      }
      place = found->second;
    }
    OpStatisticRow& row = rows[place];
    const int64_t dur_ns = std::max<int64_t>(task.dur, 0);
    row.min_ns = row.count == 0 ? dur_ns : std::min(row.min_ns, dur_ns);
    row.max_ns = std::max(row.max_ns, dur_ns);
    row.total_ns += dur_ns;
    ++row.count;
    device_total_ns[device] += dur_ns;
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    OpStatisticRow& row = rows[i];
    const auto total_ns = static_cast<double>(row.total_ns);
    row.average_ns = total_ns / static_cast<double>(row.count);
    const int64_t all_ns = device_total_ns[device_of_row[i]];
    if (all_ns > 0) row.ratio_percent = 100 * total_ns / static_cast<double>(all_ns);
  }
  std::vector<size_t> order(rows.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t i, size_t k) {
    const OpStatisticRow& a = rows[i];
    const OpStatisticRow& b = rows[k];
    return std::tie(device_of_row[i], b.total_ns, a.op_type, a.core) <
           std::tie(device_of_row[k], a.total_ns, b.op_type, b.core);
  });
  std::vector<OpStatisticRow> sorted;
  sorted.reserve(rows.size());
  for (const size_t i : order) sorted.push_back(rows[i]);
  return sorted;
}

namespace {

void RunOpStatistic(const DeviceView& view, store::RowSink& rows) {
  for (const OpStatisticRow& row : OpStatistic(view)) row.Write(rows);
}

}  // namespace

extern const Recipe kOpStatisticRecipe;
constexpr Recipe kOpStatisticRecipe = {&kOpStatistic, Reads<store::DeviceTaskRow>(),
                                       &RunOpStatistic};

}  // namespace sonde::recipes
