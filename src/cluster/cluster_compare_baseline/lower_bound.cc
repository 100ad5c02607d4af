#include "cluster/cluster_compare_baseline/lower_bound.h"

#include <algorithm>
#include <cmath>

namespace sonde::cluster {

int64_t ElementBytes(std::string_view data_type) {
  if (data_type == "FP32" || data_type == "INT32") return 4;
  return data_type == "INT64" ? 8 : 2;
}

double LeastRatio(const Collective& collective, double base_ns, int64_t ranks, int64_t base_ranks) {
  constexpr double kBytesPerSecond = 200.0 * 1024 * 1024 * 1024 / 8 * 0.8;
  constexpr double kLatencyNs = 60e3;
  if (base_ns <= 0 || ranks <= base_ranks || base_ranks <= 0) return 1;
  const double growth = static_cast<double>(ranks) / static_cast<double>(base_ranks);
  const auto bytes = static_cast<double>(std::max<int64_t>(collective.count, 0) *
                                         ElementBytes(collective.data_type));
  const double once_ns =
      kLatencyNs * std::ceil(std::log2(growth)) + 1e9 * bytes / kBytesPerSecond * (growth - 1);
  const double extra_ns = collective.kind == "allReduce" ? 2 * once_ns : once_ns;
  return (base_ns + extra_ns) / base_ns;
}

}  // namespace sonde::cluster
