#include "importers/capture/import.h"

#include <gtest/gtest.h>

#include "importers/capture/testing/import_fixture.h"

namespace sonde::importers {
namespace {

using capture::RecordKind;
using testing::ArgsBuilder;
using testing::CaptureBuilder;
using testing::CaptureImportTest;
using Range = CaptureBuilder::Range;

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

// Threads of gloo restart the count: they have the number of the main thread, too.
TEST_F(CaptureImportTest, ThreadsMayShareTheNumberOfTheFramework) {
  CaptureBuilder c;
  c.Thread(1, 11, 1, "main");
  c.Thread(2, 12, 2, "backward");
  c.Thread(3, 13, 1, "pt_gloo_runloop");
  c.Add(1, Range{.begin = 100, .end = 110, .name = c.Name("aten::mm"), .sequence = 7});
  c.Add(2, Range{.kind = RecordKind::kBackwardNode,
                 .begin = 200,
                 .end = 210,
                 .name = c.Name("MmBackward0"),
                 .link = 1,
                 .sequence = 7});
  // Of the same sequence, but after the backward node: another's.
  c.Add(3, Range{.begin = 300, .end = 310, .name = c.Name("aten::add"), .sequence = 7});
  c.Flush(1);
  c.Flush(2);
  c.Flush(3);
  Import(c);
  EXPECT_EQ(Rows("SELECT a.name, b.name FROM flow f JOIN slice a ON a.slice_id = slice_out "
                 "JOIN slice b ON b.slice_id = slice_in"),
            "aten::mm MmBackward0\n");
  EXPECT_EQ(Issue("backward_unpaired"), 0);
  EXPECT_EQ(Rows("SELECT forward_thread_id FROM framework_op WHERE scope = 1"), "0\n");
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

// Gloo implements reduce-scatter by all-reduces, for lists one a rank: the requested type counts.
TEST_F(CaptureImportTest, ReduceScatterIsOneOperationForAllImplementations) {
  CaptureBuilder c;
  c.Thread(1, 11, 1, "main");
  c.Thread(2, 12, 1, "worker");
  const auto bytes = [&](int64_t number) {
    ArgsBuilder facts;
    facts.Text(c.Name(capture::kKeyGroupName), "0").Int(c.Name(capture::kKeyBytes), number);
    return c.Args(facts);
  };
  const auto add = [&](uint32_t thread, RecordKind kind, uint64_t begin, uint64_t end,
                       const char* name, uint32_t args) {
    c.Add(thread,
          Range{.kind = kind, .begin = begin, .end = end, .name = c.Name(name), .args = args});
  };
  const uint32_t whole = bytes(400);
  add(1, RecordKind::kCollective, 10, 20, "c10d::_reduce_scatter_base_", whole);
  add(1, RecordKind::kCollective, 30, 40, "c10d::reduce_scatter_", 0);
  add(1, RecordKind::kCollective, 60, 70, "c10d::allreduce_", 0);
  add(1, RecordKind::kCollective, 80, 90, "c10d::_reduce_scatter_base_", 0);
  c.Flush(1);
  add(2, RecordKind::kCollectiveWork, 12, 18, "gloo:all_reduce", whole);
  add(2, RecordKind::kCollectiveWork, 32, 36, "gloo:all_reduce", bytes(100));
  add(2, RecordKind::kCollectiveWork, 37, 55, "gloo:all_reduce", bytes(101));
  add(2, RecordKind::kCollectiveWork, 62, 66, "gloo:all_reduce", bytes(7));
  add(2, RecordKind::kCollectiveWork, 82, 86, "gloo:all_reduce", bytes(9));
  c.Flush(2);
  Import(c);
  EXPECT_EQ(
      Rows("SELECT op_type, c.dur, size_bytes, l.name FROM communication_op c JOIN slice l ON "
           "l.slice_id = c.launch_slice_id ORDER BY communication_id"),
      "reducescatter 6 400 c10d::_reduce_scatter_base_\n"
      "reducescatter 23 201 c10d::reduce_scatter_\n"
      "allreduce 4 7 c10d::allreduce_\n"
      "reducescatter 4 9 c10d::_reduce_scatter_base_\n");
}

// Lists of ranks are stored once, not with every range. Other values than lists are unknown.
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
          Range{.begin = 190, .name = name}},
         /*last_ended=*/true);
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

// Where the clock is coarse, a range begins at the tick of the one before, or of the one in it.
TEST_F(CaptureImportTest, CrashedProcessWithRangesOfOneTick) {
  CaptureBuilder c;
  c.Thread(1, 11, 1, "");
  const Range range{.begin = 100, .end = 100, .name = c.Name("op")};
  c.Add(1, range);
  c.Ring(1, 11, 8, 0, {range, range});
  Import(c);
  EXPECT_EQ(Rows("SELECT name, dur FROM slice ORDER BY dur"), "op -1\nop -1\nop 0\n");
}

// Of a thread that has used `cpu` and waited `wait`, taken off its processor `switches` times.
// Faults of the thread; its process has as many more in another one. All ones: an older recorder.
void AddUse(CaptureBuilder& c, uint64_t ticks, uint64_t cpu, uint64_t wait, int32_t switches,
            uint64_t faults = UINT64_MAX) {
  const auto record = [&](RecordKind kind, uint64_t ns, uint64_t waited, int32_t off) {
    return capture::Record{ticks,
                           capture::PackDurKind(0, kind, 0) | (ns & capture::kDurationMask),
                           0,
                           static_cast<uint32_t>(waited),
                           static_cast<uint32_t>(waited >> 32U),
                           off};
  };
  c.Add(1, record(RecordKind::kThreadUse, cpu, wait, switches));
  const uint64_t both = faults == UINT64_MAX ? faults : (2 * faults) << 32U | faults;
  c.Add(1, record(RecordKind::kProcessUse, 2 * cpu, both, 2 * switches));
}

constexpr char kUseOfSteps[] =
    "SELECT step_id, processor_ns, processor_wait_ns, involuntary_switches, process_processor_ns, "
    "process_involuntary_switches, major_faults, process_major_faults FROM step ORDER BY step_id";

TEST_F(CaptureImportTest, StepsKnowWhatTheirThreadUsedOfProcessors) {
  CaptureBuilder c;
  c.Thread(1, 11, 1, "");
  const uint64_t nearly_full = capture::kDurationMask - 20;  // the counter begins again
  AddUse(c, 95, nearly_full, 7, 1, 2);
  AddUse(c, 195, nearly_full + 70, 27, 4, 7);
  c.Add(1, Range{.kind = RecordKind::kStep, .begin = 100, .end = 200, .sequence = 1});
  AddUse(c, 310, nearly_full + 90, UINT64_MAX, 4);  // its file was closed
  c.Add(1, Range{.kind = RecordKind::kStep, .begin = 201, .end = 311, .sequence = 2});
  c.Flush(1);
  c.FlushOpen(1, {Range{.kind = RecordKind::kStep, .begin = 312, .sequence = 3}});
  Import(c);
  EXPECT_EQ(Rows(kUseOfSteps), "1 70 20 3 140 6 5 10\n2 20 - 0 40 0 - -\n3 - - - - - - -\n");
  EXPECT_EQ(Issue("record_unknown"), 0);
}

TEST_F(CaptureImportTest, WhereRecordsAreMissingTheUseOfProcessorsIsUnknown) {
  CaptureBuilder c;
  c.Thread(1, 11, 1, "");
  AddUse(c, 95, 10, 7, 1);
  AddUse(c, 195, 60, 27, 4);
  c.Add(1, Range{.kind = RecordKind::kStep, .begin = 100, .end = 200, .sequence = 1});
  c.Flush(1, /*dropped_total=*/1);
  Import(c);
  EXPECT_EQ(Rows(kUseOfSteps), "1 - - - - - - -\n");
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

TEST_F(CaptureImportTest, ReportsUnreadableParts) {
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
