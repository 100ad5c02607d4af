// Rules on planted traces: each fires where what it looks for is there, and not just below its
// limit.
#include "advisor/frame/planted.h"

namespace sonde::advisor {
namespace {

// Five waits each end a kernel in their middle; the next one begins `idle_us` later.
void PlantWaits(PlantedTrace& trace, int64_t wait_us, int64_t idle_us) {
  trace.Step(1, 0, 100 * kMs);
  for (int64_t i = 1; i <= 5; ++i) {
    trace.Slice("cudaStreamSynchronize", 10 * i * kMs, wait_us * kUs, 0, "cuda_runtime");
  }
  int64_t begin = 0;
  for (int64_t i = 1; i <= 5; ++i) {
    const int64_t end = 10 * i * kMs + 500 * kUs;
    trace.Kernel("gemm", begin, end - begin, 0);
    begin = end + idle_us * kUs;
  }
  trace.Kernel("gemm", begin, 100 * kMs - begin, 0);
}

TEST(Rules, HostSynchronisation) {
  const auto plant = [](PlantedTrace& trace, int64_t wait_us) { PlantWaits(trace, wait_us, 1500); };
  const Advice advice = CheckWithRows("host_synchronisation", plant, 1000, 999);
  EXPECT_EQ(advice.evidence.total_us, 5000);
  EXPECT_EQ(advice.evidence.gain_us, 7500);
  EXPECT_EQ(advice.description.substr(0, 53),
            "The host waited 5 times for the device, 5.0 % of the ");
}

TEST(RulesDoNotFire, WhereTheDeviceHasWorkBehindEachWait) {
  PlantedTrace trace;
  PlantWaits(trace, 5000, 900);
  EXPECT_FALSE(trace.Ask("host_synchronisation").has_value());
}

TEST(Rules, SmallKernels) {
  const auto plant = [](PlantedTrace& trace, int64_t idle_us) {
    trace.Step(1, 0, 100 * kMs);
    for (int64_t i = 0; i < 10; ++i) {
      trace.Kernel("small", i * kMs, 9 * kUs, idle_us * kUs);
      trace.Kernel("large", i * kMs + 500 * kUs, 10 * kUs, 0);
    }
  };
  EXPECT_EQ(CheckWithRows("small_kernels", plant, 2000, 1999).evidence.gain_us, 20000);
}

TEST(Rules, UnfusedPointwise) {
  const auto plant = [](PlantedTrace& trace, int64_t length) {
    trace.Kernel("gemm", 0, 100 * kUs, 0);
    for (int64_t i = 0; i < length; ++i) {
      trace.Kernel("vectorized_elementwise_kernel<4, add>", (i + 1) * kMs, 30 * kUs, 0);
    }
    trace.Kernel("gemm", 10 * kMs, 100 * kUs, 0);
  };
  EXPECT_EQ(CheckWithRows("unfused_pointwise", plant, 3, 2).evidence.gain_us, 60);
}

TEST(Rules, DataLoaderWait) {
  const auto plant = [](PlantedTrace& trace, int64_t wait_us) {
    trace.Step(1, 0, 100 * kMs);
    trace.Slice("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 0, wait_us * kUs);
  };
  const Advice advice = CheckWithRows("data_loader_wait", plant, 5000, 4999);
  EXPECT_EQ(advice.evidence.gain_us, 5000);
  EXPECT_EQ(advice.suggestions.size(), 3U) << "one for a loader without processes of its own";
}

TEST(Rules, PythonCollection) {
  const auto plant = [](PlantedTrace& trace, int64_t us) {
    trace.Step(1, 0, 100 * kMs);
    trace.Slice("GC", kMs, us * kUs, 0, "gc");
  };
  EXPECT_EQ(CheckWithRows("python_collection", plant, 1000, 999).evidence.total_us, 1000);
}

TEST(Rules, Recompilation) {
  const auto plant = [](PlantedTrace& trace, int64_t begin_ms) {
    trace.Step(1, 0, 10 * kMs);
    trace.Step(2, 10 * kMs, 10 * kMs);
    trace.Slice("_compile.compile_inner (dynamo_timed)", begin_ms * kMs, 2 * kMs);
  };
  EXPECT_EQ(CheckWithRows("recompilation", plant, 11, 10).evidence.gain_us, 2000);
}

TEST(RulesDoNotFire, WhereCompiledCodeOnlyRuns) {
  PlantedTrace trace;
  trace.Step(1, 0, 10 * kMs);
  trace.Step(2, 10 * kMs, 10 * kMs);
  trace.Slice("Torch-Compiled Region: 0/0", 11 * kMs, 5 * kMs);
  trace.Slice("CompiledFunctionBackward", 17 * kMs, 2 * kMs);
  trace.Slice("cuModuleLoadData", 19 * kMs, 2 * kMs);
  EXPECT_FALSE(trace.Ask("recompilation").has_value());
}

TEST(RulesDoNotFire, WhereAModelSoundsLikeADataLoader) {
  PlantedTrace trace;
  trace.Step(1, 0, 100 * kMs);
  trace.Slice("DataLoaderFreeEmbedding.__next__", 0, 50 * kMs);
  EXPECT_FALSE(trace.Ask("data_loader_wait").has_value());
}

TEST(Rules, AliveAtPeak) {
  const auto plant = [](PlantedTrace& trace, int64_t mib) {
    const int32_t linear = trace.Slice("aten::linear", 0, kMs);
    const auto block = [&](int64_t size_mib, int64_t ts, int64_t total_mib, int32_t owner) {
      return store::MemoryBlockRow{.size_bytes = size_mib * kMiB,
                                   .alloc_ts = ts,
                                   .owner_slice_id = owner,
                                   .alloc_total_allocated = total_mib * kMiB};
    };
    std::vector<store::MemoryBlockRow> blocks = {block(mib, 1, mib, linear)};
    for (int64_t i = 0; i < 7; ++i) {
      const std::string name = "op" + std::to_string(i);
      blocks.push_back(block(10, 2 + i, mib + (i + 1) * 10, trace.Slice(name, kMs, 1)));
    }
    trace.Put(blocks);
  };
  const Advice advice = CheckWithRows("alive_at_peak", plant, 30, 29);
  EXPECT_NE(advice.description.find("(30.0 MiB) were allocated by aten::linear"),
            std::string::npos);
}

void PlantMemory(PlantedTrace& trace, int64_t reserved_mib, int16_t device_type) {
  store::MemoryEventRow row;
  row.ts = 1;
  row.size_bytes = kMiB;
  row.total_allocated = 700 * kMiB;
  row.total_reserved = reserved_mib * kMiB;
  row.device_type = device_type;
  trace.Put<store::MemoryEventRow>({row});
}

TEST(RulesDoNotFire, WhereThePoolIsTheHosts) {
  PlantedTrace trace;
  PlantMemory(trace, 2000, 0);
  EXPECT_FALSE(trace.Ask("fragmentation").has_value());
}

TEST(Rules, Fragmentation) {
  const auto plant = [](PlantedTrace& trace, int64_t reserved_mib) {
    PlantMemory(trace, reserved_mib, 1);
  };
  EXPECT_NE(CheckWithRows("fragmentation", plant, 1000, 999).description.find("300 of 1000 MiB"),
            std::string::npos);
}

TEST(Rules, MemoryGrowth) {
  const auto plant = [](PlantedTrace& trace, int64_t steps) {
    std::vector<store::MemoryEventRow> events;
    for (int64_t i = 0; i < steps; ++i) {
      trace.Step(i, i * 10 * kMs, 9 * kMs);
      events.push_back(
          {.ts = i * 10 * kMs + kMs, .size_bytes = kMiB, .total_allocated = (100 + i) * kMiB});
    }
    trace.Put(events);
  };
  EXPECT_NE(CheckWithRows("memory_growth", plant, 4, 3).description.find("1.00 MiB a step"),
            std::string::npos);
}

store::EngineStepRow EngineStep(int64_t id, int64_t dur_us, int32_t prefill, int32_t decode) {
  return {.step_id = id,
          .ts = id * 1000 * kMs,
          .dur = dur_us * kUs,
          .prefill_tokens = prefill,
          .decode_requests = decode};
}

TEST(Rules, PrefillInterference) {
  // Five steps with prompts, longer by `more_us`; 95 ms decode alone in ten.
  const auto plant = [](PlantedTrace& trace, int64_t more_us) {
    std::vector<store::EngineStepRow> steps;
    for (int64_t i = 0; i < 10; ++i) steps.push_back(EngineStep(i, 10'000, 0, 4));
    for (int64_t i = 10; i < 15; ++i) steps.push_back(EngineStep(i, 10'000 + more_us, 512, 4));
    trace.Put(steps);
  };
  const Advice advice = CheckWithRows("prefill_interference", plant, 3334, 3333);
  EXPECT_NEAR(advice.evidence.gain_us, 5 * 3334, 1e-6);
}

TEST(Rules, Preemption) {
  const auto plant = [](PlantedTrace& trace, int64_t steps) {
    std::vector<store::EngineStepRow> rows;
    for (int64_t i = 0; i < steps; ++i) rows.push_back(EngineStep(i, 10'000, 0, 4));
    rows[0].preempted_requests = 2;
    trace.Put(rows);
  };
  EXPECT_EQ(CheckWithRows("preemption", plant, 100, 101).evidence.occurrences, 2);
}

TEST(Rules, PrefixCache) {
  const auto plant = [](PlantedTrace& trace, int64_t cached) {
    std::vector<store::RequestRow> rows(2);
    for (size_t i = 0; i < rows.size(); ++i) {
      rows[i].request_id = static_cast<int32_t>(i);
      rows[i].prompt_tokens = 5000;
      rows[i].cached_tokens = cached;
    }
    trace.Put(rows);
  };
  EXPECT_NE(CheckWithRows("prefix_cache", plant, 499, 500).description.find("10000 tokens"),
            std::string::npos);
}

TEST(Rules, QueueAtBatchLimit) {
  const auto plant = [](PlantedTrace& trace, int64_t waiting_steps) {
    std::vector<store::EngineStepRow> rows;
    for (int64_t i = 0; i < 10; ++i) {
      rows.push_back(EngineStep(i, 10'000, 0, 8));
      rows.back().running_requests = 8;
      rows.back().kv_cache_usage = 0.5;
      rows.back().waiting_requests = i < waiting_steps ? 3 : 0;
    }
    trace.Put(rows);
  };
  EXPECT_EQ(CheckWithRows("queue_at_batch_limit", plant, 2, 1).evidence.occurrences, 2);
}

TEST(Rules, HostBoundDecode) {
  const auto plant = [](PlantedTrace& trace, int64_t host_us) {
    std::vector<store::EngineStepRow> rows;
    for (int64_t i = 0; i < 10; ++i) {
      rows.push_back(EngineStep(i, 10'000, 0, 8));
      rows.back().schedule_ns = 500 * kUs;
      rows.back().update_ns = (host_us - 500) * kUs;
    }
    trace.Put(rows);
  };
  EXPECT_NEAR(CheckWithRows("host_bound_decode", plant, 2000, 1999).evidence.gain_us, 20000, 1e-6);
}

}  // namespace
}  // namespace sonde::advisor
