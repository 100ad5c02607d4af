#include "precision/parallel/parallel_layout.h"

#include <gtest/gtest.h>

#include "precision/parallel/merge_ranks.h"
#include "precision/parallel/merge_tree.h"

namespace sonde::precision {
namespace {

RankGroups Groups(const ParallelLayout& layout, std::string_view dimension) {
  const auto groups = GroupsOf(layout, dimension);
  EXPECT_TRUE(groups.ok()) << groups.status().message();
  return groups.ok() ? *groups : RankGroups();
}

TEST(ParallelLayout, GroupsFollowTheOrder) {
  const ParallelLayout layout = {.rank_size = 8, .tensor = 2, .pipeline = 2};
  EXPECT_EQ(Groups(layout, "tp"), (RankGroups{{0, 1}, {2, 3}, {4, 5}, {6, 7}}));
  EXPECT_EQ(Groups(layout, "pp"), (RankGroups{{0, 4}, {1, 5}, {2, 6}, {3, 7}}));
  const ParallelLayout other = {.rank_size = 8, .tensor = 2, .pipeline = 2, .order = "tp-pp-dp"};
  EXPECT_EQ(Groups(other, "pp"), (RankGroups{{0, 2}, {1, 3}, {4, 6}, {5, 7}}));
  const ParallelLayout first = {.rank_size = 4, .tensor = 2, .pipeline = 2, .order = "pp-tp"};
  EXPECT_EQ(Groups(first, "tp"), (RankGroups{{0, 2}, {1, 3}}));
}

TEST(ParallelLayout, WhatCannotBe) {
  EXPECT_TRUE(CheckLayout({.rank_size = 8, .tensor = 2, .pipeline = 4}, 8).ok());
  EXPECT_FALSE(CheckLayout({.rank_size = 8, .tensor = 2}, 4).ok());
  EXPECT_FALSE(CheckLayout({.rank_size = 8, .tensor = 3}, 8).ok());
  EXPECT_FALSE(CheckLayout({.rank_size = 8, .tensor = 0}, 8).ok());
  EXPECT_FALSE(CheckLayout({.rank_size = 8, .tensor = 4, .pipeline = 4}, 8).ok());
  const int64_t huge = int64_t{1} << 32U;
  EXPECT_FALSE(CheckLayout({.rank_size = 8, .tensor = huge, .pipeline = huge}, 8).ok());
  EXPECT_FALSE(CheckLayout({.rank_size = 2, .tensor = 2, .virtual_pipeline = 2}, 2).ok());
  // Two replicas, but no place for them in the order.
  EXPECT_FALSE(GroupsOf({.rank_size = 4, .tensor = 2, .order = "tp-pp"}, "tp").ok());
}

TEST(ParallelLayout, NumbersOfLayers) {
  EXPECT_EQ(WithLayerNumber("Module.layers.3.mlp.layer.3.X.forward.0", "7"),
            "Module.layers.7.mlp.layer.7.X.forward.0");
  EXPECT_EQ(WithLayerNumber("Module.layernorm.3.X", "7"), "Module.layernorm.3.X");
  EXPECT_EQ(FindLayerNumber("Module.layers.x.3").begin, std::string_view::npos);
  EXPECT_EQ(FindLayerNumber("Module.layers.12").begin, std::string_view::npos);
}

TEST(ParallelLayout, NamesOfMergedCalls) {
  EXPECT_EQ(WithRank("Torch.mm.0.forward", "3"), "Torch.mm_rank3.0.forward");
  EXPECT_EQ(RankOfName("Torch.mm_rank3.0.forward"), 3);
  EXPECT_EQ(RankOfName("Torch.mm.0.forward"), -1);
}

}  // namespace
}  // namespace sonde::precision
