// No rule goes without a pair of cases: one in which it fires, and one just below its limit.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <string_view>

#include "advisor/frame/planted.h"
#include "base/files.h"
#include "base/strings.h"

namespace sonde::advisor {
namespace {

// By the name of their rule.
std::set<std::string> TestsOfRules() {
  std::set<std::string> names;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *all.GetTestSuite(i);
    if (std::string_view(suite.name()) != "Rules") continue;
    for (int j = 0; j < suite.total_test_count(); ++j) names.insert(suite.GetTestInfo(j)->name());
  }
  return names;
}

// The pairs of whole captures stand in a list of the test of the command, whose two tests look at
// each of them.
std::set<std::string> PairsOfCaptures() {
  constexpr size_t kMaxBytes = size_t{1} << 20U;
  const auto text = base::ReadFile(SONDE_SOURCE_DIR "/test/e2e/test_advisor_rules.py", kMaxBytes);
  EXPECT_TRUE(text.ok());
  const size_t begin = text->find("PAIRS = {");
  EXPECT_NE(begin, std::string::npos);
  const std::string list = text->substr(begin, text->find('}', begin) - begin);
  std::set<std::string> names;
  for (const std::string_view part : base::Split(list, '"')) {
    names.emplace(part);
  }
  return names;
}

// Of several ranks, or of a device that is known: tests of their own.
struct Elsewhere {
  std::string_view rule;
  std::string_view file;
};
constexpr Elsewhere kElsewhere[] = {
    {"roofline", "/test/e2e/test_advisor_rules.py"},
    {"device_waits", "/test/e2e/test_advisor_gpu.py"},
    {"pageable_copies", "/test/e2e/test_advisor_gpu.py"},
    {"slow_rank", "/src/advisor/ranks/ranks_test.cc"},
    {"slow_rank_cause", "/src/advisor/ranks/ranks_test.cc"},
    {"communication_retransmission_analysis", "/src/advisor/ranks/ranks_test.cc"},
};

TEST(Pairs, EveryRuleFiresAndNotJustBelowItsLimit) {
  const std::set<std::string> tests = TestsOfRules();
  const std::set<std::string> captures = PairsOfCaptures();
  const auto book = LoadRules({});
  ASSERT_TRUE(book.ok());
  for (const Rule& rule : book->rules) {
    if (tests.contains(TestNameOf(rule.name)) || captures.contains(rule.name)) continue;
    const auto* elsewhere = std::find_if(std::begin(kElsewhere), std::end(kElsewhere),
                                         [&](const Elsewhere& e) { return e.rule == rule.name; });
    if (elsewhere != std::end(kElsewhere)) {
      constexpr size_t kMaxBytes = size_t{1} << 20U;
      const auto text = base::ReadFile(base::Concat(SONDE_SOURCE_DIR, elsewhere->file), kMaxBytes);
      ASSERT_TRUE(text.ok());
      const bool is_named = text->find(rule.name) != std::string::npos ||
                            text->find(TestNameOf(rule.name)) != std::string::npos;
      EXPECT_TRUE(is_named) << elsewhere->file << " has no test of " << rule.name;
      continue;
    }
    // Summaries and comparisons always fire.
    EXPECT_TRUE(rule.limits.empty() && !rule.function.empty())
        << rule.name << " has no pair of cases: TEST(Rules, " << TestNameOf(rule.name)
        << ") with Check() in a planted test, or its name in PAIRS of test_advisor_rules.py";
  }
}

}  // namespace
}  // namespace sonde::advisor
