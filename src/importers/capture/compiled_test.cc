// Captures of compiled code: modules, lines and operators of kernels by the lines that call them.
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "capture/args.h"
#include "importers/capture/testing/import_fixture.h"

namespace sonde::importers {
namespace {

using capture::RecordKind;
using testing::ArgsBuilder;
using testing::CaptureBuilder;
using testing::CaptureImportTest;
using Range = CaptureBuilder::Range;

// A block with an attention and an MLP; line 30 computes for both, line 99 is no call.
constexpr const char* kGraph = R"({
  "modules": [["", "Block", -1], ["attn", "Attn", 0], ["mlp", "MLP", 0]],
  "frames": [["model.py", 7, "forward"], ["model.py", 20, "forward"], ["model.py", 9, "forward"]],
  "sites": {
    "10": {"kernel": "extern_kernels.mm", "module": 1, "frames": [0, 1], "operators": ["aten.mm"]},
    "20": {"kernel": "cpp_fused_add_0", "module": 1, "frames": [0, 1], "operators": ["aten.add"],
           "output": "float32[2, 4]"},
    "30": {"kernel": "cpp_fused_mul_1", "module": 2, "also": [1], "frames": [2, 1], "lines": [0],
           "operators": ["aten.add", "aten.mul"], "bytes": 96, "flops": 0},
    "40": {"kernel": "cpp_fused_sum_2", "operators": ["aten.sum"]}},
  "file": "cabc.py", "backward": false})";

class CompiledCaptureTest : public CaptureImportTest {
 protected:
  CompiledCaptureTest() { c_.Thread(1, 11, 1, "main"); }

  // A kernel at each line, in a region of its own.
  void Region(std::initializer_list<uint32_t> lines, const char* file = "/tmp/ab/cabc.py") {
    const uint64_t begin = at_;
    for (const uint32_t line : lines) {
      const uint32_t stack =
          c_.Stack({c_.Frame("call", "/sonde/_kernels.py", 80), c_.Frame("call", file, line),
                    c_.Frame("__call__", "/torch/output_code.py", 5)});
      const uint32_t args = c_.Args(ArgsBuilder().Tensors(c_.Name("inputs"), {{2, 4}}));
      c_.Add(1, Range{.begin = at_ + 2, .end = at_ + 3, .name = c_.Name("aten::inner")});
      c_.Add(1, Range{.begin = at_,
                      .end = at_ + 10,
                      .name = c_.Name("k" + std::to_string(line)),
                      .args = args,
                      .link = stack});
      at_ += 20;
    }
    c_.Add(1, Range{.kind = RecordKind::kUserScope,
                    .begin = begin - 1,
                    .end = at_,
                    .name = c_.Name("## Call CompiledFxGraph fkey ##")});
    at_ += 10;
  }
  void Module(const char* name, const char* module_class, uint64_t begin) {
    c_.Add(1, Range{.kind = RecordKind::kModule,
                    .begin = begin,
                    .end = at_,
                    .name = c_.Name(name),
                    .args = c_.Args(ArgsBuilder().Text(c_.Name("class"), module_class))});
  }
  void Finish() {
    c_.Flush(1);
    Import(c_);
  }
  std::string Modules() {
    return Rows(
        "SELECT name, ts - 1700000000000000000 AS t, dur, depth FROM slice WHERE category = "
        "'module' ORDER BY ts, depth");
  }

  CaptureBuilder c_;
  uint64_t at_ = 100;
};

TEST_F(CompiledCaptureTest, KernelsAreInTheirModules) {
  c_.Metadata("compiled_graph:cabc.py", kGraph);
  Region({10, 20, 99, 30, 40});
  Finish();
  EXPECT_EQ(Modules(),
            "Block 100 70 0\n"
            "attn 100 30 1\n"
            "mlp 160 10 1\n");
  EXPECT_EQ(Rows("SELECT s.name, o.module FROM framework_op o JOIN slice s USING (slice_id) WHERE "
                 "s.name LIKE 'k%' ORDER BY ts"),
            "k10 attn\nk20 attn\nk99 Block\nk30 mlp\nk40 -\n");
  EXPECT_EQ(Rows("SELECT key, value FROM slice JOIN args_text USING (args_id) WHERE name = 'k30' "
                 "ORDER BY key"),
            "bytes 96\ncall cabc.py(30)\nclass MLP\nflops 0\nfused with attn\nlines model.py(9), "
            "model.py(7)\n"
            "module mlp\noperators aten.add, aten.mul\n");
  EXPECT_EQ(
      Rows("SELECT input_shapes, frame FROM framework_op o JOIN slice s USING (slice_id) JOIN "
           "callstack USING (stack_id) WHERE s.name = 'k20' ORDER BY callstack.depth"),
      "2,4 model.py(7): forward\n2,4 model.py(20): forward\n2,4 /tmp/ab/cabc.py(20): call\n");
  EXPECT_EQ(Rows("SELECT count(*) FROM metadata WHERE key LIKE 'compiled_graph%'"), "0\n");
}

