#include "serve/handlers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/files.h"
#include "base/host/json.h"
#include "base/strings.h"
#include "base/test_folder.h"
#include "importers/capture/testing/capture_builder.h"

namespace sonde::serve {
namespace {

using base::Concat;
using importers::testing::CaptureBuilder;

class HandlersTest : public ::testing::Test {
 protected:
  // Two ranks; in each an op of 1000 ns holds two of 300 ns, and a broken trace is next to them.
  void SetUp() override {
    ASSERT_TRUE(base::MakeDirectories(folder_.File("ranks")).ok());
    for (int rank = 0; rank < 2; ++rank) WriteRank(rank);
    const std::string broken = folder_.File("broken.json");
    ASSERT_TRUE(base::WriteFileAtomically(broken, "{\"traceEvents\": [{").ok());
    const std::string ranks = folder_.File("ranks");
    session_ = std::make_unique<Session>(
        "1.2.3", std::vector<std::string>{ranks, ranks, broken, folder_.File("nothing")});
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (session_->Describe().loading && std::chrono::steady_clock::now() < deadline) {
      session_->WaitForChange(session_->revision());
    }
    ASSERT_FALSE(session_->Describe().loading);
  }

  void WriteRank(int rank) {
    CaptureBuilder capture;
    capture.Thread(1, 4242, 1, "main");
    capture.Metadata("rank", std::to_string(rank));
    const auto op = [&](uint64_t begin, uint64_t end, const char* name) {
      capture.Add(1, CaptureBuilder::Range{.kind = capture::RecordKind::kOp,
                                           .begin = begin,
                                           .end = end,
                                           .name = capture.Name(name)});
    };
    op(1000, 2000, "outer");
    op(1100, 1400, "inner");
    op(1500, 1800, "inner_50%");
    capture.Flush(1);
    capture.End(capture::StopReason::kStopped, 0);
    ASSERT_TRUE(
        capture.Write(folder_.File(Concat("ranks/h_", std::to_string(rank), "_1_ascend_pt"))).ok());
  }

  Result<HttpAnswer> Ask(const std::string& path, std::map<std::string, std::string> parameters,
                         const std::string& body = "", const std::string& method = "GET") {
    HttpRequest request;
    request.method = method;
    request.path = path;
    request.parameters = std::move(parameters);
    request.body = body;
    return Answer(*session_, request);
  }

  std::string Body(const std::string& path, std::map<std::string, std::string> parameters,
                   const std::string& body = "", const std::string& method = "GET") {
    const auto answer = Ask(path, std::move(parameters), body, method);
    if (!answer.ok()) return Concat("failed: ", answer.status().message());
    if (answer->file == nullptr) return answer->body;
    std::string content(answer->file->size(), '\0');
    return answer->file->Read(0, content) ? content : "failed: cannot read the file";
  }

  // Begin and end of a window that holds everything.
  std::map<std::string, std::string> All(std::map<std::string, std::string> more) {
    const TraceMessage trace = session_->Describe().traces[0];
    more["begin"] = std::to_string(trace.begin);
    more["end"] = std::to_string(trace.end);
    return more;
  }

  int32_t TrackOf(int trace) {
    const SessionMessage session = session_->Describe();
    for (const TrackMessage& track : session.traces[static_cast<size_t>(trace)].tracks) {
      if (track.slices == 3) return track.id;
    }
    return -1;
  }
  std::string Lane(int trace) {
    return Concat(std::to_string(trace), ":", std::to_string(TrackOf(trace)), ":2");
  }

