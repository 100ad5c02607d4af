#include "importers/capture/import.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>

#include "base/files.h"
#include "importers/capture/testing/capture_builder.h"
#include "importers/registry.h"
#include "store/row_tables.h"

namespace sonde::importers {
namespace {

using capture::RecordKind;
using testing::ArgsBuilder;
using testing::CaptureBuilder;
using Range = CaptureBuilder::Range;

class CaptureImportTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "/sonde_import_test_" + std::to_string(::getpid()) +
              "/host9_4242_20240101_ascend_pt";
    ASSERT_TRUE(base::MakeDirectories(folder_).ok());
  }
  void TearDown() override {
    store_.reset();
    ASSERT_TRUE(base::RemoveTree(std::string(base::DirName(folder_))).ok());
  }

  void Import(const CaptureBuilder& capture, int threads = 2) {
    ASSERT_TRUE(capture.Write(folder_).ok());
    ImportWritten(threads);
  }
  void ImportWritten(int threads = 2) {
    const auto sources = FindTraces(std::string(base::DirName(folder_)));
    ASSERT_TRUE(sources.ok() && sources->size() == 1);
    auto imported = ImportTrace((*sources)[0], StorePath((*sources)[0]), {.threads = threads});
    ASSERT_TRUE(imported.ok()) << imported.status().message();
    store_ = std::move(imported->store);
    summary_ = std::move(imported->summary);
  }

  // All cells of a small result, rows joined by newline.
  std::string Rows(const std::string& sql) {
    const auto result = store_->Query(sql);
    EXPECT_TRUE(result.ok()) << result.status().message();
    if (!result.ok()) return "";
    std::string text;
    for (size_t row = 0; row < result->rows(); ++row) {
      for (size_t column = 0; column < result->columns().size(); ++column) {
        if (column > 0) text += ' ';
        text += Cell(*result, column, row);
      }
      text += '\n';
    }
    return text;
  }
  static std::string Cell(const store::ResultTable& table, size_t column, size_t row) {
    if (table.IsNull(column, row)) return "-";
    const auto& values = table.columns()[column].values;
    if (std::holds_alternative<std::vector<int64_t>>(values)) {
      return std::to_string(table.Int(column, row));
    }
    if (std::holds_alternative<std::vector<double>>(values)) {
      return std::to_string(table.Double(column, row));
    }
    return table.Text(column, row);
  }
  int64_t Issue(const std::string& code) {
    int64_t count = 0;
    for (const auto& issue : summary_.issues) count += issue.code == code ? issue.count : 0;
    return count;
  }

  std::string folder_;
  std::unique_ptr<store::Store> store_;
  ImportSummary summary_;
};

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
            "2 0 10 aten::empty empty CPU 0 2\n"
            "3 10 60 aten::add add CPU 0 3\n"
            "1 110 10 aten::add add CPU 0 1\n");
  EXPECT_EQ(Rows("SELECT kind, name, thread_id FROM track ORDER BY track_id"),
            "thread Thread 1001 0\nstream Stream 0 0\n");
  EXPECT_EQ(Rows("SELECT pid, rank, host FROM process"), "4242 5 host9\n");
  EXPECT_EQ(Rows("SELECT tid, name, framework_number FROM thread"), "1001 main 1\n");
  EXPECT_EQ(Rows("SELECT code FROM import_issue"), "");
  EXPECT_EQ(summary_.rank, 5);
  EXPECT_EQ(summary_.begin_ns, 1'700'000'000'000'000'100);
  EXPECT_EQ(summary_.end_ns, 1'700'000'000'000'000'310);
}

TEST_F(CaptureImportTest, ComputingOpsTakeInTheirHelpers) {
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
            "aten::as_strided 1\naten::addmm 70\naten::copy_ 2\n");
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

