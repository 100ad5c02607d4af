// Captures of MindSpore programs: cells from the scopes of kernels, operators on other threads.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "capture/args.h"
#include "importers/capture/testing/import_fixture.h"

namespace sonde::importers {
namespace {

using capture::RecordKind;
using testing::ArgsBuilder;
using testing::CaptureBuilder;
using testing::CaptureImportTest;
using Range = CaptureBuilder::Range;

class MindsporeCaptureTest : public CaptureImportTest {
 protected:
  void Kernels(CaptureBuilder& c, std::initializer_list<const char*> names) {
    uint64_t at = 100;
    for (const char* name : names) {
      c.Add(1, Range{.begin = at, .end = at + 10, .name = c.Name(name)});
      at += 20;
    }
    c.Flush(1);
  }
  std::string Modules() {
    return Rows(
        "SELECT name, ts - 1700000000000000000 AS t, dur, depth FROM slice WHERE category = "
        "'module' ORDER BY ts, depth");
  }
};

TEST_F(MindsporeCaptureTest, ScopesOfKernelsAreCellsOfAGraph) {
  CaptureBuilder c;
  c.Thread(1, 11, 1, "main");
  Kernels(c, {"Default/embed-Embedding/Gather-op0",
              "Default/layers-CellList/0-Block/attn-Attention/qkv-Dense/MatMul-op0",
              "Expand/_MatMulExt/BatchMatMul-op0",
              "Default/layers-CellList/0-Block/attn-Attention/Softmax-op0",
              "Default/layers-CellList/0-Block/Add-op0",
              "Default/layers-CellList/1-Block/attn-Attention/qkv-Dense/MatMul-op1"});
  Import(c);
  EXPECT_EQ(Modules(),
            "embed 100 10 0\n"
            "layers.0 120 70 0\n"
            "layers.0.attn 120 50 1\n"
            "layers.0.attn.qkv 120 10 2\n"
            "layers.1 200 10 0\n"
            "layers.1.attn 200 10 1\n"
            "layers.1.attn.qkv 200 10 2\n");
  EXPECT_EQ(Rows("SELECT DISTINCT value FROM slice s JOIN args_text USING (args_id) WHERE s.name = "
                 "'layers.0.attn.qkv'"),
            "Dense\n");
  EXPECT_EQ(Rows("SELECT op_type, module FROM device_task JOIN framework_op USING (slice_id) "
                 "ORDER BY ts"),
            "Gather embed\nMatMul layers.0.attn.qkv\nBatchMatMul layers.0.attn\n"
            "Softmax layers.0.attn\nAdd layers.0\nMatMul layers.1.attn.qkv\n");
}

TEST_F(MindsporeCaptureTest, GradientsAreRangesOfTheirOwn) {
  CaptureBuilder c;
  c.Thread(1, 11, 1, "main");
  Kernels(c, {"Default/net-Model/head-Dense/MatMul-op0",
              "Gradients/Default/net-Model/head-Dense/Grad_MatMul/MatMul-op3",
              "Gradients/Default/net-Model/head-Dense/AddN-op0",
              "Gradients/Default/net-Model/Grad_Mul/Mul-op1", "Default/Cast-op0",
              "Gradients/Cast-op1", "Default/a/b-op0"});
  Import(c);
  EXPECT_EQ(Modules(),
            "net 100 10 0\n"
            "net.head 100 10 1\n"
            "net (backward) 120 50 0\n"
            "net.head (backward) 120 30 1\n");
  EXPECT_EQ(Rows("SELECT op_type, module FROM device_task JOIN framework_op USING (slice_id) "
                 "WHERE module LIKE '%(backward)' ORDER BY ts"),
            "MatMul net.head (backward)\nAddN net.head (backward)\nMul net (backward)\n");
}

// The operator runs on the third thread, after two hand-overs.
TEST_F(MindsporeCaptureTest, OperatorsBelongToTheCallThatQueuedThem) {
  CaptureBuilder c;
  for (uint32_t thread = 1; thread <= 3; ++thread) c.Thread(thread, thread + 10, thread, "");
  const uint32_t hand_over = c.Name("hand-over");
  const uint32_t stack = c.Stack({c.Frame("forward", "net.py", 7)});
  c.AddInstant(1, RecordKind::kFlowOut, 120, hand_over, 5);
  c.Add(1, Range{.kind = RecordKind::kFrameworkRange,
                 .begin = 110,
                 .end = 130,
                 .name = c.Name("PynativeFramework::RunOp::MatMul"),
                 .link = stack});
  c.Add(1, Range{.kind = RecordKind::kModule, .begin = 100, .end = 140, .name = c.Name("head")});
  c.Flush(1);
  c.AddInstant(2, RecordKind::kFlowIn, 151, hand_over, 5);
  c.AddInstant(2, RecordKind::kFlowOut, 155, hand_over, 6);
  c.Add(2,
        Range{.kind = RecordKind::kFrameworkRange, .begin = 150, .end = 160, .name = c.Name("F")});
  c.Flush(2);
  c.AddInstant(3, RecordKind::kFlowIn, 171, hand_over, 6);
  c.AddMemory(3, 175, 0x1000, 512, 512);
  c.Add(3, Range{.begin = 180, .end = 190, .name = c.Name("MatMul")});
  c.Add(3,
        Range{.kind = RecordKind::kFrameworkRange, .begin = 170, .end = 195, .name = c.Name("D")});
  c.Add(3, Range{.begin = 200, .end = 210, .name = c.Name("Own")});
  c.Flush(3);
  Import(c);
  EXPECT_EQ(Rows("SELECT d.name, launch.name FROM device_task d JOIN slice launch ON "
                 "launch.slice_id = launch_slice_id ORDER BY d.ts"),
            "MatMul PynativeFramework::RunOp::MatMul\nOwn Own\n");
  EXPECT_EQ(Rows("SELECT s.name, o.module, frame FROM framework_op o JOIN slice s USING (slice_id) "
                 "JOIN callstack USING (stack_id) WHERE s.name = 'MatMul'"),
            "MatMul head net.py(7): forward\n");
  EXPECT_EQ(Rows("SELECT s.name FROM memory_event JOIN slice s ON s.slice_id = owner_slice_id"),
            "MatMul\n");
}

// Each of two calls of one operator reports its inputs after it queued its task.
TEST_F(MindsporeCaptureTest, OperatorsHaveTheInputsOfTheirCall) {
  CaptureBuilder c;
  for (uint32_t thread = 1; thread <= 2; ++thread) c.Thread(thread, thread + 10, thread, "");
  const uint32_t hand_over = c.Name("hand-over");
  const uint32_t key = c.Name(capture::kKeyInputs);
  const auto call = [&](uint64_t at, const char* type,
                        const std::vector<std::vector<int64_t>>& sizes) {
    const uint32_t args = c.Args(ArgsBuilder().Tensors(key, sizes));
    const std::string mark = std::string("inputs of ") + type;
    c.AddInstant(1, RecordKind::kFlowOut, at + 5, hand_over, at);
    c.AddInstant(1, RecordKind::kMark, at + 6, c.Name(mark), args);
    c.Add(1, Range{.kind = RecordKind::kFrameworkRange,
                   .begin = at,
                   .end = at + 8,
                   .name = c.Name("call")});
  };
  const auto run = [&](uint64_t at, uint64_t call_at, const char* name) {
    c.AddInstant(2, RecordKind::kFlowIn, at + 1, hand_over, call_at);
    c.Add(2, Range{.begin = at + 2, .end = at + 5, .name = c.Name(name)});
    c.Add(2, Range{.kind = RecordKind::kFrameworkRange,
                   .begin = at,
                   .end = at + 8,
                   .name = c.Name("task")});
  };
  call(100, "MatMul", {{2, 3}, {3, 4}});
  call(110, "MatMul", {{5, 6}, {6, 7}});
  call(120, "Cast", {{9}});
  c.Flush(1);
  run(200, 100, "MatMul");
  run(210, 110, "Default/net/MatMul-op3");
  run(220, 120, "Softmax");  // what ran is another one
  c.Flush(2);
  Import(c);
  EXPECT_EQ(Rows("SELECT d.ts - 1700000000000000000 AS t, op_type, coalesce(o.input_shapes, '-') "
                 "FROM device_task d JOIN framework_op o USING (slice_id) ORDER BY d.ts"),
            "202 MatMul 2,3;3,4\n212 MatMul 5,6;6,7\n222 Softmax -\n");
  EXPECT_EQ(Rows("SELECT count(*) FROM mark"), "0\n");
}

// Kernels of compiled graphs report nothing themselves: the graph's text has it.
TEST_F(MindsporeCaptureTest, KernelsOfGraphsHaveTheShapesOfTheirGraph) {
  CaptureBuilder c;
  c.Thread(1, 11, 1, "main");
  c.Metadata("kernel_shapes:trace_code_graph_1",
             R"({"kinds": [["2,3;3,4", "Float32;Float16", "ND;NZ", "2,4", "Float32", "ND"]],
                 "kernels": {"Default/a-Net/MatMul-op0": 0, "Default/a-Net/Cast-op0": 0,
                             "Default/a-Net/Lost-op0": 1}})");
  c.Metadata("kernel_shapes:trace_code_graph_2",
             R"({"kinds": [["5", "Int64", "ND", "5", "Int32", "ND"]],
                 "kernels": {"Default/a-Net/Cast-op0": 0}})");
  c.Metadata("kernel_shapes:trace_code_graph_3", R"({"kernels": [)");
  Kernels(c, {"Default/a-Net/MatMul-op0", "Default/a-Net/Cast-op0", "Default/a-Net/Lost-op0"});
  Import(c);
  EXPECT_EQ(Rows("SELECT op_type, coalesce(input_shapes, '-') i, coalesce(input_types, '-') t, "
                 "coalesce(input_formats, '-') f, coalesce(output_shapes, '-') o, "
                 "coalesce(output_types, '-') u FROM device_task ORDER BY ts"),
            "MatMul 2,3;3,4 float;c10::Half ND;NZ 2,4 float\n"
            "Cast - - - - -\n"  // two graphs differ
            "Lost - - - - -\n");
  EXPECT_EQ(Rows("SELECT count(*) FROM metadata WHERE key LIKE 'kernel_shapes%'"), "0\n");
  EXPECT_EQ(Rows("SELECT count FROM import_issue WHERE code = 'metadata_garbled'"), "2\n");
}

