#include "record/schedule.h"

#include <errno.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace sonde::record {
namespace {

std::string Actions(const sonde_schedule& schedule, int64_t steps) {
  std::string text;
  for (int64_t step = 0; step < steps; ++step) {
    text += "NWRS"[sonde_schedule_action(&schedule, step)];
  }
  return text;
}

TEST(Schedule, ActionsByStep) {
  // wait, warmup, active, repeat, skip_first, skip_first_wait
  EXPECT_EQ(Actions({0, 0, 1, 0, 0, 0}, 4), "SSSS");
  EXPECT_EQ(Actions({1, 1, 2, 0, 0, 0}, 9), "NWRSNWRSN");
  EXPECT_EQ(Actions({1, 1, 2, 1, 0, 0}, 9), "NWRSNNNNN");
  EXPECT_EQ(Actions({1, 1, 2, 2, 3, 0}, 13), "NNNNWRSNWRSNN");
  EXPECT_EQ(Actions({2, 0, 1, 0, 0, 1}, 7), "SNNSNNS") << "only the first wait is skipped";
  EXPECT_EQ(Actions({2, 1, 1, 1, 1, 1}, 8), "NWSNNNNN");
}

TEST(Schedule, ImpossibleValuesAreRefused) {
  const sonde_schedule good{0, 0, 1, 0, 0, 0};
  EXPECT_EQ(sonde_schedule_action(&good, -1), -EINVAL);
  for (const sonde_schedule& bad :
       {sonde_schedule{-1, 0, 1, 0, 0, 0}, sonde_schedule{0, -1, 1, 0, 0, 0},
        sonde_schedule{0, 0, 0, 0, 0, 0}, sonde_schedule{0, 0, 1, -1, 0, 0},
        sonde_schedule{0, 0, 1, 0, -1, 0}}) {
    EXPECT_EQ(sonde_schedule_action(&bad, 0), -EINVAL);
  }
}

TEST(Schedule, LargeNumbersDoNotOverflow) {
  const sonde_schedule large{INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX, 1};
  // 2^40 is 170 cycles of 3 * (2^31 - 1) steps and then 512 steps of the active phase.
  EXPECT_EQ(sonde_schedule_action(&large, INT64_C(1) << 40), SONDE_ACTION_RECORD);
}

struct Cell {
  int previous;
  int current;
  std::vector<int> operations;
  int warning;
};

// Every cell of the table, copied manually from docs/reference/schedule.md.
TEST(Schedule, TransitionsCellByCell) {
  // NOLINTBEGIN(readability-identifier-naming): one letter a cell, as in the table.
  constexpr int N = SONDE_ACTION_NONE, W = SONDE_ACTION_WARMUP, R = SONDE_ACTION_RECORD,
                S = SONDE_ACTION_RECORD_AND_SAVE, X = -1;
  // NOLINTEND(readability-identifier-naming)
  constexpr int kInit = SONDE_OP_INIT, kWarm = SONDE_OP_WARMUP, kStart = SONDE_OP_START,
                kStop = SONDE_OP_STOP, kFinal = SONDE_OP_FINALIZE, kReady = SONDE_OP_TRACE_READY,
                kDelete = SONDE_OP_DELETE;
  const std::vector<Cell> cells = {
      {N, N, {}, 0},
      {N, W, {kInit, kWarm}, 0},
      {N, R, {kInit, kStart}, 0},
      {N, S, {kInit, kStart}, 0},
      {N, X, {}, 0},
      {W, N, {kStart, kStop, kFinal}, 1},
      {W, W, {}, 0},
      {W, R, {kStart}, 0},
      {W, S, {kStart}, 0},
      {W, X, {kFinal, kDelete}, 4},
      {R, N, {kStop, kFinal}, 2},
      {R, W, {kStop, kFinal}, 3},
      {R, R, {}, 0},
      {R, S, {}, 0},
      {R, X, {kStop, kFinal, kReady}, 5},
      {S, N, {kStop, kFinal, kReady}, 0},
      {S, W, {kStop, kFinal, kReady, kInit, kWarm}, 0},
      {S, R, {kStop, kFinal, kReady, kInit, kStart}, 0},
      {S, S, {kStop, kFinal, kReady, kInit, kStart}, 0},
      {S, X, {kStop, kFinal, kReady}, 6},
  };
  ASSERT_EQ(cells.size(), 20u);
  for (const Cell& cell : cells) {
    int warning = -1;
    uint64_t packed = sonde_schedule_transition(cell.previous, cell.current, &warning);
    std::vector<int> operations;
    for (; (packed & 0xff) != 0; packed >>= 8)
      operations.push_back(static_cast<int>(packed & 0xff));
    EXPECT_EQ(operations, cell.operations) << cell.previous << " -> " << cell.current;
    EXPECT_EQ(warning, cell.warning) << cell.previous << " -> " << cell.current;
  }
  int warning = -1;
  EXPECT_EQ(sonde_schedule_transition(7, 0, &warning), 0u);
  EXPECT_EQ(warning, 0);
}

}  // namespace
}  // namespace sonde::record
