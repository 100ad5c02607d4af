#include "cli/run_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sonde::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(RunList, KeepsCapturesThatWereNotDiscarded) {
  const RunList list = ParseRunList(
      "capture\t10\t/p/a b_ascend_pt\n"
      "capture\t11\t/p/b_ascend_pt\n"
      "discarded\t11\t/p/b_ascend_pt\n"
      "capture\t10\t/p/c_ascend_pt\n"
      "capture\t14\t/p/w_ascend_pt\n"
      "worker\t14\t/p/w_ascend_pt\n"
      "session\t9\t/p/server_9_1\n"
      "forked\t15\t/p\n"
      "forked\t16\t/p\n"
      "process\t16\t\n"
      "skipped\t12\tlauncher of torchrun\n"
      "skipped\t13\tlauncher of torchrun\n"
      "unknown\t1\tx\n"
      "nonsense\n"
      "capture\t10\t/p/cut off");
  EXPECT_THAT(list.captures, ElementsAre("/p/a b_ascend_pt", "/p/c_ascend_pt"));
  EXPECT_THAT(list.workers, ElementsAre("/p/w_ascend_pt"));
  EXPECT_THAT(list.sessions, ElementsAre("/p/server_9_1"));
  ASSERT_EQ(list.forked.size(), 2u);
  EXPECT_TRUE(list.forked[0].is_helper);
  EXPECT_FALSE(list.forked[1].is_helper);
  EXPECT_EQ(list.forked[0].pid, "15");
  EXPECT_EQ(list.forked[0].folder, "/p");
  EXPECT_THAT(list.skipped, ElementsAre("launcher of torchrun"));
  EXPECT_EQ(NothingRecordedReason(list), "");
}

TEST(RunList, EmptyOrTornListsAreNoError) {
  EXPECT_TRUE(ParseRunList("").Empty());
  EXPECT_TRUE(ParseRunList("capture\t10\t/p/a").Empty());
  EXPECT_TRUE(ParseRunList("\n\n\t\n").Empty());
}

TEST(RunList, ReportsWhyNothingWasRecorded) {
  const auto reason = [](std::string_view text) {
    return NothingRecordedReason(ParseRunList(text));
  };
  EXPECT_THAT(reason(""), HasSubstr("no Python program"));
  EXPECT_THAT(reason("noframework\t1\tpython3 a.py\n"),
              HasSubstr("'python3 a.py' imported neither torch nor mindspore"));
  EXPECT_THAT(reason("noframework\t1\ta\nnoframework\t2\ta\n"),
              HasSubstr("none of 2 Python programs"));
  EXPECT_THAT(reason("noframework\t1\ta\nskipped\t2\trank 1 is not chosen\n"),
              HasSubstr("rank 1 is not chosen"));
  EXPECT_THAT(reason("control\t1\thttp://127.0.0.1:1\n"), HasSubstr("no POST /start_profile"));
  EXPECT_THAT(reason("skipped\t2\tcompile worker of Inductor\nserver\t1\t\nnoframework\t3\ta\n"),
              HasSubstr("no session began"));
  EXPECT_THAT(reason("control\t1\tx\nfailed\t1\tno space\n"), HasSubstr("no space"));
}

TEST(RunList, NamesMissingPartsOfARecording) {
  const RunList list = ParseRunList(
      "capture\t10\t/p/a_ascend_pt\n"
      "wanted\t1\tengine steps\n"
      "wanted\t1\trequests over HTTP\n"
      "wanted\t1\tsteps of the ranks\n"
      "seam\t2\tsteps of the ranks\n"
      "lost\t3\tengine steps: KeyError: 'x'\n"
      "lost\t4\tengine steps: KeyError: 'x'\n");
  EXPECT_THAT(MissingLines(list),
              ElementsAre("not recorded: engine steps: KeyError: 'x'",
                          HasSubstr("not recorded: requests over HTTP: no process imported")));
  EXPECT_THAT(MissingLines(ParseRunList("seam\t1\ta\nwanted\t2\ta\n")), ElementsAre());
}

TEST(RunList, ADumpIsNoFailureAndARefusedSessionIsReported) {
  const auto reason = [](std::string_view text) {
    return NothingRecordedReason(ParseRunList(text));
  };
  EXPECT_EQ(reason("server\t1\t\ndump\t2\t/d\ndump\t3\t/d\n"), "dumped: /d");
  EXPECT_EQ(reason("server\t1\t\nlost\t1\tsessions: no route\n"),
            "nothing was recorded: sessions: no route");
}

TEST(RunList, ADumpOfAProgramWithoutFrameworkIsReported) {
  EXPECT_EQ(NothingDumpedReason(ParseRunList("noframework\t1\tpython3 a.py\n")),
            "nothing was dumped: the Python program 'python3 a.py' imported neither torch nor "
            "mindspore");
  EXPECT_EQ(
      NothingDumpedReason(ParseRunList("config\t1\tno level L9\nnoframework\t1\tpython3 a.py\n")),
      "nothing was dumped: the Python program 'python3 a.py' imported neither torch nor "
      "mindspore; the configuration would be refused: no level L9");
  EXPECT_EQ(NothingDumpedReason(ParseRunList("attached\t2\t\nnoframework\t1\tpip\n")), "");
  EXPECT_EQ(NothingDumpedReason(ParseRunList("")), "");
}

TEST(RunList, AServerThatDidNotStartIsReportedAsThat) {
  const auto reason = [](std::string_view text, bool has_failed) {
    return NothingRecordedReason(ParseRunList(text), has_failed);
  };
  const auto failed = HasSubstr("ended with an error before it answered a request");
  const auto idle = HasSubstr("no session began");
  EXPECT_THAT(reason("server\t1\t\n", true), failed);
  EXPECT_THAT(reason("server\t1\t\n", false), idle);
  EXPECT_THAT(reason("server\t1\t\nanswers\t1\t\n", true), idle);
}

TEST(RunList, ManyFoldersAreOneShortLine) {
  std::vector<std::string> paths;
  for (int i = 0; i < 3; ++i) paths.push_back("/p/rank" + std::to_string(i));
  EXPECT_EQ(FoldersInWords(paths), "/p/rank0, /p/rank1, /p/rank2");
  for (int i = 3; i < 58; ++i) paths.push_back("/p/rank" + std::to_string(i));
  EXPECT_EQ(FoldersInWords(paths), "58 captures in /p, the last rank57");
  paths.emplace_back("/q/rank58");
  EXPECT_EQ(FoldersInWords(paths), "59 captures in /p and 1 more, the last rank58");
}

}  // namespace
}  // namespace sonde::cli
