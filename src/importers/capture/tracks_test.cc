// Lane, depth and parent of ranges.
#include <bit>
#include <span>

#include "importers/capture/testing/import_fixture.h"
#include "store/row_tables.h"

namespace sonde::importers {
namespace {

using capture::RecordKind;
using testing::CaptureBuilder;
using testing::CaptureImportTest;
using Range = CaptureBuilder::Range;

TEST_F(CaptureImportTest, NestsOpsOfAThread) {
  CaptureBuilder c;
  c.Thread(3, 1001, 1, "main");
  const uint32_t add = c.Name("aten::add");
  const uint32_t empty = c.Name("aten::empty");
  const uint32_t linear = c.Name("aten::linear");
  // linear[100,200] { empty[110,120], add[130,190] { empty[140,150] } }, add[300,310]
  c.Add(3, Range{.begin = 110, .end = 120, .name = empty});
  c.Add(3, Range{.begin = 140, .end = 150, .name = empty});
  c.Add(3, Range{.begin = 130, .end = 190, .name = add});
  c.Flush(3);
  c.Add(3, Range{.begin = 100, .end = 200, .name = linear});
  c.Add(3, Range{.begin = 300, .end = 310, .name = add});
  c.Flush(3);
  c.Metadata("rank", "5");
  c.End(capture::StopReason::kStopped, 0);
  Import(c);
  EXPECT_EQ(Rows("SELECT slice_id, name, ts - 1700000000000000000 AS t, dur, depth, parent_id, "
                 "category FROM slice ORDER BY slice_id"),
            "0 aten::linear 100 100 0 - cpu_op\n"
            "1 aten::add 300 10 0 - cpu_op\n"
            "2 aten::empty 110 10 1 0 cpu_op\n"
            "3 aten::add 130 60 1 0 cpu_op\n"
            "4 aten::empty 140 10 2 3 cpu_op\n");
  EXPECT_EQ(Rows("SELECT slice_id, wait_ns, dur, name, op_type, core, stream_id, launch_slice_id "
                 "FROM device_task ORDER BY task_id"),
            "0 0 30 aten::linear linear CPU 0 0\n"
            "2 0 10 aten::empty empty CPU 0 2\n"
            "3 0 50 aten::add add CPU 0 3\n"
            "4 0 10 aten::empty empty CPU 0 4\n"
            "1 100 10 aten::add add CPU 0 1\n");
  EXPECT_EQ(Rows("SELECT kind, name, thread_id FROM track ORDER BY track_id"),
            "thread Thread 1001 0\nstream Stream 0 0\n");
  EXPECT_EQ(Rows("SELECT pid, rank, host FROM process"), "4242 5 host9\n");
  EXPECT_EQ(Rows("SELECT tid, name, framework_number FROM thread"), "1001 main 1\n");
  EXPECT_EQ(Rows("SELECT code FROM import_issue"), "");
  EXPECT_EQ(summary_.rank, 5);
  EXPECT_EQ(summary_.begin_ns, 1'700'000'000'000'000'100);
  EXPECT_EQ(summary_.end_ns, 1'700'000'000'000'000'310);
}

TEST_F(CaptureImportTest, EveryOpIsATaskAsLongAsItsOwnTime) {
  CaptureBuilder c;
  c.Thread(1, 11, 1, "");
  const uint32_t copy = c.Name("aten::copy_");
  // linear { t { transpose { as_strided } }, addmm { expand { as_strided }, copy_ } }, to { copy_ }
  c.Add(1, Range{.begin = 12, .end = 13, .name = c.Name("aten::as_strided")});
  c.Add(1, Range{.begin = 11, .end = 14, .name = c.Name("aten::transpose")});
  c.Add(1, Range{.begin = 10, .end = 15, .name = c.Name("aten::t")});
  c.Add(1, Range{.begin = 22, .end = 23, .name = c.Name("aten::as_strided")});
  c.Add(1, Range{.begin = 21, .end = 24, .name = c.Name("aten::expand")});
  c.Add(1, Range{.begin = 25, .end = 27, .name = copy});
  c.Add(1, Range{.begin = 20, .end = 90, .name = c.Name("aten::addmm")});
  c.Add(1, Range{.begin = 5, .end = 95, .name = c.Name("aten::linear")});
  c.Add(1, Range{.begin = 101, .end = 103, .name = copy});
  c.Add(1, Range{.begin = 100, .end = 110, .name = c.Name("aten::to")});
  c.Flush(1);
  c.End(capture::StopReason::kStopped, 0);
  Import(c);
  EXPECT_EQ(Rows("SELECT name, dur FROM device_task ORDER BY task_id"),
            "aten::linear 15\naten::t 2\naten::transpose 2\naten::as_strided 1\naten::addmm 65\n"
            "aten::expand 2\naten::as_strided 1\naten::copy_ 2\naten::to 8\naten::copy_ 2\n");
  EXPECT_EQ(Rows("SELECT sum(dur) FROM device_task"), "100\n") << "linear 90, to 10";
}

TEST_F(CaptureImportTest, KindsGoToTheirTracks) {
  CaptureBuilder c;
  c.Thread(1, 11, 1, "");
  c.Domain(2, "mine");
  const uint32_t op = c.Name("aten::mm");
  const uint32_t layer = c.Name("model.layers.0");
  const uint32_t inner = c.Name("model.layers.0.fc");
  const uint32_t step = c.Name("ProfilerStep#7");
  c.Add(1, Range{.begin = 20, .end = 30, .name = op});  // in inner
  c.Add(1, Range{.kind = RecordKind::kModule, .begin = 15, .end = 35, .name = inner});
  c.Add(1, Range{.begin = 40, .end = 45, .name = op});  // in layer
  c.Add(1, Range{.kind = RecordKind::kModule, .begin = 10, .end = 50, .name = layer});
  c.Add(1, Range{.begin = 60, .end = 65, .name = op});  // in none
  c.Add(
      1,
      Range{.kind = RecordKind::kGarbageCollection, .begin = 66, .end = 67, .name = c.Name("gc")});
  c.Add(1, Range{.kind = RecordKind::kPythonFunction,
                 .begin = 5,
                 .end = 70,
                 .name = c.Name("f.py(3): f")});
  c.Add(1, Range{.kind = RecordKind::kRange,
                 .begin = 4,
                 .end = 80,
                 .name = c.Name("mine range"),
                 .domain = 2});
  c.AddInstant(1, RecordKind::kMark, 82, c.Name("a mark"), 0);
  c.Add(1, Range{.kind = RecordKind::kStep, .begin = 1, .end = 90, .name = step, .sequence = 7});
  c.AddInstant(1, RecordKind::kCounter, 91, c.Name("load"), std::bit_cast<uint64_t>(2.5));
  c.Flush(1);
  c.End(capture::StopReason::kStopped, 0);
  Import(c);
  EXPECT_EQ(Rows("SELECT kind, count(*) AS n FROM slice JOIN track USING (track_id) "
                 "GROUP BY kind ORDER BY kind"),
            "gc 1\nmodule 2\npython 1\nthread 5\n");
  EXPECT_EQ(Rows("SELECT name, module, scope FROM framework_op JOIN slice USING (slice_id) "
                 "WHERE name = 'aten::mm' ORDER BY ts"),
            "aten::mm model.layers.0.fc 0\naten::mm model.layers.0 0\naten::mm - 0\n");
  EXPECT_EQ(Rows("SELECT domain, message, kind, dur FROM mark ORDER BY mark_id"),
            "mine mine range push_pop 76\ndefault a mark marker 0\n");
  EXPECT_EQ(Rows("SELECT step_id, dur FROM step"), "7 89\n");
  EXPECT_EQ(Rows("SELECT DISTINCT step_id FROM device_task"), "7\n");
  EXPECT_EQ(Rows("SELECT t.name, t.kind, value FROM counter JOIN track t USING (track_id)"),
            "load counter 2.500000\n");
}

// Calls of a model on two threads; a third thread has no step of its own.
TEST_F(CaptureImportTest, OverlappingStepsAreThoseOfTheirThreads) {
  CaptureBuilder c;
  const auto add = [&](uint32_t thread, uint64_t begin, int32_t number) {
    c.Add(thread, Range{.begin = begin + 5, .end = begin + 6, .name = c.Name("aten::mm")});
    c.Add(thread, Range{.begin = begin + 85, .end = begin + 86, .name = c.Name("aten::mm")});
    if (number < 0) return;
    c.Add(thread, Range{.kind = RecordKind::kStep,
                        .begin = begin,
                        .end = begin + 90,
                        .name = c.Name("step"),
                        .sequence = number});
  };
  for (const uint32_t thread : {1U, 2U, 3U}) c.Thread(thread, 10 + thread, thread, "");
  add(1, 100, 0);
  add(2, 150, 1);
  add(1, 200, 2);
  add(3, 152, -1);
  for (const uint32_t thread : {1U, 2U, 3U}) c.Flush(thread);
  c.End(capture::StopReason::kStopped, 0);
  Import(c);
  EXPECT_EQ(Rows("SELECT tid, d.ts - 1700000000000000000 AS t, step_id FROM device_task d JOIN "
                 "track USING (track_id) JOIN thread t USING (thread_id) ORDER BY tid, t"),
            "11 105 0\n11 185 0\n11 205 2\n11 285 2\n"
            "12 155 1\n12 235 1\n"
            "13 157 1\n13 237 2\n");
}

// An encoder and the first token: two calls of one step; the next step is another.
TEST_F(CaptureImportTest, PartsOfAStepAreOneRange) {
  CaptureBuilder c;
  c.Thread(1, 11, 1, "");
  const auto add = [&](uint64_t begin, uint64_t end, int32_t number) {
    c.Add(1, Range{.begin = begin + 1, .end = begin + 2, .name = c.Name("aten::mm")});
    c.Add(1, Range{.kind = RecordKind::kStep,
                   .begin = begin,
                   .end = end,
                   .name = c.Name("ProfilerStep#" + std::to_string(number)),
                   .sequence = number});
  };
  add(10, 20, 0);
  c.Add(1, Range{.begin = 22, .end = 23, .name = c.Name("aten::cat")});
  add(30, 40, 0);
  c.Add(1, Range{.begin = 42, .end = 43, .name = c.Name("aten::cat")});
  add(50, 60, 1);
  c.Flush(1);
  c.End(capture::StopReason::kStopped, 0);
  Import(c);
  EXPECT_EQ(Rows("SELECT step_id, dur FROM step ORDER BY ts"), "0 30\n1 10\n");
  EXPECT_EQ(Rows("SELECT name, dur FROM slice WHERE name LIKE 'Prof%' ORDER BY ts"),
            "ProfilerStep#0 30\nProfilerStep#1 10\n");
  EXPECT_EQ(Rows("SELECT step_id, count(*) AS n FROM device_task GROUP BY 1 ORDER BY 1"),
            "0 3\n1 1\n- 1\n");
}

// A track's number is its place in the table, in any order of a thread's kinds.
TEST_F(CaptureImportTest, TracksAreInTheOrderOfTheirNumbers) {
  CaptureBuilder c;
  c.Thread(1, 11, 1, "");
  c.Thread(2, 12, 2, "");
  for (const uint32_t thread : {1U, 2U}) {
    c.Add(thread, Range{.begin = 12, .end = 13, .name = c.Name("aten::mm")});
    c.Add(thread, Range{.kind = RecordKind::kModule, .begin = 10, .end = 20, .name = c.Name("fc")});
    c.Add(thread, Range{.begin = 30, .end = 31, .name = c.Name("aten::sum")});
    c.Flush(thread);
  }
  c.End(capture::StopReason::kStopped, 0);
  ASSERT_TRUE(c.Write(folder_).ok());
  const auto sources = FindTraces(folder_);
  ASSERT_TRUE(sources.ok() && sources->size() == 1);
  const auto made = ImportUnpublished((*sources)[0], StorePath((*sources)[0]), {});
  ASSERT_TRUE(made.ok()) << made.status().message();
  const std::span<const store::TrackRow> tracks = made->store->rows()->Rows<store::TrackRow>();
  ASSERT_GE(tracks.size(), 4U);
  for (size_t i = 0; i < tracks.size(); ++i) EXPECT_EQ(tracks[i].track_id, i);
  ImportWritten();
  EXPECT_EQ(Rows("SELECT DISTINCT kind, slice.name AS name FROM slice JOIN track USING (track_id) "
                 "ORDER BY kind, name"),
            "module fc\nthread aten::mm\nthread aten::sum\n");
}

TEST_F(CaptureImportTest, OverlapsMoveToAnotherTrack) {
  CaptureBuilder c;
  c.Thread(1, 11, 1, "");
  const uint32_t name = c.Name("r");
  c.Add(1, Range{.kind = RecordKind::kUserScope, .begin = 10, .end = 100, .name = name});
  c.Add(1, Range{.kind = RecordKind::kUserScope, .begin = 50, .end = 150, .name = name});
  c.Add(1, Range{.kind = RecordKind::kUserScope, .begin = 60, .end = 170, .name = name});
  c.Add(1, Range{.kind = RecordKind::kUserScope, .begin = 160, .end = 180, .name = name});
  c.Flush(1);
  Import(c);
  EXPECT_EQ(Issue("ranges_overlap"), 2);
  // No two slices of a lane overlap, and children are inside their parents.
  EXPECT_EQ(Rows("SELECT count(*) FROM slice a JOIN slice b ON a.track_id = b.track_id AND "
                 "a.depth = b.depth AND a.slice_id < b.slice_id AND a.ts + a.dur > b.ts"),
            "0\n");
  EXPECT_EQ(Rows("SELECT name, count(*) AS n FROM track WHERE kind = 'thread' GROUP BY name "
                 "ORDER BY name"),
            "Thread 11 1\nThread 11 (2) 1\nThread 11 (3) 1\n");
}

TEST_F(CaptureImportTest, RecordsOutOfOrderAreSorted) {
  CaptureBuilder c;
  c.Thread(1, 11, 1, "");
  const uint32_t name = c.Name("r");
  c.Add(1, Range{.begin = 300, .end = 310, .name = name});
  c.Add(1, Range{.begin = 100, .end = 400, .name = name});
  c.Add(1, Range{.begin = 350, .end = 360, .name = name});
  c.Add(1, Range{.begin = 150, .end = 160, .name = name});
  c.Flush(1);
  Import(c);
  EXPECT_EQ(Rows("SELECT ts - 1700000000000000000 AS t, depth, parent_id FROM slice ORDER BY ts"),
            "100 0 -\n150 1 0\n300 1 0\n350 1 0\n");
}

}  // namespace
}  // namespace sonde::importers
