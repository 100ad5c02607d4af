#include "serve/rank_map.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/files.h"
#include "base/strings.h"
#include "base/test_folder.h"
#include "report/sqlite_file.h"

namespace sonde::serve {
namespace {

using base::Concat;

constexpr int kRanks = 1000;
constexpr int kSteps = 300;
constexpr int kSlow = 777;  // from step 200 on
constexpr int kGap = 500;   // has no step 10

int Computing(int rank, int step) {
  return 400 + (rank * 7 + step * 3) % 11 + (rank == kSlow && step >= 200 ? 50 : 0);
}

class RankMapTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string folder = folder_.File("cluster_analysis_output");
    ASSERT_TRUE(base::MakeDirectories(folder).ok());
    std::string rows;
    for (int rank = 0; rank < kRanks; ++rank) {
      for (int step = 0; step < kSteps; ++step) {
        if (rank == kGap && step == 10) continue;
        rows +=
            Concat(rows.empty() ? "" : ",", "(", std::to_string(rank), ",", std::to_string(step),
                   ",1000,", std::to_string(Computing(rank, step)), ",1,2,3)");
      }
    }
    const Status written = report::WriteSqliteFile(
        base::JoinPath(folder, "cluster_analysis.db"), report::Before::kReplace,
        [&](report::SqliteFile& file) {
          return file.Execute(
              Concat("CREATE TABLE ClusterTimeSummary (rank INTEGER, step INTEGER, stepTime REAL, "
                     "computation REAL, communicationNotOverlapComputation REAL, free REAL, "
                     "communicationWaitStageTime REAL); INSERT INTO ClusterTimeSummary VALUES ",
                     rows));
        });
    ASSERT_TRUE(written.ok()) << written.message();
    map_ = RankMap::OfResult(RankMap::FindResult(folder_.path()), {});
  }

  RankTileMessage Tile(const TileRequest& request) {
    auto tile = map_->Tile(request);
    EXPECT_TRUE(tile.ok()) << tile.status().message();
    return tile.ok() ? *std::move(tile) : RankTileMessage();
  }

  base::TestFolder folder_;
  std::shared_ptr<RankMap> map_;
};

TEST_F(RankMapTest, ACellOfABlockIsItsLargestValue) {
  const RankTileMessage tile = Tile({.measure = 1});
  EXPECT_EQ(tile.total_ranks, kRanks);
  EXPECT_EQ(tile.total_steps, kSteps);
  EXPECT_EQ(tile.row_size, 4);     // 1000 ranks in 250 rows
  EXPECT_EQ(tile.column_size, 3);  // 300 steps in 100 columns
  ASSERT_EQ(tile.ns.size(), 250U * 100U);
  for (const size_t row : {0U, 125U, 194U, 249U}) {
    for (const size_t column : {0U, 3U, 99U}) {
      double most = 0;
      for (int rank = static_cast<int>(row) * 4; rank < static_cast<int>(row) * 4 + 4; ++rank) {
        for (int step = static_cast<int>(column) * 3; step < static_cast<int>(column) * 3 + 3;
             ++step) {
          if (rank != kGap || step != 10) most = std::max(most, 1e3 * Computing(rank, step));
        }
      }
      const size_t at = row * 100 + column;
      EXPECT_EQ(tile.ns[at], most) << row << " " << column;
      EXPECT_EQ(1e3 * Computing(static_cast<int>(tile.ranks[at]), static_cast<int>(tile.steps[at])),
                most);
    }
  }
  EXPECT_EQ(tile.first_ranks[1], 4);
  EXPECT_EQ(tile.last_ranks[1], 7);
  EXPECT_EQ(tile.measures,
            (std::vector<std::string>{"step", "computing", "exposed", "wait", "free"}));
}

TEST_F(RankMapTest, APartHasSingleCells) {
  const RankTileMessage tile =
      Tile({.measure = 1, .first_rank = 496, .ranks = 8, .first_step = 8, .steps = 4});
  EXPECT_EQ(tile.row_size, 1);
  EXPECT_EQ(tile.column_size, 1);
  ASSERT_EQ(tile.ns.size(), 32U);
  EXPECT_EQ(tile.ns[5], 1e3 * Computing(497, 9));
  EXPECT_TRUE(std::isnan(tile.ns[4 * 4 + 2]));  // the gap
  const RankTileMessage beyond = Tile({.measure = 1, .first_rank = 5000, .ranks = 8});
  EXPECT_TRUE(beyond.ns.empty());
}

TEST_F(RankMapTest, TheSlowRankComesFirstAndStandsOut) {
  const RankTileMessage tile = Tile({.measure = 1,
                                     .ranks = 2,
                                     .first_step = 200,
                                     .steps = 2,
                                     .is_compared = true,
                                     .is_sorted = true});
  EXPECT_EQ(tile.first_ranks[0], kSlow);
  for (int step = 200; step < 202; ++step) {
    EXPECT_NEAR(tile.ns[static_cast<size_t>(step - 200)], 1e3 * (Computing(kSlow, step) - 405),
                1e3);
  }
}

TEST_F(RankMapTest, NamesWhatIsNotThere) {
  EXPECT_EQ(RankMap::FindResult(folder_.File("nothing")), "");
  EXPECT_EQ(map_->SourceOf(3).status().code(), base::StatusCode::kNotFound);
  const auto gone = RankMap::OfResult(folder_.File("gone.db"), {});
  EXPECT_FALSE(gone->Tile({}).ok());
}

}  // namespace
}  // namespace sonde::serve
