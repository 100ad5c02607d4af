#include "compare/operators/match_ops.h"

#include <algorithm>

#include "base/strings.h"
#include "compare/frame/matching.h"

namespace sonde::compare {
namespace {

// A run of operators on backward threads, or on others.
struct ThreadRun {
  bool is_backward = false;
  std::vector<int32_t> ops;
};

std::vector<ThreadRun> Split(const Side& side, const std::vector<int32_t>& ops) {
  std::vector<ThreadRun> runs;
  for (const int32_t op : ops) {
    const bool is_backward = side.OpAt(op).thread == side.backward_thread;
    if (runs.empty() || runs.back().is_backward != is_backward) runs.push_back({is_backward, {}});
    runs.back().ops.push_back(op);
  }
  return runs;
}

class OpMatcher {
 public:
  OpMatcher(const Side& base, const Side& comparison, const Options& options)
      : base_(base), comparison_(comparison), options_(options) {}

  std::vector<OpPair> Run() {
    const std::vector<int32_t> a = TopOps(base_);
    const std::vector<int32_t> b = TopOps(comparison_);
    // Of a database nobody knows which thread runs the backward pass.
    const auto has_threads = [](const Side& side) {
      return side.kind != SideKind::kNpuDb && side.backward_thread != kNone;
    };
    if (!has_threads(base_) || !has_threads(comparison_) || a.empty() || b.empty()) {
      return MatchList(a, b);
    }
    return MatchRuns(Split(base_, a), Split(comparison_, b));
  }

 private:
  std::vector<OpPair> MatchRuns(const std::vector<ThreadRun>& a, const std::vector<ThreadRun>& b) {
    std::vector<OpPair> pairs;
    const auto add = [&](const ThreadRun* x, const ThreadRun* y) {
      static const std::vector<int32_t> none;
      const auto more = MatchList(x == nullptr ? none : x->ops, y == nullptr ? none : y->ops);
      pairs.insert(pairs.end(), more.begin(), more.end());
    };
    size_t i = 0;
    size_t j = 0;
    if (a.front().is_backward != b.front().is_backward) {
      if (a.size() > b.size()) {
        add(&a[i++], nullptr);
      } else {
        add(nullptr, &b[j++]);
      }
    }
    for (; i < a.size(); ++i, ++j) add(&a[i], j < b.size() ? &b[j] : nullptr);
    for (; j < b.size(); ++j) add(nullptr, &b[j]);
    return pairs;
  }

  std::string NameOf(const Side& side, int32_t op) const {
    std::string name(side.Name(side.OpAt(op).name));
    const auto other = options_.name_map.find(name);
    if (other != options_.name_map.end()) name = other->second;
    if (options_.use_input_shape) name += LinesOf(side, side.OpAt(op).shapes);
    return name;
  }

  std::vector<int32_t> NumbersOf(const Side& side, const std::vector<int32_t>& ops) {
    std::vector<int32_t> numbers;
    for (const int32_t op : ops) numbers.push_back(names_.Of(NameOf(side, op)));
    return numbers;
  }

  std::vector<OpPair> MatchLevel(const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
    const std::vector<PlacePair> places =
        options_.disable_details ? MatchNothing(a.size(), b.size())
                                 : MatchSequences(NumbersOf(base_, a), NumbersOf(comparison_, b));
    std::vector<OpPair> pairs;
    for (const auto& [i, j] : places) {
      pairs.emplace_back(i == kNobody ? kNone : a[static_cast<size_t>(i)],
                         j == kNobody ? kNone : b[static_cast<size_t>(j)]);
    }
    return pairs;
  }

  static std::vector<int32_t> ChildrenOf(const Side& side, int32_t op) {
    std::vector<int32_t> children;
    for (int32_t child = side.OpAt(op).first_child; child != kNone;
         child = side.OpAt(child).next_sibling) {
      children.push_back(child);
    }
    return children;
  }

  bool IsDivided(const OpPair& pair) const {
    if (pair.first == kNone || pair.second == kNone) return false;
    const Op& a = base_.OpAt(pair.first);
    const Op& b = comparison_.OpAt(pair.second);
    return a.first_child != kNone && b.first_child != kNone &&
           std::max(a.kernel_count, b.kernel_count) > options_.max_kernel_num;
  }

  std::vector<OpPair> MatchList(const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
    std::vector<OpPair> pairs = MatchLevel(a, b);
    if (options_.max_kernel_num < 0) return pairs;
    std::vector<OpPair> divided;
    std::reverse(pairs.begin(), pairs.end());
    while (!pairs.empty()) {
      const OpPair pair = pairs.back();
      pairs.pop_back();
      if (!IsDivided(pair)) {
        divided.push_back(pair);
        continue;
      }
      const auto below =
          MatchLevel(ChildrenOf(base_, pair.first), ChildrenOf(comparison_, pair.second));
      pairs.insert(pairs.end(), below.rbegin(), below.rend());
    }
    return divided;
  }

  const Side& base_;
  const Side& comparison_;
  const Options& options_;
  TextNumbers names_;
};

}  // namespace

std::vector<OpPair> MatchOps(const Side& base, const Side& comparison, const Options& options) {
  return OpMatcher(base, comparison, options).Run();
}

std::vector<int32_t> Subtree(const Side& side, int32_t op) {
  std::vector<int32_t> ops = {op};
  for (size_t i = 0; i < ops.size(); ++i) {
    for (int32_t child = side.OpAt(ops[i]).first_child; child != kNone;
         child = side.OpAt(child).next_sibling) {
      ops.push_back(child);
    }
  }
  return ops;
}

std::string LinesOf(const Side& side, int32_t text) {
  const std::string_view value = side.Name(text);
  return value.empty() ? "N/A" : base::ReplaceAll(value, ";", ";\r\n");
}

}  // namespace sonde::compare