  base::TestFolder folder_;
  std::unique_ptr<Session> session_;
};

TEST_F(HandlersTest, GivesAdviceInTheLanguage) {
  const std::string english = "metadata that is not valid JSON was left out";
  EXPECT_NE(Body("/api/advice", {{"lang", "zh"}})
                .find(Concat("{\"advice\":\"", english, "\",\"text\":\"不是合法")),
            std::string::npos);
  EXPECT_NE(Body("/api/advice", {{"lang", "en"}})
                .find(Concat("{\"advice\":\"", english, "\",\"text\":\"", english)),
            std::string::npos);
}

TEST_F(HandlersTest, RunsModesOfManyRanks) {
  EXPECT_EQ(Ask("/api/cluster", {{"mode", "nonsense"}}).status().code(),
            base::StatusCode::kNotFound);
  // Both ranks were looked at; neither has what this mode needs, which is reported.
  const std::string without = Body("/api/cluster", {{"mode", "slow_rank"}});
  EXPECT_NE(without.find("\"missing\":\"no rank holds what 'slow_rank' is made from"),
            std::string::npos);
  EXPECT_NE(without.find("{\"rank\":1,\"trace\":1,\"empty\":false,\"error\":\"\"}"),
            std::string::npos);
  EXPECT_NE(without.find("\"tables\":[]"), std::string::npos);
}

TEST_F(HandlersTest, ComparesTwoTraces) {
  EXPECT_EQ(Ask("/api/compare", {{"base", "0"}}).status().code(),
            base::StatusCode::kInvalidArgument);
  EXPECT_EQ(Ask("/api/compare", {{"base", "0"}, {"comparison", "99"}}).status().code(),
            base::StatusCode::kNotFound);
  const std::string same = Body("/api/compare", {{"base", "0"}, {"comparison", "0"}});
  EXPECT_NE(same.find("{\"base\":0,\"comparison\":0,\"missing\":\"\""), std::string::npos) << same;
  for (const char* table : {"compare_stage", "compare_cause", "compare_tree", "compare_request",
                            "compare_distribution", "compare_memory", "compare_call"}) {
    EXPECT_NE(same.find(Concat("{\"name\":\"", table, "\"")), std::string::npos) << table;
  }
  EXPECT_NE(Body("/api/compare", {{"base", "0"}, {"comparison", "1"}, {"lang", "zh"}}).find("基线"),
            std::string::npos);
}

TEST_F(HandlersTest, AdvisesOnOneTraceOrAllRanks) {
  EXPECT_EQ(Ask("/api/advisor", {{"trace", "99"}}).status().code(), base::StatusCode::kNotFound);
  EXPECT_EQ(Ask("/api/advisor", {{"trace", "0"}, {"base", "99"}}).status().code(),
            base::StatusCode::kNotFound);
  const std::string one = Body("/api/advisor", {{"trace", "1"}, {"lang", "en"}});
  EXPECT_EQ(one.find("{\"missing\":\"\",\"advice\":["), 0U) << one;
  EXPECT_NE(one.find("\"rule\":\"memory_growth\",\"why\":\""), std::string::npos)
      << "what a trace lacks for a rule is named: " << one;
  const std::string all = Body("/api/advisor", {{"lang", "zh"}});
  EXPECT_EQ(all.find("{\"missing\":\"\",\"advice\":["), 0U) << all;
}

TEST_F(HandlersTest, SessionListsFoundAndIgnoredPaths) {
  const SessionMessage session = session_->Describe();
  EXPECT_EQ(session.version, "1.2.3");
  ASSERT_EQ(session.traces.size(), 3U) << "a path that was named twice is opened once";
  for (int i = 0; i < 2; ++i) {
    const TraceMessage& trace = session.traces[static_cast<size_t>(i)];
    EXPECT_EQ(trace.state, "ready") << trace.message;
    EXPECT_EQ(trace.rank, i);
    EXPECT_EQ(trace.end - trace.begin, 1000);
  }
  EXPECT_EQ(session.traces[0].slices, 3) << "tasks of the CPU are no slices of their own";
  EXPECT_EQ(session.traces[2].slices, 0);
  EXPECT_TRUE(session.traces[2].issues > 0 || !session.traces[2].message.empty());
  ASSERT_EQ(session.notes.size(), 2U);
  EXPECT_NE(session.notes[0].find("nothing"), std::string::npos);
  EXPECT_NE(session.notes[1].find("named more than once"), std::string::npos);
}

TEST_F(HandlersTest, WindowHoldsTheSlices) {
  const auto answer = Ask("/api/window", All({{"lanes", Lane(0)}, {"pixel", "1"}}));
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  const std::string& body = answer->body;
  uint32_t head[6];
  ASSERT_GE(body.size(), sizeof(head));
  std::memcpy(head, body.data(), sizeof(head));
  EXPECT_EQ(head[0], 0x31574453U);
  EXPECT_EQ(head[1], 2U) << "two depths";
  EXPECT_EQ(head[5], 1U) << "one slice at depth 0";
  double begin = 0;
  double dur = 0;
  std::memcpy(&begin, body.data() + 24, sizeof(begin));
  std::memcpy(&dur, body.data() + 32, sizeof(dur));
  EXPECT_EQ(begin, static_cast<double>(session_->Describe().traces[0].begin));
  EXPECT_EQ(dur, 1000);
}

TEST_F(HandlersTest, TasksOfACpuHaveALaneOfTheirStream) {
  const SessionMessage session = session_->Describe();
  const auto& tracks = session.traces[0].tracks;
  const auto stream = std::find_if(tracks.begin(), tracks.end(), [](const TrackMessage& track) {
    return track.kind == "stream";
  });
  ASSERT_NE(stream, tracks.end());
  EXPECT_EQ(stream->depths, 1);
  EXPECT_EQ(stream->slices, 3) << "every op";
  const std::string lane = Concat("0:", std::to_string(stream->id), ":1");
  const auto answer = Ask("/api/window", All({{"lanes", lane}, {"pixel", "1"}}));
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  int32_t task = -1;
  std::memcpy(&task, answer->body.data() + 24 + 3 * 16, sizeof(task));
  // A click there selects the slice of the host; an arrow leads from it to the lane.
  const std::string slice = Body("/api/slice", {{"trace", "0"}, {"id", std::to_string(task)}});
  EXPECT_NE(slice.find(R"("name":"outer")"), std::string::npos) << slice;
  EXPECT_NE(slice.find(Concat(R"("kind":"task","out":true,"slice":{"trace":0,"id":)",
                              std::to_string(task), R"(,"track":)", std::to_string(stream->id))),
            std::string::npos)
      << slice;
  const std::string area = Body("/api/area", All({{"lanes", lane}}));
  EXPECT_NE(area.find(R"("slices":3)"), std::string::npos) << area;
}

TEST_F(HandlersTest, SliceHasSelfTimeAndParents) {
  const auto document =
      base::JsonDocument::Parse(Body("/api/search", {{"q", "INNER"}, {"trace", "0"}}), "search");
  ASSERT_TRUE(document.ok());
  EXPECT_EQ(document->root().GetInt("total", 0).value_or(-1), 2);
  const int64_t inner = document->root()["slices"][size_t{0}].GetInt("id", -1).value_or(-1);
  const auto slice = base::JsonDocument::Parse(
      Body("/api/slice", {{"trace", "0"}, {"id", std::to_string(inner)}}), "slice");
  ASSERT_TRUE(slice.ok());
  const auto outer = slice->root()["ancestors"][size_t{0}];
  EXPECT_EQ(outer.GetString("name", "").value_or(""), "outer");
  const std::string id = std::to_string(outer.GetInt("id", -1).value_or(-1));
  const std::string body = Body("/api/slice", {{"trace", "0"}, {"id", id}});
  EXPECT_NE(body.find("\"self\":400,\"children\":2"), std::string::npos) << body;
  const std::string next =
      Body("/api/neighbour", {{"trace", "0"}, {"id", std::to_string(inner)}, {"step", "1"}});
  EXPECT_NE(next.find("inner_50%"), std::string::npos) << next;
}

TEST_F(HandlersTest, SearchTakesWordsAndExpressions) {
  const auto total = [&](std::map<std::string, std::string> parameters) {
    const auto document =
        base::JsonDocument::Parse(Body("/api/search", std::move(parameters)), "search");
    return document.ok() ? document->root().GetInt("total", -1).value_or(-1) : -1;
  };
  EXPECT_EQ(total({{"q", "inner"}}), 4) << "both ranks";
  EXPECT_EQ(total({{"q", "%"}}), 2) << "no wild card";
  EXPECT_EQ(total({{"q", "^in.*r$"}, {"regex", "1"}}), 2);
  EXPECT_EQ(total({{"q", "INNER"}, {"case", "1"}}), 0);
  EXPECT_EQ(total({{"q", "Inner"}, {"whole", "1"}}), 2);
  EXPECT_EQ(total({{"q", "it's"}}), 0);
  EXPECT_FALSE(Ask("/api/search", {{"q", "("}, {"regex", "1"}}).ok());
  EXPECT_FALSE(Ask("/api/search", {}).ok());
}

TEST_F(HandlersTest, AreaSumsOverRanks) {
  const std::string lanes = Concat(Lane(0), ",", Lane(1));
  const std::string body = Body("/api/area", All({{"lanes", lanes}}));
  EXPECT_NE(body.find(R"("slices":6)"), std::string::npos) << body;
  EXPECT_NE(
      body.find(R"({"name":"outer","count":2,"total":2000,"self":800,"min":1000,"max":1000})"),
      std::string::npos)
      << body;
  const std::string list = Body("/api/occurrences", All({{"lanes", lanes}, {"name", "inner"}}));
  EXPECT_NE(list.find(R"("total":2)"), std::string::npos) << list;
  const std::string flame = Body("/api/flame", All({{"lanes", lanes}}));
  EXPECT_NE(flame.find(R"({"parent":-1,"name":"outer","total":2000,"self":800,"count":2})"),
            std::string::npos)
      << flame;
}

// From the middle of the first inner op to the middle of the second: 150 of outer's 1000 ns lie
// before, 350 behind; what ended before, or begins behind, is not in it.
TEST_F(HandlersTest, SumsOfAWindowCountOnlyTheWindow) {
  const int64_t zero = session_->Describe().traces[0].begin;
  const auto in = [&](int64_t begin, int64_t end) {
    return std::map<std::string, std::string>{{"lanes", Lane(0)},
                                              {"begin", std::to_string(zero + begin)},
                                              {"end", std::to_string(zero + end)}};
  };
  const std::string area = Body("/api/area", in(250, 650));
  EXPECT_NE(area.find(R"({"name":"outer","count":1,"total":400,"self":100,"min":400,"max":400})"),
            std::string::npos)
      << area;
  EXPECT_NE(area.find(R"({"name":"inner","count":1,"total":150,"self":150,"min":150,"max":150})"),
            std::string::npos)
      << area;
  const std::string flame = Body("/api/flame", in(250, 650));
  EXPECT_NE(flame.find(R"({"parent":-1,"name":"outer","total":400,"self":100,"count":1})"),
            std::string::npos)
      << flame;
  // A slice that ends where the window begins lies outside of it.
  const std::string after = Body("/api/area", in(400, 450));
  EXPECT_EQ(after.find("inner"), std::string::npos) << after;
  EXPECT_EQ(Body("/api/occurrences",
                 [&] {
                   auto more = in(400, 450);
                   more["name"] = "inner";
                   return more;
                 }())
                .find(R"("total":0)"),
            1U);
}

TEST_F(HandlersTest, StatementsReadOnlyTheTraces) {
  const auto sql = [&](const std::string& text, const std::string& trace = "0") {
    return Body("/api/sql", {{"trace", trace}}, text, "POST");
  };
  EXPECT_NE(sql("SELECT count(*) AS n FROM slice").find(R"("rows":[[3]])"), std::string::npos);
  EXPECT_NE(sql("SELECT count(*) FROM slice", "-1").find("[[6]]"), std::string::npos);
  EXPECT_NE(sql("SELECT 9007199254740993, NULL, 1.5, 'a\"b', true")
                .find(R"([["9007199254740993",null,1.5,"a\"b",true]])"),
            std::string::npos)
      << sql("SELECT 9007199254740993, NULL, 1.5, 'a\"b', true");
  EXPECT_NE(sql("SELECT 12345678901234567890123::HUGEINT").find("12345678901234567890123"),
            std::string::npos);
  EXPECT_TRUE(sql("SELEC").starts_with("failed: "));
  for (const char* writing : {"DELETE FROM slice_", "DETACH r0", "DROP VIEW slice",
                              "EXPLAIN ANALYZE DROP VIEW slice", "CALL enable_logging()"}) {
    EXPECT_TRUE(sql(writing).starts_with("failed: statements here only read: ")) << sql(writing);
  }
  EXPECT_NE(sql("SELECT count(*) AS n FROM slice").find(R"("rows":[[3]])"), std::string::npos);
  EXPECT_TRUE(sql("SELECT * FROM read_text('/etc/passwd')").starts_with("failed: "));
  EXPECT_TRUE(sql("COPY slice_ TO '" + folder_.File("out") + "'").starts_with("failed: "));
  const std::string limited = Body("/api/sql", {{"trace", "0"}, {"limit", "2"}},
                                   "SELECT slice_id FROM slice ORDER BY 1", "POST");
  EXPECT_NE(limited.find(R"("rows":[[0],[1]],"complete":false)"), std::string::npos) << limited;
}

