// Many small traces: they lie in packs, and are asked like others.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "base/check.h"
#include "base/files.h"
#include "base/host/json.h"
#include "base/strings.h"
#include "base/test_folder.h"
#include "serve/databases.h"
#include "serve/handlers.h"

namespace sonde::serve {
namespace {

using base::Concat;

constexpr int kTraces = 70;  // more than one pack

class PackedTest : public ::testing::Test {
 protected:
  // Each rank has an operator of 100 us and a kernel of 10 + rank us; one file is broken, and one
  // the copy of another.
  void SetUp() override {
    ::setenv("XDG_CACHE_HOME", folder_.File("cache").c_str(), 1);
    ASSERT_TRUE(base::MakeDirectories(folder_.File("job")).ok());
    for (int rank = 0; rank < kTraces; ++rank) Write(Concat("r", std::to_string(rank)), rank);
    Write("r9_copy", 9);
    ASSERT_TRUE(base::WriteFileAtomically(folder_.File("job/z.json"), "{\"traceEvents\": [{").ok());
    session_ = std::make_unique<Session>("1.2.3", std::vector<std::string>{folder_.File("job")});
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(120);
    while (session_->Describe().loading && std::chrono::steady_clock::now() < deadline) {
      session_->WaitForChange(session_->revision());
    }
    ASSERT_FALSE(session_->Describe().loading);
  }

  void Write(const std::string& name, int rank) {
    const std::string text = Concat(
        "{\"distributedInfo\":{\"rank\":", std::to_string(rank), "},\"traceEvents\":[\n",
        R"({"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":1000,"dur":100},)", "\n",
        R"({"ph":"X","cat":"kernel","name":"mm_kernel","pid":0,"tid":7,"ts":1010,"dur":)",
        std::to_string(10 + rank), ",\"args\":{\"stream\":7,\"of_rank\":", std::to_string(rank),
        "}}]}");
    ASSERT_TRUE(base::WriteFileAtomically(folder_.File(Concat("job/", name, ".json")), text).ok());
  }

  std::string Ask(const std::string& path, std::map<std::string, std::string> parameters,
                  const std::string& body = "") {
    HttpRequest request;
    request.method = body.empty() ? "GET" : "POST";
    request.path = path;
    request.parameters = std::move(parameters);
    request.body = body;
    const auto answer = Answer(*session_, request);
    EXPECT_TRUE(answer.ok()) << path << ": " << answer.status().message();
    return answer.ok() ? answer->body : "";
  }

  const TraceMessage& OfRank(int rank) {
    described_ = session_->Describe();
    const auto found = std::find_if(described_.traces.begin(), described_.traces.end(),
                                    [&](const TraceMessage& trace) { return trace.rank == rank; });
    CHECK(found != described_.traces.end(), "the rank is there");
    return *found;
  }

