// Values of result tables for one dumped tensor. Pure, any thread.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "precision/tensor/tensor.h"

namespace sonde::precision {

// "[2, 3]".
std::string ShapeText(const std::vector<int64_t>& shape);
// Max, min, mean, norm; nullopt: an empty tensor, or one of complex numbers.
std::optional<std::array<double, 4>> StatisticNumbersOf(const Tensor& tensor);
// The same as texts; "N/A" where there is none.
std::array<std::string, 4> StatisticsOf(const Tensor& tensor);

}  // namespace sonde::precision
