#include "serve/marks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "base/files.h"
#include "base/strings.h"
#include "base/test_folder.h"
#include "serve/handlers.h"
#include "store/table_writer.h"
#include "store/zoom_open.h"

namespace sonde::serve {
namespace {

using store::ZoomSlice;

constexpr int32_t kMark = 1;  // number of the name

class MarksTest : public ::testing::Test {
 protected:
  // A track with a slice in each of two depths and 100 marks, one of them a slice, 10 ns apart; and
  // a mark that is of no track.
  void SetUp() override {
    store_ = std::move(*store::Store::Create(folder_.File("s.duckdb")));
    constexpr int32_t kWork = 0;
    auto transaction = store_->Begin();
    auto tracks = store::TableWriter<store::TrackRow>::Open(*transaction);
    tracks->Append({.track_id = 0});
    auto slices = store::TableWriter<store::SliceRow>::Open(*transaction);
    slices->Append({.slice_id = 0, .ts = 5'000, .dur = 900, .track_id = 0, .name = kWork});
    slices->Append(
        {.slice_id = 1, .ts = 5'100, .dur = 0, .track_id = 0, .name = kMark, .depth = 1});
    auto marks = store::TableWriter<store::MarkRow>::Open(*transaction);
    for (int32_t i = 0; i < 100; ++i) {
      marks->Append({.mark_id = i,
                     .ts = 5'000 + i * 10,
                     .dur = 0,
                     .track_id = i == 50 ? store::kNone : 0,
                     .message = kMark,
                     .slice_id = i == 10 ? 1 : store::kNone});
    }
    ASSERT_TRUE(tracks->Close().ok() && slices->Close().ok() && marks->Close().ok());
    ASSERT_TRUE(transaction->Commit().ok());
    ASSERT_TRUE(store_->Publish().ok());
    zoom_ = std::move(*store::OpenZoomIndex(*store_));
  }

  std::vector<ZoomSlice> Query(const Marks& marks, int32_t track, const store::ZoomWindow& window) {
    std::vector<ZoomSlice> out;
    EXPECT_TRUE(marks.Query(*store_, track, window, out).ok());
    return out;
  }

  base::TestFolder folder_;
  std::unique_ptr<store::Store> store_;
  store::ZoomIndex zoom_;
};

TEST_F(MarksTest, AreOnTheLaneBelowTheSlices) {
  Marks marks;
  ASSERT_TRUE(marks.Open(*store_, zoom_).ok());
  EXPECT_EQ(marks.DepthOf(0), 2);
  EXPECT_EQ(marks.lanes().at(0).count, 98) << "neither the slice nor that without a track";
  EXPECT_EQ(marks.no_track(), 1);
  EXPECT_EQ(marks.DepthOf(1), 0);
  EXPECT_EQ(marks.DepthOf(2), -1);
  EXPECT_EQ(marks.begin_ns(), 5'000);
  EXPECT_EQ(marks.end_ns(), 5'990);
  const auto alone = Query(marks, marks.no_track(), {0, 10'000, 1});
  ASSERT_EQ(alone.size(), 1U);
  EXPECT_EQ(alone[0].slice_id, MarkToSliceId(50));
  EXPECT_EQ(alone[0].name, kMark);
  EXPECT_TRUE(Query(marks, 7, {0, 10'000, 1}).empty());
}

TEST_F(MarksTest, AreAtMostOneAPixel) {
  Marks kept;
  Marks asked(10);
  ASSERT_TRUE(kept.Open(*store_, zoom_).ok() && asked.Open(*store_, zoom_).ok());
  for (const Marks* marks : {&kept, &asked}) {
    const auto fine = Query(*marks, 0, {5'200, 5'300, 1});
    ASSERT_EQ(fine.size(), 10U);
    EXPECT_EQ(fine[0].ts, 5'200);
    EXPECT_EQ(fine[0].dur, 0);
    EXPECT_EQ(fine[0].count, 1U);
    const auto coarse = Query(*marks, 0, {0, 10'000, 100});
    ASSERT_EQ(coarse.size(), 10U);
    uint32_t all = 0;
    for (const ZoomSlice& mark : coarse) all += mark.count;
    EXPECT_EQ(coarse[0].count, 10U);
    EXPECT_EQ(all, 98U);
  }
  EXPECT_EQ(kept.kept(), 98U);
  EXPECT_EQ(asked.kept(), 0U) << "too many to be kept";
}

TEST_F(MarksTest, InMemoryAreBounded) {
  Marks marks(100, 98);
  ASSERT_TRUE(marks.Open(*store_, zoom_).ok());
  Query(marks, 0, {0, 10'000, 1});
  EXPECT_EQ(marks.kept(), 98U);
  Query(marks, marks.no_track(), {0, 10'000, 1});
  EXPECT_EQ(marks.kept(), 1U);
}

// Instants of trace events are found, described and stepped through.
class MarksOfTrace : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string path = folder_.File("trace.json");
    ASSERT_TRUE(base::WriteFileAtomically(path, R"({"traceEvents": [
      {"ph": "X", "name": "loop", "pid": 1, "tid": 2, "ts": 10, "dur": 100},
      {"ph": "X", "name": "body", "pid": 1, "tid": 2, "ts": 20, "dur": 10},
      {"ph": "i", "name": "tick", "pid": 1, "tid": 2, "ts": 25, "s": "t", "args": {"n": 7}},
      {"ph": "i", "name": "tock", "pid": 1, "tid": 2, "ts": 60, "s": "t"},
      {"ph": "i", "name": "tick", "pid": 1, "tid": 3, "ts": 150, "s": "t"},
      {"ph": "i", "name": "far off", "pid": 1, "tid": 3, "ts": 99000, "s": "t"}]})")
                    .ok());
    session_ = std::make_unique<Session>("1.2.3", std::vector<std::string>{path});
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (session_->Describe().loading && std::chrono::steady_clock::now() < deadline) {
      session_->WaitForChange(session_->revision());
    }
    ASSERT_FALSE(session_->Describe().loading);
  }

  std::string Body(const std::string& path, std::map<std::string, std::string> parameters) {
    HttpRequest request;
    request.method = "GET";
    request.path = path;
    request.parameters = std::move(parameters);
    const auto answer = Answer(*session_, request);
    return answer.ok() ? answer->body : base::Concat("failed: ", answer.status().message());
  }

  base::TestFolder folder_;
  std::unique_ptr<Session> session_;
};

TEST_F(MarksOfTrace, AreDescribedAndFound) {
  using ::testing::HasSubstr;
  const TraceMessage trace = session_->Describe().traces[0];
  ASSERT_EQ(trace.tracks.size(), 2U);
  EXPECT_EQ(trace.tracks[0].depths, 3) << "two of slices, one of marks";
  EXPECT_EQ(trace.tracks[0].slices, 2);
  EXPECT_EQ(trace.tracks[0].marks, 2);
  EXPECT_EQ(trace.tracks[1].depths, 1);
  EXPECT_EQ(trace.tracks[1].marks, 2);
  EXPECT_EQ(trace.end - trace.begin, 100'000) << "what is far off does not stretch the axis";

  const std::string found = Body("/api/search", {{"q", "TICK"}});
  EXPECT_THAT(found, HasSubstr(R"("total":2)"));
  EXPECT_THAT(found, HasSubstr(R"("id":-2,"track":0,"name":"tick")"));
  const std::string first = Body("/api/slice", {{"trace", "0"}, {"id", "-2"}});
  EXPECT_THAT(first, HasSubstr(R"("dur":0,"depth":2)"));
  EXPECT_THAT(first, HasSubstr(R"("group":"args","key":"n","value":"7")"));
  EXPECT_THAT(first, HasSubstr(R"("name":"loop")"));
  EXPECT_THAT(first, HasSubstr(R"("name":"body")"));
  EXPECT_THAT(Body("/api/slice", {{"trace", "0"}, {"id", "-77"}}), HasSubstr("no mark 75"));

  const auto next = [&](const char* same, const char* step) {
    return Body("/api/neighbour", {{"trace", "0"}, {"id", "-2"}, {"step", step}, {"same", same}});
  };
  EXPECT_THAT(next("lane", "1"), HasSubstr(R"("id":-3,"track":0,"name":"tock")"));
  EXPECT_THAT(next("name", "1"), HasSubstr(R"("id":-4,"track":1,"name":"tick")"));
  EXPECT_THAT(next("lane", "-1"), HasSubstr(R"("total":0)"));
}

}  // namespace
}  // namespace sonde::serve
