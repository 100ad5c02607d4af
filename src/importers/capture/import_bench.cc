// Speed of the import of a capture: ns a record from files to checkpointed store, by stage.
//
// Usage: sonde_import_bench [OPS] [FOLDER]. The capture is made by a seeded generator in the shape
// of a training run: steps of 3 000 ops with shapes, 35 % of them around others, modules, backward
// nodes on a second thread, and memory events where OPS_MEMORY=1 is set in the environment.
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/clock.h"
#include "base/files.h"
#include "importers/capture/import.h"
#include "importers/capture/testing/capture_builder.h"
#include "importers/registry.h"

namespace {

using sonde::capture::RecordKind;
using sonde::importers::testing::ArgsBuilder;
using sonde::importers::testing::CaptureBuilder;
using Range = CaptureBuilder::Range;

class Generator {
 public:
  Generator(CaptureBuilder& capture, bool memory) : capture_(capture), memory_(memory) {
    capture_.Thread(1, 1001, 1, "main");
    capture_.Thread(2, 1002, 2, "autograd");
    const uint32_t inputs = capture_.Name(sonde::capture::kKeyInputs);
    for (int i = 0; i < 60; ++i) {
      ops_.push_back(capture_.Name("aten::operator_" + std::to_string(i)));
    }
    for (int64_t i = 0; i < 400; ++i) {
      args_.push_back(capture_.Args(ArgsBuilder().Tensors(inputs, {{i, 128}, {128}, {}})));
    }
    for (int i = 0; i < 40; ++i) {
      modules_.push_back(capture_.Name("model.layers." + std::to_string(i)));
    }
  }

  // Returns the number of ops written.
  int64_t Step(int32_t number, int64_t ops) {
    const uint64_t begin = now_;
    int64_t made = 0;
    for (size_t i = 0; made < ops * 2 / 3; ++i) {
      const uint64_t module_begin = now_;
      for (int j = 0; j < 8; ++j) made += Op(1, 0);
      capture_.Add(1, Range{.kind = RecordKind::kModule,
                            .begin = module_begin,
                            .end = now_,
                            .name = modules_[i % modules_.size()]});
    }
    for (int32_t node = sequence_ - 1; made < ops; node -= 3) {
      const uint64_t node_begin = now_;
      for (int j = 0; j < 3; ++j) made += Op(2, 0);
      capture_.Add(2, Range{.kind = RecordKind::kBackwardNode,
                            .begin = node_begin,
                            .end = now_,
                            .name = capture_.Name("AddmmBackward0"),
                            .link = 1,
                            .sequence = node > 0 ? node : 0});
    }
    capture_.Add(1, Range{.kind = RecordKind::kStep,
                          .begin = begin,
                          .end = now_ + 1000,
                          .name = capture_.Name("ProfilerStep#" + std::to_string(number)),
                          .sequence = number});
    now_ += 5000;
    capture_.Flush(1);
    capture_.Flush(2);
    return made;
  }

 private:
  uint64_t Random() {
    seed_ = seed_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return seed_ >> 33U;
  }

  // An op with up to two levels of ops inside; returns how many were made.
  int64_t Op(uint32_t thread, int depth) {
    const uint64_t begin = now_;
    now_ += 200 + Random() % 400;
    int64_t made = 1;
    if (depth < 3 && Random() % 100 < 35) {
      const uint64_t inner = 1 + Random() % 3;
      for (uint64_t i = 0; i < inner; ++i) made += Op(thread, depth + 1);
    } else if (memory_ && Random() % 2 == 0) {
      capture_.AddMemory(thread, now_, 0x1000 + (memory_events_ / 2 % 512) * 64,
                         memory_events_ % 2 == 0 ? 4096 : -4096, 1 << 20);
      ++memory_events_;
    }
    now_ += 100 + Random() % 2000;
    capture_.Add(thread, Range{.begin = begin,
                               .end = now_,
                               .name = ops_[Random() % ops_.size()],
                               .args = args_[Random() % args_.size()],
                               .sequence = sequence_});
    sequence_ += static_cast<int32_t>(Random() % 2);
    now_ += 50;
    return made;
  }

  CaptureBuilder& capture_;
  bool memory_;
  uint64_t now_ = 1000;
  uint64_t seed_ = 42;
  int64_t memory_events_ = 0;
  int32_t sequence_ = 0;
  std::vector<uint32_t> ops_;
  std::vector<uint32_t> args_;
  std::vector<uint32_t> modules_;
};

double CpuSeconds() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

int Run(int64_t ops, const std::string& folder) {
  const std::string span = folder + "/bench_4242_1_ascend_pt";
  const char* memory = std::getenv("OPS_MEMORY");  // NOLINT(concurrency-mt-unsafe)
  int64_t made = 0;
  {
    CaptureBuilder capture;
    Generator generator(capture, memory != nullptr);
    for (int32_t step = 0; made < ops; ++step) made += generator.Step(step, 3000);
    capture.End(sonde::capture::StopReason::kStopped, 0);
    if (!capture.Write(span).ok()) return 1;
  }
  for (int threads = 1; threads <= 2; ++threads) {
    for (int round = 0; round < 3; ++round) {
      const auto sources = sonde::importers::FindTraces(span);
      const double cpu_begin = CpuSeconds();
      const int64_t begin = sonde::base::MonotonicRawNs();
      const auto imported = sonde::importers::ImportTrace((*sources)[0], StorePath((*sources)[0]),
                                                          {.threads = threads});
      const int64_t end = sonde::base::MonotonicRawNs();
      if (!imported.ok()) {
        std::fprintf(stderr, "%s\n", std::string(imported.status().message()).c_str());
        return 1;
      }
      const auto per_op = [&](double seconds) { return seconds * 1e6 / static_cast<double>(made); };
      std::printf("%d threads: %lld ops, %lld slices, %lld tasks: %.3f us an op, CPU %.3f\n",
                  threads, static_cast<long long>(made),
                  static_cast<long long>(imported->summary.slices),
                  static_cast<long long>(imported->summary.device_tasks),
                  per_op(static_cast<double>(end - begin) / 1e9), per_op(CpuSeconds() - cpu_begin));
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t ops = argc > 1 ? std::atoll(argv[1]) : 1'000'000;
  const std::string folder = argc > 2 ? argv[2] : "/tmp/sonde_import_bench";
  const int result = Run(ops, folder);
  if (argc <= 2) sonde::base::RemoveTree(folder).IgnoreError();  // made by this program
  return result;
}
