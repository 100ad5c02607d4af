#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/strings.h"
#include "compare/difference/tables.h"
#include "compare/difference/work.h"

namespace sonde::compare {
namespace {

constexpr int64_t kMs = 1'000'000;

// A side of the host with two steps of 100 ms; names and ranges are added manually.
class HostSide {
 public:
  HostSide() {
    side_.kind = SideKind::kCpu;
    for (int64_t step = 0; step < 2; ++step) {
      const int64_t begin = 100 * step * kMs;
      side_.steps.push_back({.step_id = step, .begin_ns = begin, .end_ns = begin + 100 * kMs - 1});
    }
  }
  int32_t Name(std::string_view text) {
    side_.names.emplace_back(text);
    return static_cast<int32_t>(side_.names.size()) - 1;
  }
  // An operator without others in it; with a kernel of its time.
  void Op(std::string_view name, int64_t begin_ms, int64_t end_ms, std::string_view types = "",
          std::string_view shapes = "") {
    sonde::compare::Op op;
    op.name = Name(name);
    op.thread = 0;
    op.begin_ns = begin_ms * kMs;
    op.end_ns = end_ms * kMs;
    Kernel kernel{.name = op.name, .type = op.name, .core = Name("CPU")};
    kernel.types = types.empty() ? kNone : Name(types);
    kernel.shapes = shapes.empty() ? kNone : Name(shapes);
    kernel.op = static_cast<int32_t>(side_.ops.size());
    kernel.launch_ns = kernel.begin_ns = op.begin_ns;
    kernel.dur_ns = op.DurationNs();
    side_.ops.push_back(op);
    side_.kernels.push_back(kernel);
  }
  void Module(std::string_view name, int64_t begin_ms, int64_t end_ms) {
    side_.modules.push_back({Name(name), begin_ms * kMs, end_ms * kMs});
  }
  void Collection(int64_t begin_ms, int64_t end_ms) {
    side_.collections.push_back({Name("gc"), begin_ms * kMs, end_ms * kMs});
  }
  const Side& Get() const { return side_; }

