#include "store/collectives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/test_folder.h"

namespace sonde::store {
namespace {

using ::testing::HasSubstr;

Result<Collectives> ReadText(const base::TestFolder& folder, const char* text) {
  const std::string path = folder.File("collectives.yaml");
  EXPECT_TRUE(base::WriteFileAtomically(path, text).ok());
  return ReadCollectives(path);
}

TEST(Collectives, OfTheUserStandInFront) {
  const base::TestFolder folder;
  const auto all = ReadText(folder,
                            "kernels:\n  My_One_Shot_Sum: allreduce\n"
                            "operators:\n  \"mylib::sum\": allreduce\n"
                            "never: [My_One_Shot_Sum_Softmax]\n");
  ASSERT_TRUE(all.ok()) << all.status().message();
  EXPECT_EQ(all->kernels[0].name, "my_one_shot_sum_softmax");
  EXPECT_EQ(all->kernels[0].type, "");
  EXPECT_EQ(all->kernels[1].name, "my_one_shot_sum");
  EXPECT_EQ(all->kernels[1].type, "allreduce");
  EXPECT_EQ(all->operators[0].name, "mylib::sum");
  const auto listed = ReadCollectives("");
  ASSERT_TRUE(listed.ok());
  EXPECT_EQ(all->kernels.size(), listed->kernels.size() + 2);
  EXPECT_EQ(listed->stamp, 0U);
  EXPECT_NE(all->stamp, 0U);
}

TEST(Collectives, WhatIsWrongIsNamedWithItsFile) {
  const base::TestFolder folder;
  for (const auto& [text, part] : std::vector<std::pair<const char*, const char*>>{
           {"kernel:\n  a: allreduce\n", "'kernel' is not known"},
           {"kernels:\n  a: All Reduce\n", "'a' needs a type"},
           {"kernels: [", "line"}}) {
    const auto all = ReadText(folder, text);
    ASSERT_FALSE(all.ok()) << text;
    EXPECT_THAT(std::string(all.status().message()), HasSubstr("collectives.yaml"));
    EXPECT_THAT(std::string(all.status().message()), HasSubstr(part));
  }
  EXPECT_FALSE(ReadCollectives(folder.File("none.yaml")).ok());
}

}  // namespace
}  // namespace sonde::store
