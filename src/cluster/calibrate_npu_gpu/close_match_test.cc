#include "cluster/calibrate_npu_gpu/close_match.h"

#include <gtest/gtest.h>

namespace sonde::cluster {
namespace {

// Expected values are those of Python's difflib.
TEST(MatchRatio, IsThatOfDifflib) {
  EXPECT_DOUBLE_EQ(MatchRatio("abcd", "bcde"), 0.75);
  EXPECT_DOUBLE_EQ(MatchRatio("/model/AttentionLinear", "/model/Attn/Linear"), 0.85);
  EXPECT_DOUBLE_EQ(MatchRatio("abxcd", "cdab"), 4.0 / 9);
  EXPECT_DOUBLE_EQ(MatchRatio("", ""), 1);
  EXPECT_DOUBLE_EQ(MatchRatio("", "a"), 0);
}

TEST(MatchRatio, BeginsNoBlockWithPopularElementsOfALongText) {
  const std::string many(200, 'a');
  EXPECT_DOUBLE_EQ(MatchRatio("aaaa", many), 8.0 / 204);  // as the window begins with it
  EXPECT_DOUBLE_EQ(MatchRatio("aaxaa", many + "x"), 6.0 / 206);
}

TEST(CloseMatch, IsTheMostAlikeAndOfEqualOnesTheLast) {
  const std::vector<std::string> choices = {"ape", "apple", "peach", "puppy"};
  EXPECT_EQ(*CloseMatch("appel", choices, 0.6), "apple");
  EXPECT_EQ(CloseMatch("wheel", {"while", "while", "cat"}, 0.9), nullptr);
  EXPECT_EQ(*CloseMatch("ab", {"abc", "abd"}, 0.6), "abd");
}

}  // namespace
}  // namespace sonde::cluster