  base::TestFolder folder_;
  SessionMessage described_;
  std::unique_ptr<Session> session_;
};

TEST_F(PackedTest, IsDescribedAndAskedLikeOthers) {
  int ready = 0;
  for (const TraceMessage& trace : session_->Describe().traces) {
    if (trace.slices == 0) continue;
    ++ready;
    EXPECT_EQ(trace.state, "ready");
    EXPECT_EQ(trace.slices, 2) << trace.path;
    EXPECT_EQ(trace.end - trace.begin, 100'000) << trace.path;
  }
  EXPECT_EQ(ready, kTraces + 1);
  for (const TraceMessage& trace : session_->Describe().traces) {
    const bool is_whole = trace.name != "z.json";
    EXPECT_EQ(trace.issues == 0 && trace.message.empty(), is_whole) << trace.path;
  }

  const TraceMessage& trace = OfRank(65);
  const std::string id = std::to_string(trace.id);
  const std::string kernel =
      Ask("/api/sql", {{"trace", id}}, "SELECT slice_id, dur FROM slice WHERE name = 'mm_kernel'");
  const auto rows = base::JsonDocument::Parse(kernel, "answer");
  ASSERT_TRUE(rows.ok()) << kernel;
  const base::JsonValue row = rows->root()["rows"][0];
  EXPECT_EQ(*row[1].AsInt(), 75'000) << kernel;
  const std::string slice =
      Ask("/api/slice", {{"trace", id}, {"id", std::to_string(*row[0].AsInt())}});
  EXPECT_NE(slice.find("\"dur\":75000"), std::string::npos) << slice;
  EXPECT_NE(slice.find("\"key\":\"of_rank\",\"value\":\"65\""), std::string::npos) << slice;
  // The names of a pack are those of all its traces, rows are not.
  const std::string hits = Ask("/api/search", {{"q", "mm_kernel"}, {"trace", id}});
  EXPECT_NE(hits.find("\"total\":1,"), std::string::npos) << hits;
  EXPECT_NE(Ask("/api/search", {{"q", "mm_kernel"}})
                .find(Concat("\"total\":", std::to_string(kTraces + 1))),
            std::string::npos);
}

TEST_F(PackedTest, ResultsOfManyComeInOneAnswer) {
  const size_t count = session_->Describe().traces.size();
  const std::string body = Ask("/api/results", {{"traces", Concat("0-", std::to_string(count - 1))},
                                                {"name", "op_statistic"}});
  const auto message = base::JsonDocument::Parse(body, "answer");
  ASSERT_TRUE(message.ok()) << body;
  const auto parts = message->root()["parts"].Elements();
  ASSERT_EQ(parts.size(), count);
  int with_rows = 0;
  for (const base::JsonValue& part : parts) {
    if (part["rows"].Size() == 0) continue;
    ++with_rows;
    const auto id = static_cast<size_t>(*part["trace"].AsInt());
    const int32_t rank = session_->Describe().traces[id].rank;
    EXPECT_EQ(*part["rows"][0][5].AsInt(), (10 + rank) * 1000);
  }
  EXPECT_EQ(with_rows, kTraces + 1);
  const std::string none = Ask("/api/results", {{"traces", "0,5000"}, {"name", "op_statistic"}});
  EXPECT_NE(none.find("there is no trace 5000"), std::string::npos) << none;
  // The result of an analysis of a single one is the same.
  const std::string one = Ask("/api/recipe", {{"trace", "3"}, {"name", "op_statistic"}});
  EXPECT_EQ(base::JsonDocument::Parse(one, "answer")->root()["rows"].Size(), 1U) << one;
}

TEST_F(PackedTest, ACopyCountsOnceInStatementsOverAll) {
  const std::string all = Ask("/api/sql", {{"trace", "-1"}}, "SELECT count(*) FROM slice");
  EXPECT_NE(all.find(Concat("[[", std::to_string(2 * kTraces), "]]")), std::string::npos) << all;
  const std::string sums = Ask("/api/sql", {{"trace", "-1"}},
                               "SELECT count(*), sum(total_ns)::BIGINT FROM op_statistic");
  EXPECT_NE(sums.find(Concat("[[", std::to_string(kTraces), ",")), std::string::npos) << sums;
  const std::string own = Ask("/api/sql", {{"trace", "3"}}, "SELECT count(*) FROM op_statistic");
  EXPECT_NE(own.find("[[1]]"), std::string::npos) << own;
}

TEST_F(PackedTest, TablesOfModesAreOfAllRanksOrOfOne) {
  constexpr std::string_view kSql =
      "SELECT count(*), count(DISTINCT rank), max(rank) FROM kernel_time";
  const std::string all = Ask("/api/sql", {{"trace", "-1"}}, std::string(kSql));
  const std::string ranks = std::to_string(kTraces);
  EXPECT_NE(all.find(Concat("[[", ranks, ",", ranks, ",", std::to_string(kTraces - 1), "]]")),
            std::string::npos)
      << all;
  const std::string own = Ask("/api/sql", {{"trace", "3"}}, std::string(kSql));
  EXPECT_NE(own.find("[[1,1,3]]"), std::string::npos) << own;
}

TEST_F(PackedTest, FindingsAreOfAll) {
  const std::string body = Ask("/api/findings", {{"lang", "en"}});
  EXPECT_TRUE(base::JsonDocument::Parse(body, "answer").ok()) << body;
  EXPECT_EQ(Ask("/api/findings", {{"lang", "en"}}), body);
}

TEST(Databases, CutsTheTablesOfAStatementToOneTrace) {
  const auto cut = [](std::string_view table) {
    return Concat("\"", table, "\" AS NOT MATERIALIZED (SELECT * EXCLUDE (trace) FROM main.\"",
                  table, "\" WHERE trace = 4)");
  };
  EXPECT_EQ(OfPlace("SELECT 1", 4), "SELECT 1");
  EXPECT_EQ(OfPlace("SELECT name_id FROM name_", 4), "SELECT name_id FROM name_");
  EXPECT_EQ(
      OfPlace("SELECT * FROM slice_ s JOIN slice_ t USING (parent_id)", 4),
      Concat("WITH ", cut("slice_"), " SELECT * FROM slice_ s JOIN slice_ t USING (parent_id)"));
  EXPECT_EQ(OfPlace("WITH a AS (SELECT * FROM slice) SELECT * FROM a, args", 4),
            Concat("WITH ", cut("slice"), ", ", cut("args"),
                   ", a AS (SELECT * FROM slice) SELECT * FROM a, args"));
}

TEST(Databases, TheLeastRecentlyUsedIsClosed) {
  Recent<const int> recent(2);
  recent.Keep("a", std::make_shared<const int>(1));
  recent.Keep("b", std::make_shared<const int>(2));
  EXPECT_EQ(*recent.Find("a"), 1);
  recent.Keep("c", std::make_shared<const int>(3));
  EXPECT_EQ(recent.Find("b"), nullptr);
  EXPECT_EQ(*recent.Find("a"), 1);
  EXPECT_EQ(recent.size(), 2U);
  // Who comes second takes what is there.
  EXPECT_EQ(*recent.Keep("a", std::make_shared<const int>(9)), 1);
  recent.Forget("a");
  EXPECT_EQ(recent.Find("a"), nullptr);
}

}  // namespace
}  // namespace sonde::serve