TEST_F(HandlersTest, ExportsRowsAsFiles) {
  const auto file = [&](const std::string& format, const std::string& sql) {
    return Body("/api/export", {{"trace", "0"}, {"format", format}}, sql, "POST");
  };
  const std::string sql = "SELECT 1 AS a, 'x,y' AS b, 9007199254740993 AS c -- and a comment";
  EXPECT_EQ(file("csv", sql), "a,b,c\n1,\"x,y\",9007199254740993\n");
  EXPECT_TRUE(file("xlsx", sql).starts_with("PK"));
  const std::string parquet = file("parquet", Concat(sql, "\n;\n"));
  EXPECT_TRUE(parquet.starts_with("PAR1")) << parquet;
  EXPECT_TRUE(parquet.ends_with("PAR1"));
  for (const std::string format : {"csv", "xlsx", "parquet"}) {
    EXPECT_TRUE(file(format, "SELEC").starts_with("failed: ")) << format;
    EXPECT_TRUE(file(format, "DELETE FROM slice_").starts_with("failed: ")) << format;
  }
  EXPECT_TRUE(file("pdf", sql).starts_with("failed: "));
}

TEST_F(HandlersTest, OpensMoreInsideOfItsFoldersOnly) {
  EXPECT_FALSE(Ask("/api/open", {{"path", "/etc"}}, "", "POST").ok()) << "it has no root";
  Session session("", {}, {folder_.File("ranks")});
  const auto ask = [&](const std::string& path, const std::string& of, const char* method) {
    HttpRequest request;
    request.method = method;
    request.path = path;
    request.parameters = {{"path", of}};
    return Answer(session, request);
  };
  EXPECT_FALSE(session.Describe().loading);
  for (const std::string& path :
       {std::string("/etc"), folder_.File("ranks/.."), folder_.File("broken.json"),
        folder_.File("ranks/none"), std::string(), folder_.File("ranks/../broken.json")}) {
    EXPECT_FALSE(ask("/api/open", path, "POST").ok()) << path;
    EXPECT_FALSE(ask("/api/browse", path, "GET").ok()) << path;
  }
  const auto listed = ask("/api/browse", folder_.File("ranks"), "GET");
  ASSERT_TRUE(listed.ok()) << listed.status().message();
  EXPECT_NE(listed->body.find(R"("name":"h_1_1_ascend_pt","folder":true,"format":"captures)"),
            std::string::npos)
      << listed->body;
  ASSERT_TRUE(ask("/api/open", folder_.File("ranks/h_1_1_ascend_pt"), "POST").ok());
  EXPECT_TRUE(session.Describe().loading);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (session.Describe().loading && std::chrono::steady_clock::now() < deadline) {
    session.WaitForChange(session.revision());
  }
  ASSERT_EQ(session.Describe().traces.size(), 1U);
  EXPECT_EQ(session.Describe().traces[0].state, "ready");
  EXPECT_EQ(session.Describe().traces[0].version, 1);
}

