#include "record/dynamic_config.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <chrono>
#include <thread>

#include "record/recorder.h"
#include "record/testing/session_fixture.h"

namespace sonde::record {
namespace {

using capture::RecordKind;

class DynamicTest : public SessionTest {
 protected:
  void SetUp() override {
    const sonde_session_config config = ConfigIn(folder_.path());
    ASSERT_EQ(dynamic_.Watch(folder_.File("control"), SessionConfig::FromC(&config)), 0)
        << sonde_last_error();
  }
  void TearDown() override { sonde_session_stop(nullptr, 0); }

  // Changes the file and polls it.
  void Write(const std::string& text) {
    const std::string path = folder_.File("control/profiler_config.json");
    ASSERT_TRUE(base::WriteFileAtomically(path, text).ok());
    const timespec times[2] = {{++file_time_, 0}, {file_time_, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
    dynamic_.Poll();
  }

  std::string Ask(const std::string& more) {
    return "{\"prof_dir\": \"" + folder_.path() + "\", \"mstx\": true, " + more + "}";
  }

  // Announces a step and returns whether it is recorded.
  bool Step(int64_t number) {
    dynamic_.OnStep(number);
    if (sonde_recording() != 0) sonde_mark(Name("in step " + std::to_string(number)), 0, 0);
    return sonde_recording() != 0;
  }

  time_t file_time_ = 1'000'000'000;
  DynamicConfig dynamic_{&Recorder::Get()};
};

TEST_F(DynamicTest, DefaultsAreWrittenAndDoNothing) {
  const std::string path = folder_.File("control/profiler_config.json");
  const Result<JsonValue> file = ParseJson(*base::ReadFile(path));
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->Find("start_step")->number, 0);
  EXPECT_EQ(file->Find("experimental_config")->Find("profiler_level")->text, "Level0");
  dynamic_.Poll();
  for (int step = 0; step < 3; ++step) EXPECT_FALSE(Step(step));
}

TEST_F(DynamicTest, RecordsTheStepsAskedFor) {
  EXPECT_FALSE(Step(1));
  Write(Ask("\"start_step\": 3, \"active\": 2"));
  EXPECT_FALSE(Step(2));
  EXPECT_TRUE(Step(3));
  EXPECT_TRUE(Step(4));
  EXPECT_FALSE(Step(5));
  EXPECT_FALSE(Step(6));
  const std::vector<std::string> spans = FindSpans(folder_.path());
  ASSERT_EQ(spans.size(), 1u);
  const CheckedCapture capture = CheckCapture(spans[0]);
  EXPECT_TRUE(capture.problems.empty()) << capture.ProblemText();
  EXPECT_EQ(capture.Count(RecordKind::kMark), 2u);
  EXPECT_EQ(capture.Count(RecordKind::kStep, "ProfilerStep#3"), 1u);
  EXPECT_EQ(capture.Count(RecordKind::kStep, "ProfilerStep#4"), 1u);
  EXPECT_EQ(capture.Count(RecordKind::kStep), 2u);
}

TEST_F(DynamicTest, NextStepWithWarmupAndAgain) {
  for (int round = 0; round < 2; ++round) {
    const int64_t first = 10 * round;
    Write(Ask("\"start_step\": -1, \"warmup\": 2, \"active\": 1"));
    EXPECT_FALSE(Step(first));  // warm-up
    EXPECT_EQ(CurrentStatus().state, 1u);
    EXPECT_FALSE(Step(first + 1));
    EXPECT_TRUE(Step(first + 2));
    EXPECT_FALSE(Step(first + 3));
  }
  EXPECT_EQ(FindSpans(folder_.path()).size(), 2u);
}

TEST_F(DynamicTest, StepsCountThemselves) {
  Write(Ask("\"start_step\": 2"));
  EXPECT_FALSE(Step(-1));
  EXPECT_TRUE(Step(-1));
  EXPECT_FALSE(Step(-1));
}

TEST_F(DynamicTest, LateStartAndBadFilesAreReportedAndIgnored) {
  EXPECT_FALSE(Step(7));
  testing::internal::CaptureStderr();
  Write(Ask("\"start_step\": 5"));
  EXPECT_FALSE(Step(8));
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "sonde: Dynamic Profiler config is not effective. The start_step=5, current_step=8\n");
  for (const char* bad : {"{", "[]", "{\"active\": \"2\"}", "{\"with_stack\": 7}",
                          "{\"prof_dir\": 1}", "{\"is_rank\": true, \"rank_list\": 0}"}) {
    testing::internal::CaptureStderr();
    Write(bad);
    EXPECT_NE(testing::internal::GetCapturedStderr().find("profiler_config.json"),
              std::string::npos)
        << bad;
    EXPECT_FALSE(Step(-1)) << bad;
  }
}

TEST_F(DynamicTest, OnlyListedRanks) {
  setenv("RANK", "3", 1);
  Write(Ask("\"start_step\": -1, \"is_rank\": true, \"rank_list\": [0, 1]"));
  EXPECT_FALSE(Step(1));
  Write(Ask("\"start_step\": -1, \"is_rank\": true, \"rank_list\": [3]"));
  EXPECT_TRUE(Step(2));
  EXPECT_FALSE(Step(3));
  Write(Ask("\"start_step\": -1, \"is_rank\": false, \"rank_list\": [0, 1]"));
  EXPECT_TRUE(Step(4));
  unsetenv("RANK");
}

TEST_F(DynamicTest, WatchedByTheControlThread) {
  const std::string folder = folder_.File("watched");
  const sonde_session_config config = ConfigIn(folder_.path());
  ASSERT_EQ(sonde_dynamic_watch(folder.c_str(), &config), 0);
  EXPECT_LT(sonde_dynamic_watch(folder.c_str(), &config), 0);
  ASSERT_TRUE(base::WriteFileAtomically(folder + "/profiler_config.json",
                                        Ask("\"start_step\": -1, \"active\": 3"))
                  .ok());
  for (int step = 0; sonde_recording() == 0 && step < 5'000; ++step) {
    sonde_dynamic_step(-1);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_NE(sonde_recording(), 0);
  for (int i = 0; i < 3; ++i) sonde_dynamic_step(-1);
  EXPECT_EQ(sonde_recording(), 0);
  sonde_control_close();
}

}  // namespace
}  // namespace sonde::record
