// How the traces of a job are found, numbered and named, on files that other tools wrote.
#include "job/job.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/strings.h"
#include "base/test_folder.h"
#include "importers/capture/testing/training_capture.h"
#include "job/failures.h"
#include "job/for_each.h"
#include "job/open.h"

namespace sonde::job {
namespace {

std::string SharedData() {
  const char* folder = std::getenv("SONDE_SHARED_DATA");  // NOLINT(concurrency-mt-unsafe)
  return folder != nullptr ? folder : SONDE_SHARED_DATA_DEFAULT;
}

class JobTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(setenv("XDG_CACHE_HOME", folder_.File("cache").c_str(), 1), 0);
  }

  // One slice of a rank, as PyTorch's profiler writes it; without one where it is below 0.
  std::string Write(const std::string& name, int rank) {
    const std::string path = folder_.File(base::Concat("job/", name));
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << R"({"schemaVersion": 1,)"
                        << (rank < 0 ? ""
                                     : base::Concat(R"( "distributedInfo": {"rank": )",
                                                    std::to_string(rank), "},"))
                        << R"( "traceEvents": [{"ph": "X", "cat": "cpu_op", "name": ")" << name
                        << R"(", "pid": 1, "tid": 1, "ts": 1.5, "dur": 2}]})";
    return path;
  }
  std::string root() const { return folder_.File("job"); }

  Result<OpenedJob> OpenAll(const Job& job) {
    return Open(job, {.threads = 2,
                      .notify = [this](std::string_view line) { notices_.emplace_back(line); },
                      .complain = [this](std::string_view line) { wrong_.emplace_back(line); }});
  }

  base::TestFolder folder_;
  std::vector<std::string> notices_;
  std::vector<std::string> wrong_;
};

TEST_F(JobTest, AProcessThatHelpsAnotherIsNoProgramUnlessItHasARank) {
  const auto write = [&](const std::string& pid, const std::string& role, const std::string& rank) {
    importers::testing::CaptureBuilder capture;
    capture.Metadata("role", role);
    capture.Metadata("rank", rank);
    importers::testing::MakeTrainingCapture(capture, 5, {});
    const std::string span =
        base::JoinPath(root(), base::Concat("h_", pid, "_20250109081616001_ascend_pt"));
    ASSERT_TRUE(capture.Write(span).ok());
  };
  write("7", R"("main")", "-1");
  write("8", R"("worker")", "-1");
  const Job one = FindJob({root()});
  ASSERT_EQ(one.traces.size(), 2U);
  EXPECT_FALSE(IsHelper(one.traces[0]));
  EXPECT_TRUE(IsHelper(one.traces[1]));
  ASSERT_TRUE(OnlyProgram(one));
  EXPECT_NE(OnlyProgram(one)->source.path.find("h_7_"), std::string::npos);
  write("9", R"("worker")", "1");
  EXPECT_FALSE(OnlyProgram(FindJob({root()})));
}

TEST_F(JobTest, WhoAsksSmallStoresThriftilyAsksThemWithOneThread) {
  Write("rank0.json", 0);
  const Job job = FindJob({root()});
  for (const bool is_thrifty : {false, true}) {
    const auto opened = Open(
        job,
        {.threads = 2, .notify = [](auto) {}, .complain = [](auto) {}, .is_thrifty = is_thrifty});
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    const auto threads = opened->store->Query("SELECT current_setting('threads')::BIGINT");
    ASSERT_TRUE(threads.ok()) << threads.status().message();
    EXPECT_EQ(threads->Int(0, 0), is_thrifty ? 1 : 2);
  }
}

TEST_F(JobTest, NumbersCountByRunAndRank) {
  Write("rank10.json", 10);
  Write("rank2.json", 2);
  Write("again/rank2.json", 2);
  Write("other.json", -1);
  const Job job = FindJob({root()});
  ASSERT_EQ(job.traces.size(), 4U);
  std::vector<std::pair<int32_t, int32_t>> runs_and_ranks;
  for (size_t i = 0; i < job.traces.size(); ++i) {
    EXPECT_EQ(job.traces[i].number, static_cast<int32_t>(i));
    runs_and_ranks.emplace_back(job.traces[i].run, job.traces[i].rank);
  }
  // The folder `again` comes first by name.
  EXPECT_EQ(runs_and_ranks,
            (std::vector<std::pair<int32_t, int32_t>>{{0, 2}, {1, 2}, {1, 10}, {1, -1}}));
  ASSERT_EQ(job.notices.size(), 1U);
  EXPECT_NE(job.notices[0].find("found deeper"), std::string::npos) << job.notices[0];
}

