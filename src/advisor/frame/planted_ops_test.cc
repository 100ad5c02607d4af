// Rules of msprof-analyze about operators, on planted traces: fires, and not just below its limit.
#include "advisor/frame/planted.h"

namespace sonde::advisor {
namespace {

void OfAscend(PlantedTrace& trace, std::string_view cann) {
  trace.Know("is_ascend", int64_t{1});
  trace.Know("is_other", int64_t{0});
  trace.Know("cann", std::string(cann));
}

store::TaskKindRow KindOf(PlantedTrace& trace, std::string_view op_type, std::string_view core) {
  return {.name = trace.Name(op_type), .op_type = trace.Name(op_type), .core = trace.Name(core)};
}

TEST(Rules, AicpuAnalysis) {
  const auto plant = [](PlantedTrace& trace, int64_t dur_ns) {
    OfAscend(trace, "8.0.0");
    trace.Kernel(KindOf(trace, "Index", "AI_CPU"), 0, dur_ns);
    trace.Kernel(KindOf(trace, "MatMul", "AI_CORE"), kMs, 10 * kUs);
  };
  EXPECT_EQ(CheckWithRows("aicpu_analysis", plant, 20'000, 19'999).evidence.gain_us, 20);
}

TEST(Rules, BlockDimAnalysis) {
  const auto plant = [](PlantedTrace& trace, int64_t more) {
    OfAscend(trace, "8.0.0");
    trace.Know("ai_core_num", int64_t{24});
    trace.Know("aiv_num", int64_t{48});
    store::TaskKindRow cube = KindOf(trace, "MatMul", "AI_CORE");
    cube.op_state = trace.Name("static");
    cube.block_num = 24 + more;
    trace.Kernel(cube, 0, 50 * kUs);
    store::TaskKindRow vector = KindOf(trace, "Add", "AI_VECTOR_CORE");
    vector.block_num = 48;
    trace.Kernel(vector, kMs, 50 * kUs);
  };
  const Advice advice = Check("block_dim_analysis", plant, 1, 0);
  EXPECT_EQ(advice.evidence.total_us, 50);
  EXPECT_EQ(advice.tuned_ops, std::vector<std::string>{"MatMul"});
}

TEST(Rules, ByteAlignmentAnalysis) {
  const auto plant = [](PlantedTrace& trace, int64_t bytes) {
    OfAscend(trace, "8.0.0");
    const int32_t slice = trace.Slice("hcom_allReduce_", 0, 10 * kUs, 1, "hccl");
    trace.Put<store::CommunicationOpRow>(
        {{.slice_id = slice, .ts = 0, .dur = 10 * kUs, .name = trace.Name("hcom_allReduce_")}});
    trace.Copy("Memcpy", kUs, 4 * kUs, bytes);
    trace.Copy("Memcpy", 6 * kUs, 2 * kUs, 511);  // too short to matter
  };
  EXPECT_EQ(CheckWithRows("byte_alignment_analysis", plant, 1025, 1024).evidence.total_us, 4);
}

// The product of 1024 x 1024 by 1024 x `columns` is 100 MiB with 49152 of them.
TEST(Rules, CubePerformance) {
  const auto plant = [](PlantedTrace& trace, int64_t columns) {
    OfAscend(trace, "8.0.0");
    store::TaskKindRow kind = KindOf(trace, "MatMul", "AI_CORE");
    kind.input_shapes = trace.Name("1024,1024;1024,1024");
    kind.output_shapes = trace.Name("1024," + std::to_string(columns));
    const int32_t task = trace.Kernel(kind, 0, 100 * kUs);
    trace.Measure(task, "aic_mac_ratio", 0.7);
    trace.Measure(task, "aic_mte2_ratio", 0.9);
  };
  EXPECT_NEAR(CheckWithRows("cube_performance", plant, 49152, 49151).evidence.gain_us, 10, 1e-9);
}

TEST(Rules, DynamicShapeAnalysis) {
  const auto plant = [](PlantedTrace& trace, int64_t statics) {
    OfAscend(trace, "8.0.0");
    for (int64_t i = 0; i < 3; ++i) {
      store::TaskKindRow kind = KindOf(trace, "MatMul", "AI_CORE");
      kind.op_state = trace.Name(i < statics ? "static" : "dynamic");
      trace.Kernel(kind, i * kMs, 10 * kUs);
    }
  };
  const Advice advice = Check("dynamic_shape_analysis", plant, 0, 1);
  EXPECT_EQ(advice.evidence.occurrences, 3);
  EXPECT_FALSE(advice.suggestions.empty());
}

// Every FlashAttention is spoken of: as bound, or as one with room.
TEST(Rules, FaPerformance) {
  const auto plant = [](PlantedTrace& trace, int64_t calls) {
    OfAscend(trace, "8.0.0");
    store::TaskKindRow kind =
        KindOf(trace, calls > 0 ? "FlashAttentionScore" : "SoftmaxV2", "MIX_AIC");
    kind.input_shapes = trace.Name("1,16,4096,128;1,16,4096,128;1,16,4096,128");
    kind.output_shapes = trace.Name("1,16,4096,8;1,16,4096,8;;1,16,4096,128");
    const int32_t task = trace.Kernel(kind, 0, 100 * kUs);
    trace.Measure(task, "aic_mte2_ratio", 0.6);
    trace.Measure(task, "aiv_vec_ratio", 0.74);
  };
  const Advice advice = CheckWithRows("fa_performance", plant, 1, 0);
  EXPECT_NEAR(advice.evidence.gain_us, 20, 1e-9);
  EXPECT_NE(TextOf(advice.sheet.rows[0][1]).find("room"), std::string::npos);
}

TEST(Rules, VectorPerformance) {
  // A hundredth of all work is of one type of the vector cores.
  const auto plant = [](PlantedTrace& trace, int64_t dur_ns) {
    OfAscend(trace, "8.0.0");
    store::TaskKindRow kind = KindOf(trace, "Mul", "AI_VECTOR_CORE");
    kind.input_shapes = trace.Name("16,16");
    kind.output_shapes = kind.input_shapes;
    const int32_t task = trace.Kernel(kind, 0, dur_ns);
    trace.Measure(task, "aiv_vec_ratio", 0.1);
    trace.Kernel(KindOf(trace, "MatMul", "AI_CORE"), kMs, 99 * kUs);
  };
  EXPECT_EQ(CheckWithRows("vector_performance", plant, 1000, 999).evidence.occurrences, 1);
}

// A chain that is moved data more than anything else has to come six times.
TEST(Rules, FusibleOperatorAnalysis) {
  const auto plant = [](PlantedTrace& trace, int64_t times) {
    OfAscend(trace, "8.0.0");
    int64_t ts = 0;
    for (int64_t i = 0; i < times; ++i) {
      for (const char* name : {"Add", "Mul", "Cast"}) {
        store::TaskKindRow kind = KindOf(trace, name, "AI_VECTOR_CORE");
        kind.input_shapes = trace.Name("16,16");
        const int32_t task = trace.Kernel(kind, ts, 20 * kUs);
        trace.Measure(task, "aicore_time(us)", 20);
        trace.Measure(task, "aiv_mte2_time(us)", 17);
        ts += 21 * kUs;
      }
      trace.Kernel(KindOf(trace, "hcom_allReduce_", "COMMUNICATION"), ts, 5 * kUs);
      ts += 10 * kUs;
    }
  };
  EXPECT_GT(CheckWithRows("fusible_operator_analysis", plant, 6, 5).evidence.occurrences, 0);
}

TEST(Rules, OperatorNoBoundAnalysis) {
  const auto plant = [](PlantedTrace& trace, int64_t thousandths) {
    OfAscend(trace, "8.0.0");
    store::TaskKindRow kind = KindOf(trace, "Conv2D", "AI_CORE");
    kind.op_state = trace.Name("static");
    const int32_t task = trace.Kernel(kind, 0, 21 * kUs);
    trace.Measure(task, "aic_mac_ratio", static_cast<double>(thousandths) / 1000);
  };
  EXPECT_EQ(Check("operator_no_bound_analysis", plant, 800, 801).evidence.total_us, 21);
}

TEST(Rules, TimelineFusionOps) {
  // mul, mul, add is torch.addmm; mul and add are not.
  const auto plant = [](PlantedTrace& trace, int64_t muls) {
    OfAscend(trace, "8.0.0");
    trace.Know("torch", std::string("2.1.0"));
    for (int64_t i = 0; i < muls; ++i) trace.Slice("aten::mul", i * kMs, 10 * kUs);
    const int32_t add = trace.Slice("aten::add", muls * kMs, 10 * kUs);
    trace.Put<store::FrameworkOpRow>({{.slice_id = add}});
  };
  const Advice advice = CheckWithRows("timeline_fusion_ops", plant, 2, 1);
  EXPECT_EQ(TextOf(advice.sheet.rows[0][0]), "torch.addmm");
}

}  // namespace
}  // namespace sonde::advisor