TEST_F(HandlersTest, FlameGraphOfStacksIsEmptyWithoutStacks) {
  EXPECT_EQ(Body("/api/flame", All({{"lanes", Lane(0)}, {"from", "stacks"}})),
            R"({"complete":true,"nodes":[]})");
}

TEST_F(HandlersTest, WithoutProgramsThereIsNothingToRecord) {
  EXPECT_FALSE(Ask("/api/live", {}).ok());
  EXPECT_FALSE(Ask("/api/live/start", {}, "", "POST").ok());
  EXPECT_EQ(Body("/api/progress", {}), "[]");
}

TEST_F(HandlersTest, SlowStatementBlocksNoPanAndCanBeCancelled) {
  std::string ended;
  std::jthread slow([&] {
    ended = Body("/api/sql", {{"trace", "0"}, {"id", "q1"}},
                 "SELECT count(*) FROM range(1000000000) a, range(1000000000) b", "POST");
  });
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(Ask("/api/window", All({{"lanes", Lane(0)}, {"pixel", "1"}})).ok());
  }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!Ask("/api/cancel", {{"id", "q1"}}, "", "POST").ok() &&
         std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  slow.join();
  EXPECT_EQ(ended, "failed: the statement was cancelled");
  EXPECT_FALSE(Ask("/api/cancel", {{"id", "q1"}}, "", "POST").ok());
}