TEST_F(JobTest, TracesNamedTwiceCountOnceWithANotice) {
  const std::string path = Write("rank0.json", 0);
  Write("rank1.json", 1);
  std::filesystem::create_symlink(path, folder_.File("link.json"));
  const Job job = FindJob({root(), path, folder_.File("link.json"), root() + "/../job/rank0.json"});
  EXPECT_EQ(job.traces.size(), 2U);
  EXPECT_EQ(job.repeated.size(), 3U);
  EXPECT_NE(DescribeRepeated(job.repeated).find("rank0.json"), std::string::npos);
}

TEST_F(JobTest, NumbersStayWhenMoreComes) {
  Write("rank1.json", 1);
  Job job = FindJob({root()});
  const std::string zero = Write("rank0.json", 0);
  EXPECT_EQ(Append(job, FindJob({root()})), 1U);
  EXPECT_EQ(job.repeated.size(), 1U);
  ASSERT_EQ(job.traces.size(), 2U);
  EXPECT_EQ(job.traces[0].rank, 1);
  EXPECT_EQ(job.traces[1].rank, 0);
  EXPECT_EQ(job.traces[1].number, 1);
  EXPECT_EQ(IndexOf(job, zero), 1U);
  EXPECT_FALSE(IndexOf(job, folder_.File("none")));
}

TEST_F(JobTest, WhereNothingIsFoundTheOthersAreKept) {
  Write("rank0.json", 0);
  const Job job = FindJob({folder_.File("none"), root()});
  EXPECT_EQ(job.traces.size(), 1U);
  ASSERT_EQ(job.failures.size(), 1U);
  EXPECT_EQ(FindWholeJob({folder_.File("none"), root()}).status().message(),
            job.failures[0].message());
  const Job refused = FindJob(
      {root()}, {.allow = [](const std::string&) { return base::PermissionDeniedError("no"); }});
  EXPECT_TRUE(refused.traces.empty());
  EXPECT_EQ(refused.failures.size(), 1U);
}

TEST_F(JobTest, CopiesOfATraceCountOnce) {
  const std::string path = Write("rank0.json", 0);
  Write("rank1.json", 1);
  std::filesystem::create_directories(root() + "/copy");
  std::filesystem::copy(path, root() + "/copy/rank0.json");
  const auto opened = OpenAll(FindJob({root()}));
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  EXPECT_TRUE(opened->is_whole);
  EXPECT_EQ(opened->store->Query("SELECT count(*) FROM slice")->Int(0, 0), 2);
  EXPECT_TRUE(std::any_of(notices_.begin(), notices_.end(), [](const std::string& line) {
    return line.find("is the same trace") != std::string::npos;
  }));
}

TEST_F(JobTest, ACommonReasonIsReportedOnce) {
  std::vector<TraceFailure> failures;
  for (const char* path : {"/a", "/b", "/c"}) {
    failures.push_back({path, base::CorruptDataError(base::Concat("cannot open '", path, "'"))});
  }
  failures.push_back({"/d", base::NotFoundError("other")});
  const std::vector<std::string> lines = DescribeFailures(failures);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0], "cannot open '/a' (the same of /b, /c)");
  EXPECT_EQ(lines[1], "/d: other");
}

TEST_F(JobTest, OneFailureIsNotTheEnd) {
  std::vector<Trace> traces(5);
  for (size_t i = 0; i < traces.size(); ++i) traces[i].source.path = std::to_string(i);
  std::vector<int> called(traces.size());
  const auto failures =
      ForEach(traces, {.at_a_time = 2}, [&](const Trace&, size_t place) -> Status {
        ++called[place];
        return place == 1 || place == 3 ? base::InternalError("x") : Status();
      });
  EXPECT_EQ(called, std::vector<int>(5, 1));
  ASSERT_EQ(failures.size(), 2U);
  EXPECT_EQ(failures[0].path, "1");
  EXPECT_EQ(failures[1].path, "3");
  int begun = 0;
  const auto cancelled =
      ForEach(traces, {.at_a_time = 1, .is_cancelled = [&] { return begun == 2; }},
              [&](const Trace&, size_t) -> Status {
                ++begun;
                return {};
              });
  EXPECT_EQ(begun, 2);
  ASSERT_EQ(cancelled.size(), 3U);
  EXPECT_EQ(cancelled[0].why.code(), base::StatusCode::kCancelled);
}

// Ranks stand in the names only, in a form that is not read as one.
TEST_F(JobTest, FilesOfAServerWithoutRanksAreOneRun) {
  const Job job = FindJob({SharedData() + "/field/14-serving-folder"});
  ASSERT_EQ(job.traces.size(), 4U);
  for (const Trace& trace : job.traces) {
    EXPECT_EQ(trace.run, 0);
    EXPECT_EQ(trace.rank, -1);
  }
  EXPECT_EQ(job.unread.size(), 1U);  // expected.txt
}

}  // namespace
}  // namespace sonde::job
