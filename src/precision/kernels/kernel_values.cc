#include "precision/kernels/kernel_values.h"

#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "precision/compare/cell.h"

namespace sonde::precision {

std::string ShapeText(const std::vector<int64_t>& shape) {
  std::string out;
  for (const int64_t length : shape) {
    out += base::Concat(out.empty() ? "" : ", ", std::to_string(length));
  }
  return base::Concat("[", out, "]");
}

std::optional<std::array<double, 4>> StatisticNumbersOf(const Tensor& tensor) {
  if (tensor.element_count() == 0 || IsComplex(tensor.dtype())) return std::nullopt;
  constexpr int64_t kBlock = 4096;
  std::vector<double> values(kBlock);
  double max = -INFINITY;
  double min = INFINITY;
  double sum = 0;
  double squares = 0;
  for (int64_t at = 0; at < tensor.element_count(); at += kBlock) {
    const auto count = static_cast<size_t>(std::min(kBlock, tensor.element_count() - at));
    tensor.ReadDoubles(at, count, values.data());
    for (size_t i = 0; i < count; ++i) {
      max = std::isnan(values[i]) ? values[i] : std::max(max, values[i]);
      min = std::isnan(values[i]) ? values[i] : std::min(min, values[i]);
      sum += values[i];
      squares += values[i] * values[i];
    }
  }
  return std::array<double, 4>{max, min, sum / static_cast<double>(tensor.element_count()),
                               std::sqrt(squares)};
}

std::array<std::string, 4> StatisticsOf(const Tensor& tensor) {
  const auto numbers = StatisticNumbersOf(tensor);
  if (!numbers) return {"N/A", "N/A", "N/A", "N/A"};
  std::array<std::string, 4> out;
  std::transform(numbers->begin(), numbers->end(), out.begin(), &NumberText);
  return out;
}

}  // namespace sonde::precision
