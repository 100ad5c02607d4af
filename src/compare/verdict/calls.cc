#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>

#include "compare/verdict/verdict.h"

namespace sonde::compare {
namespace {

// Of a name, step by step.
struct OfSteps {
  std::vector<double> ms;
  int64_t calls = 0;
};
using CallsByName = std::map<std::string_view, OfSteps>;

CallsByName GatherCalls(const Side& side, const std::vector<Window>& steps) {
  CallsByName all;
  for (const PythonRange& call : side.calls) {
    // The last step that has begun by then; steps do not overlap.
    auto step = std::upper_bound(
        steps.begin(), steps.end(), call.begin_ns,
        [](int64_t moment, const Window& window) { return moment < window.begin_ns; });
    if (step == steps.begin()) continue;
    --step;
    if (!step->Has(call.begin_ns)) continue;
    OfSteps& one = all[side.Name(call.name)];
    one.ms.resize(steps.size());
    one.ms[static_cast<size_t>(step - steps.begin())] += Ms(call.end_ns - call.begin_ns);
    ++one.calls;
  }
  return all;
}

}  // namespace

std::vector<HostCalls> CompareCalls(const Side& base, const std::vector<Window>& base_steps,
                                    const Side& comparison,
                                    const std::vector<Window>& comparison_steps) {
  const Side* sides[] = {&base, &comparison};
  const std::vector<Window>* steps[] = {&base_steps, &comparison_steps};
  std::map<std::string_view, std::array<OfSteps, 2>> pairs;
  for (size_t i = 0; i < 2; ++i) {
    for (auto& [name, one] : GatherCalls(*sides[i], *steps[i])) pairs[name][i] = std::move(one);
  }
  const bool are_runs = base.runs > 1 && comparison.runs > 1;
  std::vector<HostCalls> rows;
  const double alpha = kCallsAlpha / static_cast<double>(std::max<size_t>(pairs.size(), 1));
  for (auto& [name, of] : pairs) {
    for (size_t i = 0; i < 2; ++i) of[i].ms.resize(steps[i]->size());  // a name that a side lacks
    if (are_runs) {
      for (size_t i = 0; i < 2; ++i) of[i].ms = MeansByRun(of[i].ms, *steps[i]);
    }
    const Stage judged = JudgeStage(name, of[0].ms, of[1].ms, alpha);
    HostCalls& row = rows.emplace_back();
    row.name = name;
    for (size_t i = 0; i < 2; ++i) {
      row.calls[i] = static_cast<double>(of[i].calls) / static_cast<double>(steps[i]->size());
    }
    row.ms[0] = judged.base.mean_ms;
    row.ms[1] = judged.comparison.mean_ms;
    row.low_ms = judged.low_ms;
    row.high_ms = judged.high_ms;
    row.verdict = judged.verdict;
  }
  std::stable_sort(rows.begin(), rows.end(), [](const HostCalls& a, const HostCalls& b) {
    return std::abs(a.DiffMs()) > std::abs(b.DiffMs());
  });
  return rows;
}

}  // namespace sonde::compare
