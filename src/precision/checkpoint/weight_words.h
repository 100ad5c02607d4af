// Describes in words how a weight was changed.
//
// Pure, any thread.
#pragma once

#include <optional>
#include <string>

#include "precision/checkpoint/weight_difference.h"

namespace sonde::precision {

enum class WeightVerdict : uint8_t { kEqual, kRounded, kDiffers, kShape };

struct JudgedWeight {
  WeightVerdict verdict = WeightVerdict::kEqual;
  std::string how;           // empty where equal
  double relative = 0;       // distance over the golden length; infinite where that is 0
  std::optional<double> l2;  // none: shapes differ, or a NaN or infinity
  std::optional<double> cosine;
};

// `difference` is not looked at where the shapes or kinds of elements differ.
JudgedWeight JudgeWeight(const Tensor& target, const Tensor& golden,
                         const WeightDifference& difference);

// "equal", "rounded", "differs", "shape differs".
std::string_view VerdictText(WeightVerdict verdict);
// "[4, 8]".
std::string ShapeText(const Tensor& tensor);

}  // namespace sonde::precision
