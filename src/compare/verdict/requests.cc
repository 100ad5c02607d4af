#include <algorithm>

#include "compare/verdict/verdict.h"

namespace sonde::compare {
namespace {

// Means of equal pieces, in order; each value by itself where there are no more than kBlocks.
std::vector<double> BlocksOf(const std::vector<double>& values) {
  const size_t count = std::min(values.size(), kBlocks);
  std::vector<double> means;
  for (size_t i = 0; i < count; ++i) {
    const size_t begin = i * values.size() / count;
    const size_t end = (i + 1) * values.size() / count;
    double sum = 0;
    for (size_t at = begin; at < end; ++at) sum += values[at];
    means.push_back(sum / static_cast<double>(end - begin));
  }
  return means;
}

bool HasTime(const std::vector<double>& values) {
  return std::any_of(values.begin(), values.end(), [](double value) { return value != 0; });
}

// Interpolated linearly, as in the summary of a server.
std::vector<double> PercentilesOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  std::vector<double> percentiles;
  for (size_t i = 0; i < kPercentiles; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(kPercentiles - 1);
    const double at = share * static_cast<double>(values.size() - 1);
    const auto below = static_cast<size_t>(at);
    const size_t above = std::min(below + 1, values.size() - 1);
    percentiles.push_back(values[below] +
                          (at - static_cast<double>(below)) * (values[above] - values[below]));
  }
  return percentiles;
}

}  // namespace

std::vector<RequestMeasure> CompareRequests(const Side& base, const Side& comparison) {
  std::vector<RequestMeasure> measures;
  for (const ServingValues& of_base : base.serving) {
    const auto other = std::find_if(
        comparison.serving.begin(), comparison.serving.end(),
        [&](const ServingValues& values) { return values.measure == of_base.measure; });
    if (other == comparison.serving.end()) continue;
    const std::vector<double>* sides[] = {&of_base.values, &other->values};
    // Parts of the requests' time that neither has.
    if (!HasTime(*sides[0]) && !HasTime(*sides[1])) continue;
    const Stage judged = JudgeStage(of_base.measure, BlocksOf(*sides[0]), BlocksOf(*sides[1]));
    RequestMeasure& measure = measures.emplace_back();
    measure.measure = of_base.measure;
    measure.unit = of_base.unit;
    for (size_t i = 0; i < 2; ++i) {
      measure.count[i] = static_cast<int64_t>(sides[i]->size());
      measure.mean[i] = SpreadOf(*sides[i]).mean_ms;
      measure.percentiles[i] = PercentilesOf(*sides[i]);
    }
    measure.low = judged.low_ms;
    measure.high = judged.high_ms;
    measure.verdict = judged.verdict;
  }
  return measures;
}

}  // namespace sonde::compare
