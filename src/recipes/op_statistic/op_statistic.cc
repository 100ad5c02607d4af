#include "recipes/op_statistic/op_statistic.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace sonde::recipes {

std::vector<OpStatisticRow> OpStatistic(const DeviceView& view) {
  const TraceData& data = *view.data;
  // Kinds that differ only in shapes share a row.
  std::map<std::tuple<size_t, std::string_view, std::string_view>, size_t> places;
  std::vector<size_t> place_of_kind(view.devices.size() * data.kinds.size(), SIZE_MAX);
  std::vector<OpStatisticRow> rows;
  std::vector<int64_t> device_total_ns(view.devices.size(), 0);
  for (const store::DeviceTaskRow& task : data.tasks) {
    if (data.kinds[static_cast<size_t>(task.kind_id)].core == store::kNone) continue;  // no kernel
    const size_t device = view.device_of_track[static_cast<size_t>(task.track_id)];
    size_t& place = place_of_kind[device * data.kinds.size() + static_cast<size_t>(task.kind_id)];
    if (place == SIZE_MAX) {
      const store::TaskKindRow& kind = data.kinds[static_cast<size_t>(task.kind_id)];
      const std::tuple key(device, data.Name(kind.op_type), data.Name(kind.core));
      const auto [found, is_new] = places.try_emplace(key, rows.size());
      if (is_new) rows.push_back({device, std::get<1>(key), std::get<2>(key)});
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
  for (OpStatisticRow& row : rows) {
    const int64_t total_ns = device_total_ns[row.device];
    if (total_ns == 0) continue;
    row.ratio_percent = 100 * static_cast<double>(row.total_ns) / static_cast<double>(total_ns);
  }
  std::sort(rows.begin(), rows.end(), [](const OpStatisticRow& a, const OpStatisticRow& b) {
    if (a.device != b.device) return a.device < b.device;
    if (a.total_ns != b.total_ns) return a.total_ns > b.total_ns;
    return std::tie(a.op_type, a.core) < std::tie(b.op_type, b.core);
  });
  return rows;
}

}  // namespace sonde::recipes