TEST_F(HandlersTest, NamesComeInTheOrderAskedFor) {
  const auto answer = Ask("/api/window", All({{"lanes", Lane(0)}, {"pixel", "1"}}));
  ASSERT_TRUE(answer.ok());
  int32_t name = -1;
  std::memcpy(&name, answer->body.data() + 44, sizeof(name));
  EXPECT_EQ(Body("/api/names", {{"ids", Concat("0:999999.", std::to_string(name))}}),
            R"(["","outer"])");
}

TEST_F(HandlersTest, WrongParametersAreRefused) {
  const std::string many(40'000, ',');
  for (const std::string& lanes : {std::string("0"), std::string("a:b"), std::string("0:1:2:3"),
                                   std::string("-1:0:1"), std::string("0:99999999999:1"), many}) {
    EXPECT_FALSE(Ask("/api/window", All({{"lanes", lanes}, {"pixel", "1"}})).ok())
        << lanes.substr(0, 9);
  }
  EXPECT_FALSE(Ask("/api/window", {{"lanes", Lane(0)}, {"pixel", "1"}}).ok());
  EXPECT_FALSE(Ask("/api/window", All({{"lanes", Lane(0)}, {"pixel", "0"}})).ok());
  EXPECT_FALSE(Ask("/api/window",
                   {{"lanes", Lane(0)}, {"pixel", "1"}, {"begin", "0"}, {"end", "1000000000"}})
                   .ok());
  EXPECT_FALSE(
      Ask("/api/window", {{"lanes", Lane(0)}, {"pixel", "1"}, {"begin", "9"}, {"end", "1"}}).ok());
  EXPECT_FALSE(Ask("/api/slice", {{"trace", "7"}, {"id", "0"}}).ok());
  EXPECT_FALSE(Ask("/api/slice", {{"trace", "0"}, {"id", "99999"}}).ok());
  EXPECT_FALSE(Ask("/api/names", {{"trace", "0"}, {"ids", "1,x"}}).ok());
  EXPECT_FALSE(Ask("/api/recipe", {{"trace", "0"}, {"name", "none"}}).ok());
  EXPECT_FALSE(Ask("/api/unknown", {}).ok());
  EXPECT_FALSE(Ask("/../../etc/passwd", {}).ok());
  EXPECT_FALSE(Ask("/app.js.map", {}).ok());
}

TEST_F(HandlersTest, ResultsComeWithTheirMeaningAndALimit) {
  const auto all = Ask("/api/recipe", {{"trace", "0"}, {"name", "lane_depth"}});
  ASSERT_TRUE(all.ok()) << all.status().message();
  EXPECT_NE(all->body.find(R"("name":"slice_id","type":"integer","unit":"","role":"key")"),
            std::string::npos)
      << all->body.substr(0, 300);
  EXPECT_NE(all->body.find(R"("complete":true)"), std::string::npos);
  const auto cut = Ask("/api/recipe", {{"trace", "0"}, {"name", "lane_depth"}, {"limit", "1"}});
  ASSERT_TRUE(cut.ok()) << cut.status().message();
  EXPECT_NE(cut->body.find(R"("rows":[[0,0]],"complete":false)"), std::string::npos) << cut->body;
  const auto list = Ask("/api/recipes", {});
  ASSERT_TRUE(list.ok());
  EXPECT_NE(list->body.find(R"({"name":"op_statistic")"), std::string::npos);
  const auto sql = Ask("/api/sql", {{"trace", "0"}}, "SELECT count(*) FROM lane_depth", "POST");
  ASSERT_TRUE(sql.ok()) << sql.status().message();
}

TEST_F(HandlersTest, FindingsSpeakTheLanguageThatIsAsked) {
  const auto english = Ask("/api/findings", {{"lang", "en"}});
  ASSERT_TRUE(english.ok()) << english.status().message();
  const auto chinese = Ask("/api/findings", {{"lang", "zh"}});
  ASSERT_TRUE(chinese.ok()) << chinese.status().message();
  ASSERT_NE(english->body.find(R"("rule":")"), std::string::npos) << english->body;
  EXPECT_NE(english->body, chinese->body);
}

TEST_F(HandlersTest, EventsHaveTheRevisionAndEnd) {
  auto answer = Ask("/api/events", {});
  ASSERT_TRUE(answer.ok());
  std::string piece;
  EXPECT_TRUE(answer->stream(piece));
  EXPECT_EQ(piece, Concat("data: ", std::to_string(session_->revision()), "\n\n"));
  session_->Stop();
  EXPECT_FALSE(answer->stream(piece));
}

}  // namespace
}  // namespace sonde::serve