// A track's number is its place in the table, in whatever order a thread's kinds are met.
TEST_F(CaptureImportTest, TracksStandInTheOrderOfTheirNumbers) {
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
  // No two slices of a lane overlap, and children lie inside their parents.
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

TEST_F(CaptureImportTest, TiesBackwardToForward) {
  CaptureBuilder c;
  c.Thread(1, 11, 1, "forward");
  c.Thread(2, 12, 2, "backward");
  const uint32_t linear = c.Name("aten::linear");
  const uint32_t t = c.Name("aten::t");
  const uint32_t addmm = c.Name("aten::addmm");
  c.Add(1, Range{.begin = 110, .end = 120, .name = t, .sequence = 0});
  c.Add(1, Range{.begin = 130, .end = 140, .name = addmm, .sequence = 1});
  c.Add(1, Range{.begin = 100, .end = 150, .name = linear, .sequence = 0});
  c.Flush(1);
  c.Add(2, Range{.kind = RecordKind::kBackwardNode,
                 .begin = 200,
                 .end = 210,
                 .name = c.Name("AddmmBackward0"),
                 .link = 1,
                 .sequence = 1});
  c.Add(2, Range{.kind = RecordKind::kBackwardNode,
                 .begin = 220,
                 .end = 230,
                 .name = c.Name("TBackward0"),
                 .link = 1,
                 .sequence = 0});
  c.Add(2, Range{.kind = RecordKind::kBackwardNode,
                 .begin = 240,
                 .end = 250,
                 .name = c.Name("Lost"),
                 .link = 1,
                 .sequence = 99});
  c.Flush(2);
  Import(c);
  EXPECT_EQ(Rows("SELECT a.name, b.name, f.kind, f.key FROM flow f JOIN slice a ON "
                 "a.slice_id = slice_out JOIN slice b ON b.slice_id = slice_in ORDER BY flow_id"),
            "aten::addmm AddmmBackward0 forward_backward 1\n"
            "aten::t TBackward0 forward_backward 0\n");
  EXPECT_EQ(Issue("backward_unpaired"), 1);
  EXPECT_EQ(Rows("SELECT forward_thread_id FROM framework_op WHERE scope = 1 LIMIT 1"), "0\n");
}

TEST_F(CaptureImportTest, PairsMemoryAndFindsOwners) {
  CaptureBuilder c;
  c.Thread(1, 11, 1, "");
  c.AddMemory(1, 105, 0xa000, 64, 64);
  c.AddMemory(1, 108, 0xb000, 32, 96);
  c.Add(1, Range{.begin = 100, .end = 110, .name = c.Name("aten::empty")});
  c.AddMemory(1, 120, 0xa000, -64, 32);
  c.AddMemory(1, 130, 0xc000, -16, 32);
  c.Flush(1);
  Import(c);
  EXPECT_EQ(
      Rows("SELECT size_bytes, total_allocated, owner_slice_id FROM memory_event ORDER BY ts"),
      "64 64 0\n32 96 0\n-64 32 -\n-16 32 -\n");
  EXPECT_EQ(Rows("SELECT pointer, size_bytes, alloc_ts IS NULL, free_ts IS NULL, "
                 "owner_slice_id, free_total_allocated FROM memory_block ORDER BY pointer"),
            "40960 64 0 0 0 32\n45056 32 0 1 0 -\n49152 16 1 0 - 32\n");
  EXPECT_EQ(Issue("memory_release_unpaired"), 1);
}

TEST_F(CaptureImportTest, ReadsArgumentsAndStacks) {
  CaptureBuilder c;
  c.Thread(1, 11, 1, "");
  const uint32_t inputs = c.Name(capture::kKeyInputs);
  const uint32_t args = c.Args(ArgsBuilder()
                                   .Tensors(inputs, {{4, 8}, {}, {8}})
                                   .Int(c.Name("flops"), 77)
                                   .Double(c.Name("scale"), 0.5)
                                   .Text(c.Name("note"), "h\xc3\xa4llo")
                                   .Ints(c.Name("list"), {1, -2}));
  const uint32_t stack = c.Stack({c.Frame("inner", "a.py", 3), c.Frame("outer", "b.py", 9)});
  c.Add(1, Range{.begin = 1, .end = 2, .name = c.Name("aten::addmm"), .args = args, .link = stack});
  c.Flush(1);
  Import(c);
  EXPECT_EQ(Rows("SELECT input_shapes, input_types, input_dims FROM framework_op"),
            "4,8;;8 float;float;float [[4,8],[],[8]]\n");
  EXPECT_EQ(Rows("SELECT input_shapes FROM device_task"), "4,8;;8\n");
  EXPECT_EQ(Rows("SELECT key, value FROM slice JOIN args USING (args_id) ORDER BY key"),
            "flops 77\nlist [1,-2]\nnote h\xc3\xa4llo\nscale 0.5\n");
  EXPECT_EQ(Rows("SELECT depth, frame FROM framework_op JOIN callstack USING (stack_id) "
                 "ORDER BY depth"),
            "0 a.py(3): inner\n1 b.py(9): outer\n");
}

// Calls on a thread and their works, which overlap, on another; spans that end there, one of them
// without a begin.
CaptureBuilder CollectiveCapture(bool ranks_as_numbers) {
  CaptureBuilder c;
  c.Thread(1, 11, 1, "main");
  c.Thread(2, 12, 0, "gloo");
  c.Metadata("parallel_group_info", R"({"0": {"group_name": "default_group"}})");
  ArgsBuilder facts;
  facts.Text(c.Name(capture::kKeyGroupName), "0");
  facts.Int(c.Name(capture::kKeyBytes), 400)
      .Int(c.Name(capture::kKeyCount), 100)
      .Text(c.Name(capture::kKeyDtype), "float32")
      .Text(c.Name(capture::kKeyBackend), "gloo");
  if (ranks_as_numbers) {
    facts.Ints(c.Name(capture::kKeyGroupRanks), {0, 1});
  } else {
    facts.NameOf(c.Name(capture::kKeyGroupRanks), c.Name("[0, 1]"));
  }
  const uint32_t args = c.Args(facts);
  const uint32_t call = c.Name("c10d::allreduce_");
  const uint32_t work = c.Name("gloo:all_reduce");
  for (uint64_t i = 0; i < 2; ++i) {
    c.Add(1, Range{.kind = RecordKind::kCollective,
                   .begin = 100 + i * 10,
                   .end = 105 + i * 10,
                   .name = call,
                   .args = args});
  }
  c.Add(1, Range{.kind = RecordKind::kCollective,
                 .begin = 130,
                 .end = 140,
                 .name = c.Name("c10d::barrier")});
  c.AddSpan(1, true, 150, c.Name("request"), 9);
  c.Flush(1);
  c.Add(2, Range{.kind = RecordKind::kCollectiveWork,
                 .begin = 104,
                 .end = 125,
                 .name = work,
                 .args = args});
  c.Add(2, Range{.kind = RecordKind::kCollectiveWork,
                 .begin = 114,
                 .end = 128,
                 .name = work,
                 .args = args});
  c.AddSpan(2, false, 190, 0, 9);
  c.AddSpan(2, false, 195, 0, 10);
  c.Flush(2);
  return c;
}

class CaptureCollectivesTest : public CaptureImportTest,
                               public ::testing::WithParamInterface<bool> {};
INSTANTIATE_TEST_SUITE_P(RanksAsNumbers, CaptureCollectivesTest, ::testing::Bool());

TEST_P(CaptureCollectivesTest, CollectivesAndSpans) {
  Import(CollectiveCapture(GetParam()));
  // Hash of "0": (48 << 32) | 48 = 206158430256.
  EXPECT_EQ(
      Rows("SELECT name, op_type, dur, size_bytes, count, data_type, group_name, "
           "group_hash, rank_size, algorithm, is_p2p FROM communication_op "
           "ORDER BY communication_id"),
      "hcom_allReduce__256_0_1 allreduce 21 400 100 float32 0 206158430256 2 gloo 0\n"
      "hcom_allReduce__256_1_1 allreduce 14 400 100 float32 0 206158430256 2 gloo 0\n"
      "hcom_barrier__" +
          Rows("SELECT (group_hash % 1000) FROM communication_op WHERE "
               "op_type = 'barrier'")
              .substr(0, 3) +
          "_0_1 barrier 10 - - - default_group " +
          Rows("SELECT group_hash FROM communication_op WHERE op_type = 'barrier'").substr(0, 19) +
          " - - 0\n");
  EXPECT_EQ(Rows("SELECT l.ts - 1700000000000000000 AS t FROM communication_op c JOIN slice l ON "
                 "l.slice_id = c.launch_slice_id ORDER BY communication_id"),
            "100\n110\n130\n");
  EXPECT_EQ(Rows("SELECT name, description, rank_list FROM communication_group ORDER BY name"),
            "0 default_group [0, 1]\ndefault_group - \n");
  EXPECT_EQ(Rows("SELECT DISTINCT value FROM args WHERE key = 'group_ranks'").substr(0, 2), "[0");
  EXPECT_EQ(Rows("SELECT count(DISTINCT track_id) FROM slice WHERE category = 'collective_work'"),
            "2\n");
  EXPECT_EQ(Rows("SELECT message, kind, dur, end_thread_id FROM mark"), "request start_end 40 1\n");
  EXPECT_EQ(Issue("span_unpaired"), 1);
}

// Ranks stand once, however many they are; not with every range. What is no list is not known.
TEST_F(CaptureImportTest, RanksOfLargeGroups) {
  CaptureBuilder c;
  c.Thread(1, 11, 1, "main");
  std::string ranks = "[0";
  for (int i = 1; i < 5000; ++i) ranks += ", " + std::to_string(i);
  ranks += ']';
  uint64_t end = 100;
  for (const std::string& text : {ranks, std::string("no list")}) {
    ArgsBuilder facts;
    facts.Text(c.Name(capture::kKeyGroupName), std::to_string(end += 10));
    facts.NameOf(c.Name(capture::kKeyGroupRanks), c.Name(text));
    c.Add(1, Range{.kind = RecordKind::kCollective, .end = end, .args = c.Args(facts)});
  }
  c.Flush(1);
  Import(c);
  EXPECT_EQ(Rows("SELECT group_name, rank_size FROM communication_op ORDER BY ts"),
            "110 5000\n120 -\n");
  EXPECT_EQ(Rows("SELECT rank_list FROM communication_group ORDER BY name"), ranks + "\n\n");
  EXPECT_EQ(Rows("SELECT value FROM args WHERE key = 'group_ranks'"), "no list\n");
}

TEST_F(CaptureImportTest, FlowsOfTheUser) {
  CaptureBuilder c;
  c.Thread(1, 11, 1, "");
  c.Thread(2, 12, 1, "");
  c.AddInstant(1, RecordKind::kFlowOut, 15, c.Name("f"), 5);
  c.Add(1, Range{.kind = RecordKind::kRange, .begin = 10, .end = 20, .name = c.Name("a")});
  c.AddInstant(1, RecordKind::kFlowIn, 30, c.Name("f"), 8);
  c.Flush(1);
  c.AddInstant(2, RecordKind::kFlowIn, 45, c.Name("f"), 5);
  c.Add(2, Range{.kind = RecordKind::kRange, .begin = 40, .end = 50, .name = c.Name("b")});
  c.Flush(2);
  Import(c);
  EXPECT_EQ(Rows("SELECT kind, key, a.name, b.name FROM flow JOIN slice a ON a.slice_id = "
                 "slice_out JOIN slice b ON b.slice_id = slice_in"),
            "user 5 a b\n");
  EXPECT_EQ(Issue("flow_unpaired"), 1);
}

TEST_F(CaptureImportTest, CrashedProcess) {
  CaptureBuilder c;
  c.Thread(1, 11, 1, "");
  const uint32_t name = c.Name("op");
  for (uint64_t i = 0; i < 6; ++i) {
    c.Add(1, Range{.begin = 100 + i * 10, .end = 105 + i * 10, .name = name});
  }
  c.Flush(1);
  for (uint64_t i = 6; i < 10; ++i) {
    c.Add(1, Range{.begin = 100 + i * 10, .end = 105 + i * 10, .name = name});
  }
  // The drain thread died before it raised the tail (4), so slots 4 and 5 are in both; the ring is
  // wrapped. Of the open ranges the last has just been closed.
  const uint32_t outer = c.Name("outer");
  c.Ring(1, 11, 8, 6,
         {Range{.kind = RecordKind::kStep, .begin = 50, .name = outer, .sequence = 3},
          Range{.begin = 190, .end = 195, .name = name}});
  Import(c);
  EXPECT_EQ(Rows("SELECT name, count(*) AS n, sum(dur) AS d, min(depth) AS depth FROM slice "
                 "GROUP BY name ORDER BY name"),
            "op 10 50 1\nouter 1 -1 0\n");
  EXPECT_EQ(Rows("SELECT step_id, dur FROM step"), "3 -1\n");
  EXPECT_EQ(Rows("SELECT DISTINCT step_id FROM device_task"), "3\n");
  EXPECT_EQ(Issue("capture_not_closed"), 1);
  EXPECT_EQ(Issue("capture_no_end"), 1);
  EXPECT_EQ(Issue("records_missing"), 0);
}

// Its ring was copied while a range was open; when the segments were opened the range had ended.
TEST_F(CaptureImportTest, RangesThatEndWhileTheCaptureIsRead) {
  CaptureBuilder c;
  c.Thread(1, 11, 1, "");
  const Range outer{.begin = 90, .end = 200, .name = c.Name("outer")};
  const Range last{.begin = 80, .end = 300, .name = c.Name("still open")};
  c.Add(1, Range{.begin = 100, .end = 105, .name = c.Name("inner")});
  c.Ring(1, 11, 8, 0, {last, outer});
  c.Add(1, outer);
  c.Flush(1);
  c.FlushOpen(1, {last});
  Import(c);
  EXPECT_EQ(Rows("SELECT name, dur, depth FROM slice ORDER BY slice_id"),
            "still open -1 0\nouter 110 1\ninner 5 2\n");
}

TEST_F(CaptureImportTest, CleanEndWithOpenRanges) {
  CaptureBuilder c;
  c.Thread(1, 11, 1, "");
  c.Add(1, Range{.begin = 100, .end = 105, .name = c.Name("op")});
  c.Flush(1, 12);
  c.FlushOpen(1, {Range{.kind = RecordKind::kUserScope, .begin = 10, .name = c.Name("out")},
                  Range{.kind = RecordKind::kUserScope, .begin = 20, .name = c.Name("in")}});
  c.End(capture::StopReason::kDiskFull, 12);
  c.Issue("something happened");
  Import(c);
  EXPECT_EQ(Rows("SELECT name, dur, depth FROM slice ORDER BY slice_id"),
            "out -1 0\nin -1 1\nop 5 2\n");
  EXPECT_EQ(Issue("records_dropped"), 12);
  EXPECT_EQ(Rows("SELECT code, advice FROM import_issue WHERE code IN ('recorder', "
                 "'recording_ended') ORDER BY code"),
            "recorder something happened\nrecording_ended ended by the test\n");
}

TEST_F(CaptureImportTest, SaysWhatCannotBeRead) {
  store::StoreOptions options;
  auto store = store::Store::Create(folder_ + "/x.duckdb", options).value();
  EXPECT_EQ(ImportCapture(folder_, *store, {}).status().code(), StatusCode::kNotFound);
  ASSERT_TRUE(base::MakeDirectories(folder_ + "/SONDE").ok());
  ASSERT_TRUE(
      base::WriteFileAtomically(folder_ + "/SONDE/dictionary_000001.sonde", "nonsense").ok());
  EXPECT_EQ(ImportCapture(folder_, *store, {}).status().code(), StatusCode::kCorruptData);
  EXPECT_FALSE(FindTraces(folder_ + "/nowhere").ok());
}

}  // namespace
}  // namespace sonde::importers
