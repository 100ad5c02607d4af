#include "precision/mapping/parameter_pairs.h"

#include <algorithm>
#include <cstddef>
#include <functional>

#include "base/strings.h"

namespace sonde::precision {
namespace {

struct ParameterName {
  std::string_view mindspore;
  std::string_view torch;
};
constexpr ParameterName kParameterNames[] = {{"gamma", "weight"},
                                             {"beta", "bias"},
                                             {"moving_mean", "running_mean"},
                                             {"moving_variance", "running_var"},
                                             {"embedding_table", "weight"}};

// Pairs what has no partner yet and for which `fits` holds, each with the first.
void PairRest(const std::vector<std::string_view>& target,
              const std::vector<std::string_view>& golden,
              const std::function<bool(std::string_view, std::string_view)>& fits,
              std::vector<int>* out) {
  for (size_t t = 0; t < target.size(); ++t) {
    for (size_t g = 0; (*out)[t] < 0 && g < golden.size(); ++g) {
      const auto index = static_cast<int>(g);
      if (std::find(out->begin(), out->end(), index) != out->end()) continue;
      if (fits(target[t], golden[g])) (*out)[t] = index;
    }
  }
}

}  // namespace

std::string_view UsualParameterName(std::string_view name) {
  for (const ParameterName& each : kParameterNames) {
    if (name == each.mindspore || name == each.torch) return each.torch;
  }
  return {};
}

std::string UsualParameterSuffix(std::string_view suffix) {
  std::vector<std::string_view> parts = base::Split(suffix, '.');
  size_t at = parts.size() - 1;
  while (at > 0 && base::IsDigits(parts[at])) --at;
  const std::string_view usual = UsualParameterName(parts[at]);
  if (usual.empty()) return {};
  parts[at] = usual;
  return base::Join(parts, ".");
}

std::vector<int> PairParameterNames(const std::vector<std::string_view>& target,
                                    const std::vector<std::string_view>& golden) {
  std::vector<int> out(target.size(), -1);
  const auto is_usual = [](std::string_view name) { return !UsualParameterSuffix(name).empty(); };
  PairRest(target, golden, [](auto a, auto b) { return a == b; }, &out);
  const auto mean_the_same = [&](std::string_view a, std::string_view b) {
    return is_usual(a) && UsualParameterSuffix(a) == UsualParameterSuffix(b);
  };
  PairRest(target, golden, mean_the_same, &out);
  // All that one side has left says nothing, and the other has as many: they are these.
  size_t left = 0;
  size_t left_usual = 0;
  for (size_t t = 0; t < target.size(); ++t) {
    left += out[t] < 0 ? 1 : 0;
    left_usual += out[t] < 0 && is_usual(target[t]) ? 1 : 0;
  }
  size_t golden_left = 0;
  size_t golden_usual = 0;
  for (size_t g = 0; g < golden.size(); ++g) {
    if (std::find(out.begin(), out.end(), static_cast<int>(g)) != out.end()) continue;
    ++golden_left;
    golden_usual += is_usual(golden[g]) ? 1 : 0;
  }
  const bool all = left == golden_left && (left_usual == 0 || golden_usual == 0);
  PairRest(
      target, golden, [&](auto a, auto b) { return all || (!is_usual(a) && !is_usual(b)); }, &out);
  return out;
}

}  // namespace sonde::precision
