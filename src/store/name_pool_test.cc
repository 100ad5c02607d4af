#include "store/name_pool.h"

#include <gtest/gtest.h>

#include "base/test_folder.h"

namespace sonde::store {
namespace {

TEST(NamePoolTest, NumbersInOrderOfFirstUse) {
  NamePool pool;
  EXPECT_EQ(pool.Intern("a"), 0);
  EXPECT_EQ(pool.Intern(""), 1);
  EXPECT_EQ(pool.Intern("a"), 0);
  EXPECT_EQ(pool.Find("b"), -1);
  EXPECT_EQ(pool.Text(0), "a");
  EXPECT_EQ(pool.Text(1), "");
}

TEST(NamePoolTest, KeepsManyAndLongTexts) {
  NamePool pool;
  for (int i = 0; i < 50'000; ++i) ASSERT_EQ(pool.Intern("text " + std::to_string(i)), i);
  for (int i = 0; i < 50'000; i += 7) {
    ASSERT_EQ(pool.Intern("text " + std::to_string(i)), i);
    ASSERT_EQ(pool.Text(i), "text " + std::to_string(i));
  }
  const std::string large(300'000, 'x');
  EXPECT_EQ(pool.Text(pool.Intern(large)), large);
  NamePool target;
  EXPECT_EQ(target.Intern("text 1"), 0);
  const std::vector<int32_t> ids = pool.MergeInto(target);
  EXPECT_EQ(ids[1], 0);
  EXPECT_EQ(target.Text(ids[2]), "text 2");
}

// A table that has outgrown memory; all texts of it have hashes that begin alike.
TEST(NamePoolTest, LargeTablesLieInTheFile) {
  constexpr int kTexts = 400'000;
  const base::TestFolder folder;
  base::SpillPool spill({.folder = folder.path(), .keep_bytes = 0});
  const auto hash = [](int i) { return static_cast<uint64_t>(i) << 32U; };
  {
    NamePool pool(&spill);
    for (int i = 0; i < kTexts / 2; ++i) ASSERT_EQ(pool.Intern(std::to_string(i), hash(i)), i);
    const size_t without_table = spill.spilled_bytes();
    for (int i = kTexts / 2; i < kTexts; ++i) {
      ASSERT_EQ(pool.Intern(std::to_string(i), hash(i)), i);
    }
    EXPECT_GE(spill.spilled_bytes(), without_table + (size_t{8} << 20U));
    for (int i = 0; i < kTexts; ++i) ASSERT_EQ(pool.Intern(std::to_string(i), hash(i)), i);
    EXPECT_EQ(pool.size(), static_cast<size_t>(kTexts));
  }
  EXPECT_EQ(spill.spilled_bytes(), 0U);
}

TEST(NamePoolTest, RepairsInvalidUtf8) {
  EXPECT_TRUE(IsValidUtf8("p\xc3\xa4th \xe2\x82\xac \xf0\x9f\x98\x80"));
  for (const std::string_view bad :
       {"\xc3", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xff", "a\x80z"}) {
    EXPECT_FALSE(IsValidUtf8(bad));
    EXPECT_TRUE(IsValidUtf8(ToValidUtf8(bad)));
  }
  NamePool pool;
  const int32_t id = pool.Intern(
      "a\xff"
      "b");
  EXPECT_EQ(pool.Text(id),
            "a\xef\xbf\xbd"
            "b");
  EXPECT_EQ(pool.Intern("a\xff"
                        "b"),
            id);
}

}  // namespace
}  // namespace sonde::store
