#include "precision/cause/other_ranks.h"

#include <gtest/gtest.h>

#include <array>

#include "base/strings.h"
#include "precision/test_support.h"

namespace sonde::precision {
namespace {

std::string Calls() {
  std::string out;
  for (const char* name : {"a", "b", "c"}) {
    out += base::Concat(out.empty() ? "" : ",", "\"Module.", name,
                        R"(.Linear.forward.0": {"input_args": [], "input_kwargs": {}, "output": )"
                        R"([{"type": "int", "value": 1}]})");
  }
  return "{" + out + "}";
}

struct Rank {
  std::unique_ptr<DumpFile> dump;
  FirstCause cause;
  RankFinding finding;
};

class OtherRanksTest : public testing::Test {
 protected:
  // A rank that differs at a call; -1: nowhere.
  void Set(size_t rank, CauseKind kind, int32_t call) {
    ranks_[rank].dump = DumpOf(Calls());
    ranks_[rank].cause = {};
    ranks_[rank].cause.kind = kind;
    ranks_[rank].cause.target_call = call;
    const Alignment alignment = AlignCalls(*ranks_[rank].dump, *ranks_[rank].dump);
    ranks_[rank].finding = RankFindingOf(static_cast<int64_t>(rank), *ranks_[rank].dump, alignment,
                                         &ranks_[rank].cause);
  }

  std::array<CauseKind, 2> Kinds() {
    std::array<RankFinding, 2> findings = {ranks_[0].finding, ranks_[1].finding};
    PutEarliestRankFirst(findings);
    return {ranks_[0].cause.kind, ranks_[1].cause.kind};
  }

  std::array<Rank, 2> ranks_;
};

using Two = std::array<CauseKind, 2>;

TEST_F(OtherRanksTest, TheEarlierPlaceIsTheFinding) {
  Set(0, CauseKind::kOperator, 2);
  Set(1, CauseKind::kOperator, 1);
  EXPECT_EQ(Kinds(), (Two{CauseKind::kOtherRank, CauseKind::kOperator}));
  EXPECT_EQ(ranks_[0].cause.evidence.back(),
            "rank 1 differs before, at Module.b.Linear.forward.0: begin there; it may have come by "
            "a collective");
}

TEST_F(OtherRanksTest, OnePlaceIsAFindingOfBoth) {
  Set(0, CauseKind::kOperator, 1);
  Set(1, CauseKind::kOperator, 1);
  EXPECT_EQ(Kinds(), (Two{CauseKind::kOperator, CauseKind::kOperator}));
}

TEST_F(OtherRanksTest, ARanksOwnDifferenceStaysOneFinding) {
  Set(0, CauseKind::kWeight, 2);
  Set(1, CauseKind::kOperator, 1);
  EXPECT_EQ(Kinds(), (Two{CauseKind::kWeight, CauseKind::kOperator}));
}

TEST_F(OtherRanksTest, ARankWithoutAFindingSaysNothing) {
  Set(0, CauseKind::kOperator, 2);
  Set(1, CauseKind::kRounding, kNoCall);
  EXPECT_EQ(Kinds(), (Two{CauseKind::kOperator, CauseKind::kRounding}));
}

}  // namespace
}  // namespace sonde::precision
