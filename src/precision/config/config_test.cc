#include <gtest/gtest.h>

#include "precision/config/config_compare.h"
#include "precision/config/config_pack.h"
#include "precision/config/log_arguments.h"

namespace sonde::precision {
namespace {

// difflib.SequenceMatcher(None, a, b).ratio() of Python.
TEST(ConfigCompare, SimilarityOfNames) {
  EXPECT_DOUBLE_EQ(Similarity("num-layers", "num-layers"), 1.0);
  EXPECT_DOUBLE_EQ(Similarity("", ""), 1.0);
  EXPECT_DOUBLE_EQ(Similarity("abc", "xyz"), 0.0);
  EXPECT_DOUBLE_EQ(Similarity("abcd", "bcde"), 0.75);
  EXPECT_DOUBLE_EQ(Similarity("lr", "learning_rate"), 4.0 / 15.0);
}

TEST(ConfigPack, OptionsOfALaunchCommand) {
  const NamedTexts found = ShellParameters(
      "LR=1e-6\n"
      "# torchrun --never 1\n"
      "ARGS=\"--bf16 \\\n  --lr $LR\"\n"
      "torchrun --nproc_per_node 8 train.py $ARGS --seed=7 --flag --other 1\n"
      "echo --not-this 1\n");
  const NamedTexts expected = {{"nproc_per_node", "\"8\""}, {"bf16", "true"}, {"lr", "\"1e-6\""},
                               {"seed", "\"7\""},           {"flag", "true"}, {"other", "\"1\""}};
  EXPECT_EQ(found, expected);
  EXPECT_TRUE(ShellParameters("python3 train.py --lr 1").empty());
}

TEST(ConfigPack, LeavesOfAYamlFile) {
  const auto found = YamlParameters("model:\n  layers: 2\n  names: [a, b]\nlr: 1e-6\n", "c.yaml");
  ASSERT_TRUE(found.ok()) << found.status().message();
  ASSERT_FALSE(found->empty());
  EXPECT_EQ(found->front().first, "model.layers");
  EXPECT_FALSE(YamlParameters("a: [b", "c.yaml").ok());
}

TEST(LogArguments, DotsDivideNamesFromValues) {
  const auto found = ParseLogArguments(
      "------------------------ arguments ------------------------\n"
      "  a.b ..... 1\n"
      "  lr ...................... -1.5e-06\n"
      "  name .. text .. more\n"
      "  bf16 .... True\n"
      "not indented .... 1\n"
      "  a.b ..... 2\n"
      "-------------------- end of arguments ---------------------\n");
  ASSERT_TRUE(found.ok()) << found.status().message();
  ASSERT_EQ(found->size(), 4U);
  EXPECT_EQ((*found)[0].name, "a.b");
  EXPECT_EQ((*found)[0].text, "2");  // the last counts
  EXPECT_EQ((*found)[1].kind, LogArgument::Kind::kFloat);
  EXPECT_EQ((*found)[2].text, "text .. more");
  EXPECT_EQ((*found)[3].kind, LogArgument::Kind::kBool);
  EXPECT_FALSE(ParseLogArguments("").ok());
}

}  // namespace
}  // namespace sonde::precision
