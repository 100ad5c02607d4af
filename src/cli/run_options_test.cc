#include "cli/run_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/files.h"

namespace sonde::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string Complaint(const RunOptions& options) {
  return std::string(CheckRunOptions(options).message());
}

TEST(RunOptions, SchedulesMustBePossible) {
  RunOptions options;
  options.step_start = 5;
  options.step_end = 6;
  EXPECT_EQ(Complaint(options), "");
  options.step_end = 5;
  EXPECT_THAT(Complaint(options), HasSubstr("impossible schedule: --profile-step-end (5)"));
  options.step_end = -1;
  EXPECT_EQ(Complaint(options), "");
  options.step_end = -2;
  EXPECT_THAT(Complaint(options), HasSubstr("impossible schedule"));
  options.step_start = -1;
  EXPECT_THAT(Complaint(options), HasSubstr("must be 0 or more"));
  options = {};
  options.step_end = 0;
  EXPECT_THAT(Complaint(options), HasSubstr("impossible schedule"));
}

TEST(RunOptions, ValuesMustBeKnown) {
  RunOptions options;
  options.level = "level7";
  EXPECT_THAT(Complaint(options), HasSubstr("level_none, level0, level1, level2, not 'level7'"));
  options = {};
  options.export_types = {"text", "xml"};
  EXPECT_THAT(Complaint(options), HasSubstr("text, db, not 'xml'"));
  options = {};
  options.ranks = {0, -1};
  EXPECT_THAT(Complaint(options), HasSubstr("--profile-ranks"));
  options.ranks = {-1};
  EXPECT_EQ(Complaint(options), "");
  options.gc_threshold_ms = -0.5;
  EXPECT_THAT(Complaint(options), HasSubstr("--profile-gc-threshold-ms"));
  options = {};
  options.save_path = "";
  EXPECT_THAT(Complaint(options), HasSubstr("--profile-save-path"));
  options = {};
  options.control = "http://127.0.0.1:0";
  options.step_start = 1;
  EXPECT_THAT(Complaint(options), HasSubstr("exclude each other"));
}

TEST(RunOptions, ControlAddresses) {
  EXPECT_EQ(*NormalizeControl("http://127.0.0.1:8765"), "http://127.0.0.1:8765");
  EXPECT_EQ(*NormalizeControl("http://localhost:0"), "http://127.0.0.1:0");
  EXPECT_EQ(*NormalizeControl("unix:/run/a.sock"), "unix:/run/a.sock");
  EXPECT_EQ(*NormalizeControl("/run/a.sock"), "unix:/run/a.sock");
  EXPECT_EQ(*NormalizeControl("./a.sock"), "unix:" + base::AbsolutePath("a.sock"));
  for (const std::string bad :
       {"", "8765", "unix:", "http://127.0.0.1", "http://127.0.0.1:x", "http://127.0.0.1:65536",
        "http://0.0.0.0:80", "ftp://x", "unix:/no/such/folder/a.sock"}) {
    EXPECT_FALSE(NormalizeControl(bad).ok()) << bad;
  }
  EXPECT_FALSE(NormalizeControl("unix:/" + std::string(200, 'a')).ok());
}

