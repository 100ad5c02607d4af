#include <algorithm>
#include <cctype>
#include <deque>
#include <utility>

#include "base/strings.h"
#include "compare/frame/matching.h"
#include "compare/modules/module_sheets.h"

namespace sonde::compare {
namespace {

using NodePair = std::pair<int32_t, int32_t>;

class TreeMatcher {
 public:
  TreeMatcher(const ModuleTree& base, const ModuleTree& comparison, const Options& options)
      : base_(base), comparison_(comparison), options_(options) {}

  void Run(std::vector<ModulePair>& pairs) {
    std::deque<NodePair> open = {{0, 0}};
    while (!open.empty()) {
      const auto [a, b] = open.front();
      open.pop_front();
      for (const NodePair& pair : MatchLevel(a, b)) {
        open.push_back(pair);
        pairs.push_back({pair.first == kNone ? nullptr : &base_.At(pair.first),
                         pair.second == kNone ? nullptr : &comparison_.At(pair.second)});
      }
    }
  }

 private:
  std::vector<NodePair> MatchLevel(int32_t a, int32_t b) {
    const std::vector<int32_t> none;
    const std::vector<int32_t>& x = a == kNone ? none : base_.At(a).children;
    const std::vector<int32_t>& y = b == kNone ? none : comparison_.At(b).children;
    const auto numbers = [this](const ModuleTree& tree, const std::vector<int32_t>& nodes) {
      std::vector<int32_t> all;
      for (const int32_t node : nodes) all.push_back(names_.Of(tree.At(node).full_name));
      return all;
    };
    const std::vector<PlacePair> places =
        options_.disable_details ? MatchNothing(x.size(), y.size())
                                 : MatchSequences(numbers(base_, x), numbers(comparison_, y));
    std::vector<NodePair> pairs;
    for (const auto& [i, j] : places) {
      pairs.emplace_back(i == kNobody ? kNone : x[static_cast<size_t>(i)],
                         j == kNobody ? kNone : y[static_cast<size_t>(j)]);
    }
    return pairs;
  }

  const ModuleTree& base_;
  const ModuleTree& comparison_;
  const Options& options_;
  TextNumbers names_;
};

// By the begin of the base's call; what only the other side has stands before the first pair that
// begins later there.
std::vector<ModulePair> ChildrenInOrder(const std::vector<ModulePair>& pairs) {
  std::vector<ModulePair> of_base;
  std::vector<ModulePair> alone;
  for (const ModulePair& pair : pairs) (pair.base != nullptr ? of_base : alone).push_back(pair);
  std::stable_sort(of_base.begin(), of_base.end(), [](const ModulePair& a, const ModulePair& b) {
    return a.base->begin_ns < b.base->begin_ns;
  });
  std::stable_sort(alone.begin(), alone.end(), [](const ModulePair& a, const ModulePair& b) {
    return a.comparison->begin_ns < b.comparison->begin_ns;
  });
  std::vector<ModulePair> ordered;
  size_t next = 0;
  for (const ModulePair& pair : of_base) {
    while (pair.comparison != nullptr && next < alone.size() &&
           alone[next].comparison->begin_ns < pair.comparison->begin_ns) {
      ordered.push_back(alone[next++]);
    }
    ordered.push_back(pair);
  }
  ordered.insert(ordered.end(), alone.begin() + static_cast<std::ptrdiff_t>(next), alone.end());
  return ordered;
}

}  // namespace

std::vector<ModulePair> MatchModules(const ModuleTrees& base, const ModuleTrees& comparison,
                                     const Options& options) {
  std::vector<ModulePair> pairs;
  TreeMatcher(base.forward, comparison.forward, options).Run(pairs);
  TreeMatcher(base.backward, comparison.backward, options).Run(pairs);
  return ChildrenInOrder(pairs);
}

std::string ModuleClass(std::string_view full_name) {
  const size_t slash = full_name.rfind('/');
  std::string_view name = slash == std::string_view::npos ? full_name : full_name.substr(slash + 1);
  const size_t underscore = name.rfind('_');
  if (underscore != std::string_view::npos && underscore + 1 < name.size()) {
    const std::string_view digits = name.substr(underscore + 1);
    const bool is_number = std::all_of(digits.begin(), digits.end(),
                                       [](unsigned char c) { return std::isdigit(c) != 0; });
    if (is_number) name = name.substr(0, underscore);
  }
  return std::string(name);
}

std::string ModuleTitle(std::string_view full_name) {
  return base::ReplaceAll(full_name, "nn.Module:", "");
}

}  // namespace sonde::compare
