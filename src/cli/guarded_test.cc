#include "cli/guarded.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/files.h"

namespace sonde::cli {
namespace {

// The work leaves a file for each thing that it ended; a crash is made by a signal, since the
// sanitizers make an end of their own of a true one.
class GuardedTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "/sonde_guarded_test_" + std::to_string(::getpid());
    ASSERT_TRUE(base::MakeDirectories(folder_).ok());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  GuardedWork Work(std::vector<size_t> crash_over, int status = 0) const {
    return [this, crash_over = std::move(crash_over), status](std::span<const size_t> places,
                                                              WorkBoard& board) {
      for (const size_t place : places) {  // all are in hand at once
        if (!board.IsDone(place)) board.Begin(place);
      }
      for (const size_t place : places) {
        if (std::ranges::find(crash_over, place) != crash_over.end()) {
          std::signal(SIGSEGV, SIG_DFL);
          ::raise(SIGSEGV);
        }
        const std::string name = base::JoinPath(folder_, std::to_string(place));
        if (board.IsDone(place)) continue;
        EXPECT_FALSE(base::PathExists(name)) << "done twice";
        EXPECT_TRUE(base::WriteFileAtomically(name, "").ok());
        board.End(place, /*is_done=*/true);
      }
      return status;
    };
  }

  bool IsDone(size_t place) const {
    return base::PathExists(base::JoinPath(folder_, std::to_string(place)));
  }

  std::string folder_;
};

TEST_F(GuardedTest, WithoutACrashTheStatusIsThatOfTheWork) {
  const auto result = RunGuarded(3, Work({}, 7));
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->exit_status, 7);
  EXPECT_TRUE(result->crashes.empty());
  for (size_t place = 0; place < 3; ++place) EXPECT_TRUE(IsDone(place));
}

TEST_F(GuardedTest, CrashingItemsAreFoundAndTheOthersAreDone) {
  const auto result = RunGuarded(5, Work({1, 3}));
  ASSERT_TRUE(result.ok()) << result.status().message();
  ASSERT_EQ(result->crashes.size(), 2U);
  EXPECT_EQ(result->crashes[0].place, 1U);
  EXPECT_EQ(result->crashes[1].place, 3U);
  EXPECT_EQ(result->crashes[0].signal, SIGSEGV);
  EXPECT_EQ(result->exit_status, 0);
  for (const size_t place : {0U, 2U, 4U}) EXPECT_TRUE(IsDone(place)) << place;
}

TEST_F(GuardedTest, AllMayCrash) {
  const auto result = RunGuarded(2, Work({0, 1}));
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->crashes.size(), 2U);
}

TEST_F(GuardedTest, OtherEndsAreNoCrashes) {
  const GuardedWork killed = [](std::span<const size_t>, WorkBoard& board) {
    board.Begin(0);
    ::raise(SIGKILL);
    return 0;
  };
  EXPECT_EXIT((void)RunGuarded(2, killed), ::testing::KilledBySignal(SIGKILL), "");
}

TEST_F(GuardedTest, ACrashOverNothingIsTheProgramsOwn) {
  const GuardedWork crash = [](std::span<const size_t>, WorkBoard&) {
    std::signal(SIGABRT, SIG_DFL);
    ::raise(SIGABRT);
    return 0;
  };
  EXPECT_EXIT((void)RunGuarded(2, crash), ::testing::KilledBySignal(SIGABRT), "");
}

}  // namespace
}  // namespace sonde::cli