// Each of MindSpore's queues counts its tasks from one.
TEST_F(MindsporeCaptureTest, QueuesUseTheSameNumbers) {
  CaptureBuilder c;
  for (uint32_t thread = 1; thread <= 3; ++thread) c.Thread(thread, thread + 10, thread, "");
  const uint32_t hand_over = c.Name("hand-over");
  const auto range = [&](uint32_t thread, RecordKind kind, uint64_t begin, const char* name) {
    c.Add(thread, Range{.kind = kind, .begin = begin, .end = begin + 10, .name = c.Name(name)});
  };
  c.AddInstant(1, RecordKind::kFlowOut, 105, hand_over, 1);
  range(1, RecordKind::kFrameworkRange, 100, "first call");
  c.AddInstant(1, RecordKind::kFlowOut, 225, hand_over, 1);  // the task runs already
  range(1, RecordKind::kFrameworkRange, 218, "second call");
  c.Flush(1);
  c.AddInstant(2, RecordKind::kFlowIn, 121, hand_over, 1);
  c.AddInstant(2, RecordKind::kFlowOut, 125, hand_over, 1);
  range(2, RecordKind::kFrameworkRange, 120, "passed on");
  c.Flush(2);
  c.AddInstant(3, RecordKind::kFlowIn, 141, hand_over, 1);
  range(3, RecordKind::kOp, 140, "First");
  c.AddInstant(3, RecordKind::kFlowIn, 221, hand_over, 1);
  range(3, RecordKind::kOp, 220, "Second");
  c.Flush(3);
  Import(c);
  EXPECT_EQ(Rows("SELECT d.name, launch.name FROM device_task d JOIN slice launch ON "
                 "launch.slice_id = launch_slice_id ORDER BY d.ts"),
            "First first call\nSecond second call\n");
  EXPECT_EQ(Rows("SELECT o.name, i.name FROM flow JOIN slice o ON o.slice_id = slice_out JOIN "
                 "slice i ON i.slice_id = slice_in ORDER BY o.ts"),
            "first call passed on\npassed on First\nsecond call Second\n");
}

}  // namespace
}  // namespace sonde::importers
