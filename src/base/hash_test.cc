#include "base/hash.h"

#include <gtest/gtest.h>

#include <bit>
#include <string>
#include <unordered_set>

namespace sonde::base {
namespace {

TEST(Hash, ShortAndLongTextsDiffer) {
  std::unordered_set<uint64_t> seen;
  std::string text;
  for (int i = 0; i < 300; ++i) {
    EXPECT_TRUE(seen.insert(HashString(text)).second) << text.size();
    text += 'a';
  }
  for (int i = 0; i < 100000; ++i) {
    EXPECT_TRUE(seen.insert(HashString("aten::op_" + std::to_string(i))).second);
    EXPECT_TRUE(seen.insert(HashInt(static_cast<uint64_t>(i))).second);
  }
}

TEST(Hash, EveryByteCounts) {
  const std::string text(67, 'x');
  for (size_t i = 0; i < text.size(); ++i) {
    std::string other = text;
    other[i] = 'y';
    EXPECT_NE(HashString(text), HashString(other)) << i;
  }
}

TEST(Hash, OneBitChangesAboutHalfTheBits) {
  int changed = 0;
  for (unsigned bit = 0; bit < 64; ++bit) {
    changed += std::popcount(HashInt(12345) ^ HashInt(12345 ^ (uint64_t{1} << bit)));
  }
  EXPECT_GT(changed, 64 * 26);
  EXPECT_LT(changed, 64 * 38);
}

TEST(Hash, CombineKeepsOrderApart) {
  EXPECT_NE(HashCombine(HashInt(1), HashInt(2)), HashCombine(HashInt(2), HashInt(1)));
  EXPECT_NE(HashString("a", 1), HashString("a", 2));
}

}  // namespace
}  // namespace sonde::base
