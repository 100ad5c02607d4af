// Two short runs as text, and the first cause between them: for tests of the walk's rules.
//
// The dumps of a test program stay until it ends, since causes point into them.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "precision/cause/first_cause.h"
#include "precision/compare/compare.h"
#include "precision/compare/pairing.h"
#include "precision/test_support.h"

namespace sonde::precision {

inline std::string RuleValues(const char* max, const char* norm, const char* more = "") {
  return base::Concat(
      R"({"type": "torch.Tensor", "dtype": "torch.float32", "shape": [8, 8], "Max": )", max,
      R"(, "Min": -1.0, "Mean": 0.25, "Norm": )", norm, more, R"(, "requires_grad": false})");
}

inline std::string RuleCall(const std::string& name, const std::string& inputs,
                            const std::string& output) {
  return base::Concat("\"", name, R"(": {"input_args": [)", inputs,
                      R"(], "input_kwargs": {}, "output": [)", output, "]}");
}

struct Side {
  std::string calls;
  std::string tree;
  std::string level = "mix";
};

inline FirstCause RuleCause(const Side& target, const Side& golden, CauseOptions options = {}) {
  static std::vector<std::unique_ptr<DumpFile>> dumps;
  static std::vector<std::unique_ptr<ConstructFile>> trees;
  for (const Side* side : {&target, &golden}) {
    dumps.push_back(DumpOf("{" + side->calls + "}", "statistics", "pytorch", side->level));
    auto tree = ConstructFile::Parse("{" + side->tree + "}", "construct.json");
    trees.push_back(std::move(*tree));
  }
  const DumpFile& ours = *dumps[dumps.size() - 2];
  const DumpFile& theirs = *dumps.back();
  const ConstructFile* const our_tree = trees[trees.size() - 2].get();
  options.golden_construct = trees.back().get();
  const Mode mode = ours.has_md5() ? Mode::kMd5 : Mode::kStatistics;
  const Comparison comparison = PairAndCompare(ours, theirs, mode, {});
  return FindFirstCause(comparison, ours, theirs,
                        AlignCalls(ours, theirs, our_tree, options.golden_construct), our_tree,
                        options);
}

inline std::string RuleIn() { return RuleValues("2.0", "5.0"); }
inline std::string RuleOut() { return RuleValues("3.0", "7.0"); }
inline std::string RuleOther() { return RuleValues("4.0", "9.0"); }

}  // namespace sonde::precision