TEST_F(CompiledCaptureTest, WhatTheCompilerRunsIsNoWorkOfTheProgram) {
  const auto op = [&](uint64_t begin, uint64_t end, const char* name) {
    c_.Add(1, Range{.begin = begin, .end = end, .name = c_.Name(name)});
  };
  op(100, 110, "aten::before");
  op(130, 135, "aten::fake");
  op(131, 134, "aten::inside");
  c_.Add(1, Range{.kind = RecordKind::kUserScope,
                  .begin = 125,
                  .end = 140,
                  .name = c_.Name("bytecode_tracing (dynamo_timed)")});
  op(141, 144, "aten::trial");
  c_.Add(1, Range{.kind = RecordKind::kUserScope,
                  .begin = 120,
                  .end = 150,
                  .name = c_.Name("_compile.compile_inner (dynamo_timed)")});
  op(112, 160, "aten::outer");  // its own time is that without the compiler
  op(170, 180, "aten::after");
  at_ = 200;
  Finish();
  EXPECT_EQ(Rows("SELECT name, dur FROM device_task ORDER BY ts"),
            "aten::before 10\naten::outer 18\naten::after 10\n");
  EXPECT_EQ(Rows("SELECT count(*) FROM slice WHERE name LIKE 'aten::%'"), "6\n");
}

// Each call of a module is one of the compiled code, however the kernels of two calls meet.
TEST_F(CompiledCaptureTest, CallsEndWithTheirRegion) {
  c_.Metadata("compiled_graph:cabc.py", kGraph);
  Region({10});
  Region({10});
  Finish();
  EXPECT_EQ(Rows("SELECT name, count(*) FROM slice WHERE category = 'module' GROUP BY name ORDER "
                 "BY name"),
            "Block 2\nattn 2\n");
}

// Blocks that are compiled by themselves share one graph: the recorded call says which one it is.
TEST_F(CompiledCaptureTest, PathsBeginWithTheModuleThatWasCalled) {
  c_.Metadata("compiled_graph:cabc.py", kGraph);
  const uint64_t whole = at_ - 5;
  uint64_t begin = at_ - 2;
  Region({10});
  Module("layers.0", "Block", begin);
  at_ += 10;
  begin = at_ - 2;
  Region({30});
  Module("layers.1", "OptimizedModule", begin);
  Module("Net", "Net", whole);
  Finish();
  EXPECT_EQ(Rows("SELECT DISTINCT name, depth FROM slice WHERE category = 'module' ORDER BY 1, 2"),
            "Net 0\nlayers.0 1\nlayers.0.attn 2\nlayers.1 1\nlayers.1 2\nlayers.1.mlp 3\n");
}

TEST_F(CompiledCaptureTest, BackwardHasThePathOfItsForward) {
  std::string backward = kGraph;
  backward.replace(backward.find("\"backward\": false"), 17, "\"backward\": true");
  c_.Metadata("compiled_graph:cabc.py", kGraph);
  c_.Metadata("compiled_graph:cback.py", backward);
  const auto function = [&](RecordKind kind, const char* name, int32_t sequence, uint64_t begin) {
    c_.Add(
        1,
        Range{
            .kind = kind, .begin = begin, .end = at_, .name = c_.Name(name), .sequence = sequence});
  };
  for (const int32_t layer : {0, 1}) {
    const uint64_t begin = at_ - 2;
    Region({10});
    function(RecordKind::kFrameworkRange, "CompiledFunction", layer, begin);
    Module(layer == 0 ? "layers.0" : "layers.1", "Block", begin - 1);
  }
  for (const int32_t layer : {1, 0}) {
    const uint64_t begin = at_ - 2;
    Region({10}, "/tmp/cd/cback.py");
    function(RecordKind::kBackwardNode, "CompiledFunctionBackward", layer, begin);
  }
  Finish();
  EXPECT_EQ(Rows("SELECT o.module FROM framework_op o JOIN slice s USING (slice_id) WHERE s.name = "
                 "'k10' ORDER BY ts"),
            "layers.0.attn\nlayers.1.attn\nlayers.1.attn (backward)\nlayers.0.attn (backward)\n");
}

TEST_F(CompiledCaptureTest, BadTablesAreCountedAndLeftOut) {
  for (const char* bad :
       {"{", "[]", R"({"sites": 3})", R"({"sites": {"x": {}}})", R"({"sites": {"-4": {}}})"}) {
    c_.Metadata("compiled_graph:" + std::to_string(at_++), bad);
  }
  c_.Metadata("compiled_graph:cabc.py",
              R"({"modules": [["a", "A", 0], [1, 2], 7], "frames": ["x", ["f"]],
                  "sites": {"10": {"module": 9, "also": [-1, 5, "x"], "frames": 3, "lines": [1],
                                   "operators": [1]}, "20": 4, "30": {"module": 0}}})");
  Region({10, 20, 30});
  Finish();
  EXPECT_EQ(Rows("SELECT name FROM slice WHERE category = 'module'"), "a\n");
  EXPECT_EQ(Rows("SELECT count FROM import_issue WHERE code = 'metadata_garbled'"), "5\n");
}

}  // namespace
}  // namespace sonde::importers
