#include "base/host/common_runs.h"

#include <gtest/gtest.h>

#include <string>

namespace sonde::base {
namespace {

using Runs = std::vector<CommonRun>;

Runs Of(const std::string& a, const std::string& b, Popular popular = Popular::kCounts) {
  return CommonRuns(std::vector<int32_t>(a.begin(), a.end()),
                    std::vector<int32_t>(b.begin(), b.end()), popular);
}

// Expected are the get_matching_blocks() of Python's difflib.
TEST(CommonRuns, LongestFirstThenThoseAround) {
  EXPECT_EQ(Of("qabxcd", "abycdf"), (Runs{{1, 0, 2}, {4, 3, 2}}));
  EXPECT_EQ(Of("abxcd", "cdab"), (Runs{{0, 2, 2}}));
  EXPECT_EQ(Of("abcdxabcde", "abcde"), (Runs{{5, 0, 5}}));
  EXPECT_EQ(Of("abc", "abc"), (Runs{{0, 0, 3}}));
  EXPECT_EQ(Of("", ""), Runs());
  EXPECT_EQ(Of("ab", ""), Runs());
}

TEST(CommonRuns, PopularElementsBeginNoRunButExtendOthers) {
  const std::string many(199, 'a');
  EXPECT_EQ(Of("bba", many + "b"), (Runs{{0, 199, 1}}));
  EXPECT_EQ(Of("xxab", many + "b", Popular::kBeginsNoRun), (Runs{{2, 198, 2}}));
  EXPECT_EQ(Of("xxaa", many + "b", Popular::kBeginsNoRun), Runs());
  EXPECT_EQ(Of("xxaa", many + "b"), (Runs{{2, 0, 2}}));
}

}  // namespace
}  // namespace sonde::base