 private:
  Side side_;
};

// Two steps of a network of two modules, 40 ms of Python around them.
HostSide Usual(std::string_view op = "relu", std::string_view wrapper = "") {
  HostSide side;
  for (const int64_t at : {0, 100}) {
    side.Module("Net", at + 10, at + 90);
    if (!wrapper.empty()) side.Module(wrapper, at + 11, at + 89);
    side.Module("fc", at + 20, at + 50);
    side.Op("addmm", at + 21, at + 49);
    side.Module("act", at + 60, at + 80);
    side.Op(op, at + 61, at + 79);
  }
  return side;
}

const TreeNode* Find(const Judgement& judgement, std::string_view path) {
  for (const TreeNode& node : judgement.tree) {
    if (node.path == path) return &node;
  }
  return nullptr;
}

TEST(DifferenceTest, TheTreeHoldsTheWholeStep) {
  const HostSide base = Usual();
  const HostSide comparison = Usual("gelu");
  const Judgement judgement = Judge(base.Get(), comparison.Get());
  EXPECT_NEAR(judgement.tree.front().base_ms, 100, 1e-4);
  EXPECT_NEAR(judgement.tree.front().comparison_ms, 100, 1e-4);
  const TreeNode* fc = Find(judgement, "/Net/fc/addmm");
  ASSERT_NE(fc, nullptr);
  EXPECT_NEAR(fc->base_ms, 28, 1e-9);
  EXPECT_EQ(fc->verdict, Verdict::kUnchanged);
  EXPECT_EQ(Find(judgement, "/Net/act/relu")->verdict, Verdict::kVanished);
  EXPECT_EQ(Find(judgement, "/Net/act/gelu")->verdict, Verdict::kAppeared);
  EXPECT_NEAR(Find(judgement, "/Net")->base_ms, 80, 1e-4);
}

TEST(DifferenceTest, CausesNameTheModule) {
  const Judgement judgement = Judge(Usual().Get(), Usual("gelu").Get());
  ASSERT_GE(judgement.causes.size(), 2U);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(judgement.causes[i].module, "/Net/act");
    EXPECT_EQ(KindOf(judgement.causes[i].cause), CauseKind::kWork);
    EXPECT_EQ(judgement.causes[i].verdict, Verdict::kChanged);
    EXPECT_EQ(judgement.causes[i].evidence,
              base::Concat("FROM compare_tree WHERE node = 'kernel' AND subject = '",
                           judgement.causes[i].subject, "'"));
  }
}

TEST(DifferenceTest, WrappersAreLookedThrough) {
  const Judgement judgement = Judge(Usual().Get(), Usual("relu", "_orig_mod").Get());
  const TreeNode* fc = Find(judgement, "/Net/fc/addmm");
  ASSERT_NE(fc, nullptr);
  EXPECT_EQ(fc->verdict, Verdict::kUnchanged);
  EXPECT_EQ(fc->comparison_calls, 1);
}

// Of two layers one gets the shapes that the other has.
TEST(DifferenceTest, OtherShapesAreFoundByModule) {
  const auto net = [](std::string_view of_second) {
    HostSide side;
    for (const int64_t at : {0, 100}) {
      side.Module("Net", at + 1, at + 90);
      side.Module("first", at + 10, at + 40);
      side.Op("addmm", at + 11, at + 29, "float", "8,8");
      side.Op("addmm", at + 30, at + 39, "float", "16,8");
      side.Module("second", at + 50, at + 80);
      side.Op("addmm", at + 51, at + 79, "float", of_second);
    }
    return side;
  };
  const auto slower = [&] {
    HostSide side;
    for (const int64_t at : {0, 100}) {
      side.Module("Net", at + 1, at + 95);
      side.Module("first", at + 10, at + 40);
      side.Op("addmm", at + 11, at + 29, "float", "8,8");
      side.Op("addmm", at + 30, at + 39, "float", "16,8");
      side.Module("second", at + 50, at + 94);
      side.Op("addmm", at + 51, at + 93, "float", "16,8");
    }
    return side;
  }();
  const Judgement changed = Judge(net("8,8").Get(), slower.Get());
  ASSERT_FALSE(changed.causes.empty());
  EXPECT_EQ(changed.causes.front().cause, CauseWord::kOtherShapes);
  EXPECT_EQ(changed.causes.front().module, "/Net/second");
  EXPECT_NEAR(changed.causes.front().DiffMs(), 14, 1e-6);
}

TEST(DifferenceTest, TypesAreReported) {
  HostSide base;
  HostSide comparison;
  for (const int64_t at : {0, 100}) {
    base.Op("addmm", at + 10, at + 50, "float;float");
    comparison.Op("addmm", at + 10, at + 70, "double;double");
  }
  const Judgement judgement = Judge(base.Get(), comparison.Get());
  EXPECT_EQ(judgement.causes.front().cause, CauseWord::kOtherTypes);
  EXPECT_EQ(judgement.causes.front().subject, "addmm");
}

// No call of another type replaces the missing one.
TEST(DifferenceTest, ACallOfAnotherTypeInAdditionIsACallMore) {
  HostSide base;
  HostSide comparison;
  for (const int64_t at : {0, 100}) {
    for (HostSide* side : {&base, &comparison}) side->Op("item", at + 10, at + 20, "long");
    comparison.Op("item", at + 30, at + 60, "float");
  }
  const Judgement judgement = Judge(base.Get(), comparison.Get());
  EXPECT_EQ(judgement.causes.front().cause, CauseWord::kCalls);
  EXPECT_EQ(judgement.causes.front().subject, "item");
}

TEST(DifferenceTest, TimeOfTheHostGoesToTheInnermostRange) {
  HostSide side = Usual();
  side.Collection(2, 5);
  std::map<std::string, int64_t> ns;
  for (const IdlePiece& piece : FindIdlePieces(side.Get(), side.Get().steps)) {
    if (piece.step != 0) continue;
    const std::string_view module =
        piece.module_range == kNone
            ? ""
            : side.Get().Name(side.Get().modules[static_cast<size_t>(piece.module_range)].name);
    ns[piece.is_collection ? "gc" : std::string(module)] += piece.ns;
  }
  EXPECT_EQ(ns["gc"], 3 * kMs);
  EXPECT_EQ(ns["fc"], 2 * kMs);
  EXPECT_EQ(ns["act"], 2 * kMs);
  EXPECT_EQ(ns["Net"], 30 * kMs);
  EXPECT_EQ(ns[""], 17 * kMs - 1);
}

TEST(DifferenceTest, StepsOfTheWarmUpAndUnfinishedOnesDoNotCount) {
  HostSide made;
  Side side = made.Get();
  side.steps.clear();
  int64_t at = 0;
  for (const int64_t ms : {300, 100, 110, 90, 100, 5}) {
    side.steps.push_back({.begin_ns = at, .end_ns = at + ms * kMs});
    at += ms * kMs;
  }
  side.steps.back().is_unfinished = true;
  const Steps steps = StepsOf(side);
  EXPECT_EQ(steps.warm_up, 1);
  EXPECT_EQ(steps.unfinished, 1);
  EXPECT_EQ(steps.windows.size(), 4U);
  side.steps.back().is_unfinished = false;  // what is left of a step that began late
  const Steps with_fragment = StepsOf(side);
  EXPECT_EQ(with_fragment.fragments, 1);
  EXPECT_EQ(with_fragment.windows.size(), 4U);
}

TEST(DifferenceTest, ModulesBetweenTheSameNeighboursArePairs) {
  ModulePaths base;
  base.nodes = {
      {"", kNone, {1}}, {"Net", 0, {2, 3, 4}}, {"fc", 1, {}}, {"ReLU", 1, {}}, {"out", 1, {}}};
  ModulePaths comparison = base;
  comparison.nodes[1].name = "OptimizedNet";
  comparison.nodes[3].name = "GELU";
  std::vector<int32_t> of_base;
  std::vector<int32_t> of_comparison;
  const auto nodes = JoinModulePaths(base, comparison, of_base, of_comparison);
  EXPECT_EQ(nodes.size(), 5U);
  EXPECT_EQ(of_base, of_comparison);
  EXPECT_EQ(nodes[3].path, "/Net -> OptimizedNet/ReLU -> GELU");
}

TEST(DifferenceTest, ResultsAreNamedAndHoldEachRow) {
  const Judgement judgement = Judge(Usual().Get(), Usual("gelu").Get());
  const auto sheets = ResultSheets(judgement);
  ASSERT_EQ(sheets.size(), Results().size());
  for (size_t i = 0; i < sheets.size(); ++i) {
    EXPECT_EQ(&ResultOf(sheets[i]), Results()[i]);
    for (const Row& row : sheets[i].rows) {
      EXPECT_EQ(row.cells.size(), Results()[i]->columns.size());
    }
  }
  EXPECT_EQ(sheets[2].rows.size(), judgement.tree.size());
}

}  // namespace
}  // namespace sonde::compare