TEST(RunOptions, VariablesFillWhatTheCommandLineLeftOpen) {
  std::map<std::string, std::string> variables = {
      {"SONDE_PROFILE_STEP_START", "3"}, {"SONDE_PROFILE_RANKS", "0, 2"},
      {"SONDE_PROFILE_LEVEL", "level2"}, {"SONDE_PROFILE_EXPORT_TYPE", "db"},
      {"SONDE_PROFILE_WITH_CPU", "off"}, {"SONDE_PROFILE_MSTX", "TRUE"},
      {"SONDE_PROFILE_ANALYSE", "0"},    {"SONDE_PROFILE_SAVE_PATH", ""}};
  const auto getter = [&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
  RunOptions options;
  options.level = "level1";
  ASSERT_TRUE(ReadVariables(getter, options).ok());
  EXPECT_EQ(options.step_start, 3);
  EXPECT_EQ(options.step_end, std::nullopt);
  EXPECT_THAT(options.ranks, ElementsAre(0, 2));
  EXPECT_EQ(options.level, "level1");
  EXPECT_THAT(options.export_types, ElementsAre("db"));
  EXPECT_EQ(options.with_cpu, false);
  EXPECT_EQ(options.mstx, true);
  EXPECT_EQ(options.analyse, false);
  EXPECT_EQ(options.save_path, std::nullopt);
  for (const auto* name :
       {"SONDE_PROFILE_STEP_END", "SONDE_PROFILE_WITH_STACK", "SONDE_PROFILE_GC_THRESHOLD_MS"}) {
    variables[name] = "junk";
    RunOptions fresh;
    EXPECT_THAT(std::string(ReadVariables(getter, fresh).message()), HasSubstr(name));
    variables.erase(name);
  }
}

TEST(RunOptions, OnlyWhatIsSetReachesTheEnvironment) {
  const EnvironmentVariables none = ToEnvironment({});
  ASSERT_EQ(none.size(), 1U);
  EXPECT_EQ(none[0].first, "SONDE_PROFILE_SAVE_PATH");
  EXPECT_EQ(none[0].second, base::AbsolutePath("profile"));
}

TEST(RunOptions, EveryOptionHasItsVariable) {
  RunOptions options;
  options.step_end = 8;
  options.step_mark = "iteration";
  options.ranks = {0, 3};
  options.level = "level1";
  options.export_types = {"text", "db"};
  options.data_simplification = true;
  options.with_cpu = false;
  options.with_stack = true;
  options.with_memory = true;
  options.record_shapes = true;
  options.with_modules = false;
  options.mstx = false;
  options.request_text = true;
  options.gc_threshold_ms = 1.5;
  options.keep_last_s = 30;
  options.save_path = "/out";
  options.analyse = false;
  options.wait = true;
  options.routes = false;
  options.control = "/run/a.sock";
  options.quiet = true;
  const EnvironmentVariables all = ToEnvironment(options);
  const EnvironmentVariables wanted = {{"SONDE_PROFILE_STEP_START", "0"},
                                       {"SONDE_PROFILE_STEP_END", "8"},
                                       {"SONDE_PROFILE_STEP_MARK", "iteration"},
                                       {"SONDE_PROFILE_RANKS", "0,3"},
                                       {"SONDE_PROFILE_LEVEL", "level1"},
                                       {"SONDE_PROFILE_EXPORT_TYPE", "text,db"},
                                       {"SONDE_PROFILE_DATA_SIMPLIFICATION", "1"},
                                       {"SONDE_PROFILE_WITH_CPU", "0"},
                                       {"SONDE_PROFILE_WITH_STACK", "1"},
                                       {"SONDE_PROFILE_WITH_MEMORY", "1"},
                                       {"SONDE_PROFILE_RECORD_SHAPES", "1"},
                                       {"SONDE_PROFILE_WITH_MODULES", "0"},
                                       {"SONDE_PROFILE_MSTX", "0"},
                                       {"SONDE_PROFILE_REQUEST_TEXT", "1"},
                                       {"SONDE_PROFILE_GC_THRESHOLD_MS", "1.5"},
                                       {"SONDE_KEEP_LAST_SECONDS", "30"},
                                       {"SONDE_PROFILE_SAVE_PATH", "/out"},
                                       {"SONDE_PROFILE_ANALYSE", "0"},
                                       {"SONDE_PROFILE_WAIT", "1"},
                                       {"SONDE_PROFILE_ROUTES", "0"},
                                       {"SONDE_CONTROL", "unix:/run/a.sock"},
                                       {"SONDE_QUIET", "1"}};
  EXPECT_EQ(all, wanted);
  // The reference page names every one of them.
  const Result<std::string> page =
      base::ReadFile(SONDE_SOURCE_DIR "/docs/reference/environment.md");
  ASSERT_TRUE(page.ok()) << page.status().message();
  for (const auto& [name, value] : all) EXPECT_THAT(*page, HasSubstr("`" + name + "`"));
}

}  // namespace
}  // namespace sonde::cli
