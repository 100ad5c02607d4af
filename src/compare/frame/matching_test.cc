#include "compare/frame/matching.h"

#include <gtest/gtest.h>

namespace sonde::compare {
namespace {

std::string Shown(const std::string& base, const std::string& comparison) {
  const std::vector<int32_t> a(base.begin(), base.end());
  const std::vector<int32_t> b(comparison.begin(), comparison.end());
  std::string text;
  for (const auto& [i, j] : MatchSequences(a, b)) {
    text += i == kNobody ? '-' : base[static_cast<size_t>(i)];
    text += j == kNobody ? '-' : comparison[static_cast<size_t>(j)];
    text += ' ';
  }
  return text;
}

// What Python's SequenceMatcher(None, a, b, autojunk=False) gives.
TEST(MatchingTest, AsDifflib) {
  EXPECT_EQ(Shown("abc", "abc"), "aa bb cc ");
  EXPECT_EQ(Shown("qabxcd", "abycdf"), "q- aa bb x- -y cc dd -f ");
  EXPECT_EQ(Shown("abxcd", "cdab"), "-c -d aa bb x- c- d- ");
  EXPECT_EQ(Shown("aaa", "aa"), "aa aa a- ");
  EXPECT_EQ(Shown("ab", ""), "a- b- ");
  EXPECT_EQ(Shown("", "ab"), "-a -b ");
  EXPECT_EQ(Shown("", ""), "");
}

TEST(MatchingTest, TheLongestRunWinsOverTheFirst) {
  EXPECT_EQ(Shown("abcdxabcde", "abcde"), "a- b- c- d- x- aa bb cc dd ee ");
}

TEST(MatchingTest, Nothing) {
  const auto pairs = MatchNothing(1, 2);
  EXPECT_EQ(pairs, (std::vector<PlacePair>{{0, kNobody}, {kNobody, 0}, {kNobody, 1}}));
}

}  // namespace
}  // namespace sonde::compare
