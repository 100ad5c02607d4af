// Starting other programs: CaptureOutput, Supervise, FindProgram, environments.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

#include "base/clock.h"
#include "base/strings.h"
#include "base/test_folder.h"
#include "cli/capture_output.h"
#include "cli/supervise.h"

namespace sonde::cli {
namespace {

using ::testing::HasSubstr;

ProgramStart Shell(const std::string& script, const EnvironmentVariables& variables = {}) {
  return {.path = "/bin/sh", .words = {"sh", "-c", script}, .variables = variables};
}

TEST(CaptureOutput, TakesBothStreamsAndTheStatus) {
  const auto output =
      CaptureOutput({"sh", "-c", "echo $A; echo err >&2; cat; exit 3"}, {{"A", "x"}}, 20);
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output->exit_status, 3);
  EXPECT_EQ(output->out, "x\n");
  EXPECT_EQ(output->err, "err\n");
  const auto large = CaptureOutput({"sh", "-c", "head -c 3000000 /dev/zero"}, {}, 20);
  EXPECT_EQ(large->out.size(), 3000000U);
  EXPECT_EQ(CaptureOutput({"sh", "-c", "kill -9 $$"}, {}, 20)->exit_status, 137);
}

TEST(CaptureOutput, KillsProgramsAfterTheTimeout) {
  const int64_t begin_ns = base::MonotonicRawNs();
  const auto output = CaptureOutput({"sh", "-c", "sleep 60 & sleep 60"}, {}, 1);
  EXPECT_EQ(output.status().code(), StatusCode::kUnavailable);
  EXPECT_LT(base::MonotonicRawNs() - begin_ns, 20'000'000'000);
}

TEST(CaptureOutput, MissingProgramIsAStatus) {
  EXPECT_EQ(CaptureOutput({"/nowhere/at-all"}, {}, 5).status().code(), StatusCode::kNotFound);
}

TEST(Supervise, PassesExitStatusAndSignals) {
  EXPECT_EQ(Supervise(Shell("exit 7"))->exit_status, 7);
  const Result<ProgramEnd> killed = Supervise(Shell("kill -TERM $$"));
  EXPECT_EQ(killed->signal, SIGTERM);
  EXPECT_EQ(killed->exit_status, 128 + SIGTERM);
}

TEST(Supervise, ReplacesVariables) {
  setenv("SONDE_TEST_VARIABLE", "old", 1);
  EXPECT_EQ(Supervise(Shell("test \"$SONDE_TEST_VARIABLE\" = 'new value'",
                            {{"SONDE_TEST_VARIABLE", "new value"}}))
                ->exit_status,
            0);
  EXPECT_EQ(Supervise(Shell("test \"$SONDE_TEST_VARIABLE\" = old"))->exit_status, 0);
  unsetenv("SONDE_TEST_VARIABLE");
}

TEST(Supervise, ReportsWhatCannotBeExecuted) {
  const base::TestFolder folder;
  ASSERT_TRUE(base::WriteFileAtomically(folder.File("bad"),
                                        "\x7f"
                                        "ELF nonsense")
                  .ok());
  ASSERT_EQ(chmod(folder.File("bad").c_str(), 0755), 0);
  const Result<ProgramEnd> end = Supervise({.path = folder.File("bad"), .words = {"bad"}});
  EXPECT_FALSE(end.ok());
  EXPECT_THAT(std::string(end.status().message()), HasSubstr("/bad"));
}

// In a child of its own, so that the signals reach nobody else.
TEST(Supervise, HandsSignalsOn) {
  const base::TestFolder folder;
  const std::string ready = folder.File("ready");
  const pid_t launcher = fork();
  if (launcher == 0) {
    const std::string script =
        base::Concat("trap 'exit 9' USR1; : > ", ready, "; while :; do sleep 0.05; done");
    const Result<ProgramEnd> end = Supervise(Shell(script));
    _exit(end.ok() ? end->exit_status : 100);
  }
  while (!base::PathExists(ready)) usleep(10000);
  kill(launcher, SIGUSR1);
  int state = 0;
  ASSERT_EQ(waitpid(launcher, &state, 0), launcher);
  EXPECT_TRUE(WIFEXITED(state));
  EXPECT_EQ(WEXITSTATUS(state), 9);
}

TEST(Supervise, TheProgramEndsWithAKilledLauncher) {
  const base::TestFolder folder;
  const std::string pid_file = folder.File("pid");
  const pid_t launcher = fork();
  if (launcher == 0) {
    const Result<ProgramEnd> end = Supervise(Shell(base::Concat(
        "echo $$ > ", pid_file, ".new; mv ", pid_file, ".new ", pid_file, "; exec sleep 60")));
    _exit(end.ok() ? 0 : 100);
  }
  while (!base::PathExists(pid_file)) usleep(10000);
  const auto program = base::ParseInt64(base::Trim(*base::ReadFile(pid_file)));
  ASSERT_TRUE(program);
  kill(launcher, SIGKILL);
  waitpid(launcher, nullptr, 0);
  const std::string status = base::Concat("/proc/", std::to_string(*program), "/stat");
  const int64_t deadline_ns = base::MonotonicRawNs() + 20'000'000'000;
  const auto alive = [&] {
    const auto text = base::ReadFile(status);
    return text.ok() && text->find(") Z ") == std::string::npos;
  };
  while (alive() && base::MonotonicRawNs() < deadline_ns) usleep(10000);
  EXPECT_FALSE(alive());
}

TEST(EndLikeDeathTest, DiesOfTheSameSignal) {
  EXPECT_EXIT(EndLike({.exit_status = 143, .signal = SIGTERM}), ::testing::KilledBySignal(SIGTERM),
              "");
  EXPECT_EXIT(EndLike({.exit_status = 5, .signal = 0}), ::testing::ExitedWithCode(5), "");
}

TEST(FindProgram, KnowsWhatTheShellKnows) {
  const base::TestFolder folder;
  ASSERT_TRUE(base::WriteFileAtomically(folder.File("script"), "#!/bin/sh\n").ok());
  EXPECT_TRUE(FindProgram("sh").ok());
  EXPECT_EQ(FindProgram("no-such-command-here").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(FindProgram(folder.File("none")).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(FindProgram(folder.File("script")).status().code(), StatusCode::kPermissionDenied);
  EXPECT_EQ(FindProgram(folder.path()).status().code(), StatusCode::kPermissionDenied);
  ASSERT_EQ(chmod(folder.File("script").c_str(), 0755), 0);
  EXPECT_EQ(*FindProgram(folder.File("script")), folder.File("script"));
}

}  // namespace
}  // namespace sonde::cli
