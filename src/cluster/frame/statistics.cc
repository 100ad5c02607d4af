#include "cluster/frame/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace sonde::cluster {
namespace {

double SquaresAround(const std::vector<double>& values, double mean) {
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return sum;
}

}  // namespace

double Quantile(const std::vector<double>& sorted, double q) {
  const double position = static_cast<double>(sorted.size() - 1) * q;
  const auto below = static_cast<size_t>(position);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (position - static_cast<double>(below));
}

double Mean(const std::vector<double>& values) {
  if (values.empty()) return 0;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double PopulationDeviation(const std::vector<double>& values) {
  if (values.empty()) return 0;
  return std::sqrt(SquaresAround(values, Mean(values)) / static_cast<double>(values.size()));
}

double Round(double value, int decimals) {
  const double scale = std::pow(10.0, decimals);
  const double scaled = value * scale;
  return std::isfinite(scaled) ? std::nearbyint(scaled) / scale : value;
}

Statistics Describe(std::vector<double>& values) {
  Statistics result;
  result.count = static_cast<int64_t>(values.size());
  if (values.empty()) return result;
  std::sort(values.begin(), values.end());
  result.sum = std::accumulate(values.begin(), values.end(), 0.0);
  result.mean = result.sum / static_cast<double>(values.size());
  result.deviation =
      values.size() < 2
          ? std::numeric_limits<double>::quiet_NaN()
          : std::sqrt(SquaresAround(values, result.mean) / static_cast<double>(values.size() - 1));
  result.min = values.front();
  result.max = values.back();
  result.q1 = Quantile(values, 0.25);
  result.median = Quantile(values, 0.5);
  result.q3 = Quantile(values, 0.75);
  return result;
}

}  // namespace sonde::cluster
