#include "recipes/trace/counted_steps.h"

namespace sonde::recipes {
namespace {

double MedianLength(std::span<const StepLength> steps, bool takes_unfinished) {
  std::vector<int64_t> lengths;
  for (const StepLength& step : steps) {
    if (takes_unfinished || !step.is_unfinished) lengths.push_back(step.ns);
  }
  const auto median = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
  std::nth_element(lengths.begin(), median, lengths.end());
  return static_cast<double>(*median);
}

}  // namespace

CountedSteps CountSteps(std::span<const StepLength> steps) {
  CountedSteps counted{.counts = std::vector<bool>(steps.size(), true)};
  if (steps.empty()) return counted;
  const bool has_finished =
      std::ranges::any_of(steps, [](const StepLength& step) { return !step.is_unfinished; });
  const double median = MedianLength(steps, !has_finished);
  const auto finished =
      std::ranges::count_if(steps, [](const StepLength& step) { return !step.is_unfinished; });
  size_t left = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    const bool is_unfinished = has_finished && steps[i].is_unfinished;
    const bool is_fragment =
        finished >= kLeastForFragment && static_cast<double>(steps[i].ns) < kFragmentShare * median;
    counted.unfinished += is_unfinished ? 1 : 0;
    counted.fragments += !is_unfinished && is_fragment ? 1 : 0;
    counted.counts[i] = !is_unfinished && !is_fragment;
    left += counted.counts[i] ? 1 : 0;
  }
  constexpr size_t kFew = 4;
  if (left < kFew) return counted;
  const auto most = static_cast<int64_t>(left / kFew);
  for (size_t i = 0; i < steps.size() && counted.warm_up < most; ++i) {
    if (!counted.counts[i]) continue;
    if (static_cast<double>(steps[i].ns) <= kWarmUp * median) break;
    counted.counts[i] = false;
    ++counted.warm_up;
  }
  return counted;
}

}  // namespace sonde::recipes
