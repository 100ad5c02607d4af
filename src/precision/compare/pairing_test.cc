#include "precision/compare/pairing.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "precision/test_support.h"

namespace sonde::precision {
namespace {

// The reference's two queues, as written in its description: quadratic.
std::vector<int32_t> AlignByQueues(const std::vector<std::string_view>& target,
                                   const std::vector<std::string_view>& golden) {
  std::vector<int32_t> out(target.size(), kNoPartner);
  std::vector<size_t> t;
  std::vector<size_t> g;
  for (size_t i = 0; i < std::max(target.size(), golden.size()); ++i) {
    if (i < target.size()) t.push_back(i);
    if (i < golden.size()) g.push_back(i);
    if (t.empty() != g.empty()) break;
    if (t.empty()) continue;
    const bool new_t = i < target.size();
    const bool new_g = i < golden.size();
    size_t found_t = t.size();
    size_t found_g = g.size();
    if (new_t) {
      for (size_t k = 0; k < g.size() && found_g == g.size(); ++k) {
        if (target[t.back()] == golden[g[k]]) {
          found_t = t.size() - 1;
          found_g = k;
        }
      }
    }
    if (new_g && found_g == g.size()) {
      for (size_t k = 0; k < t.size() && found_t == t.size(); ++k) {
        if (target[t[k]] == golden[g.back()]) {
          found_t = k;
          found_g = g.size() - 1;
        }
      }
    }
    if (found_g == g.size() || found_t == t.size()) continue;
    out[t[found_t]] = static_cast<int32_t>(g[found_g]);
    t.erase(t.begin(), t.begin() + static_cast<std::ptrdiff_t>(found_t) + 1);
    g.erase(g.begin(), g.begin() + static_cast<std::ptrdiff_t>(found_g) + 1);
  }
  return out;
}

TEST(AlignKeysTest, FindsItsWayBackAfterExtraCalls) {
  EXPECT_EQ(AlignKeys({"linear", "linear", "relu", "mm"}, {"linear", "relu", "mm"}),
            (std::vector<int32_t>{0, kNoPartner, 1, 2}));
  EXPECT_EQ(AlignKeys({"a", "b"}, {"x", "a", "y", "b"}), (std::vector<int32_t>{1, 3}));
  EXPECT_EQ(AlignKeys({}, {"a"}), std::vector<int32_t>{});
  EXPECT_EQ(AlignKeys({"a"}, {}), std::vector<int32_t>{kNoPartner});
}

TEST(AlignKeysTest, EqualsTheQueuesOnRandomSequences) {
  static constexpr std::string_view kNames[] = {"a", "b", "c", "d", "e"};
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::string_view> target;
    std::vector<std::string_view> golden;
    const size_t kinds = 1 + random() % 5;
    for (size_t i = random() % 12; i > 0; --i) target.push_back(kNames[random() % kinds]);
    for (size_t i = random() % 12; i > 0; --i) golden.push_back(kNames[random() % kinds]);
    EXPECT_EQ(AlignKeys(target, golden), AlignByQueues(target, golden)) << "round " << round;
  }
}

TEST(CallNumberTest, ApisAndModules) {
  std::string_view number;
  EXPECT_EQ(WithoutCallNumber("Torch.mm.3.forward.input.0", &number), "Torch.mm.forward.input.0");
  EXPECT_EQ(number, "3");
  EXPECT_EQ(WithoutCallNumber("Module.layers.0.Linear.backward.12.output.0", &number),
            "Module.layers.0.Linear.backward.output.0");
  EXPECT_EQ(number, "12");
  EXPECT_EQ(WithoutCallNumber("Module.a.Linear.parameters_grad.0.weight"),
            "Module.a.Linear.parameters_grad.0.weight");
  EXPECT_EQ(WithoutCallNumber("Module.forward_net.0.Linear.forward.1"),
            "Module.forward_net.0.Linear.forward");
}

std::string Entry(const std::string& name, const std::string& dtype) {
  return "\"" + name + R"(": {"input": [{"type": "torch.Tensor", "dtype": ")" + dtype +
         R"(", "shape": [1], "Max": 1.0}]})";
}

TEST(PairRowsTest, BackwardNumbersCountByOrder) {
  const auto target = DumpOf("{" + Entry("Torch.f.2.backward", "torch.float32") + "," +
                             Entry("Torch.f.0.backward", "torch.float32") + "}");
  const auto golden = DumpOf("{" + Entry("Torch.f.0.backward", "torch.float32") + "," +
                             Entry("Torch.f.1.backward", "torch.float32") + "}");
  EXPECT_EQ(PairRows(*target, *golden, {}).golden_of, (std::vector<int32_t>{0, 1}));
}

TEST(PairRowsTest, DtypesThatDoNotFitDissolveAPair) {
  const auto target = DumpOf("{" + Entry("Torch.f.0.forward", "torch.int64") + "}");
  const auto golden = DumpOf("{" + Entry("Torch.f.0.forward", "torch.int32") + "}");
  const Pairing pairing = PairRows(*target, *golden, {});
  EXPECT_EQ(pairing.golden_of, std::vector<int32_t>{kNoPartner});
  EXPECT_EQ(pairing.golden_only, std::vector<int32_t>{0});
  EXPECT_EQ(PairRows(*target, *golden, {.dtype_gate = false}).golden_of, std::vector<int32_t>{0});
  EXPECT_TRUE(DtypesFit("torch.float32", "torch.float64", false));
  EXPECT_FALSE(DtypesFit("torch.float32", "torch.float8_e4m3fn", false));
  EXPECT_FALSE(DtypesFit("Float32", "torch.float32", false));
  EXPECT_TRUE(DtypesFit("Float32", "torch.bfloat16", true));
  EXPECT_TRUE(DtypesFit("Int64", "torch.uint8", true));
}

}  // namespace
}  // namespace sonde::precision
