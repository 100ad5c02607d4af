#include "importers/capture/testing/training_capture.h"

#include <string>
#include <vector>

#include "capture/args.h"

namespace sonde::importers::testing {
namespace {

using capture::RecordKind;
using Range = CaptureBuilder::Range;

class Generator {
 public:
  Generator(CaptureBuilder& capture, const TrainingCaptureOptions& options)
      : capture_(capture), options_(options) {
    capture_.Thread(1, 1001, 1, "main");
    capture_.Thread(2, 1002, 2, "autograd");
    const uint32_t inputs = capture_.Name(sonde::capture::kKeyInputs);
    for (int i = 0; i < 60; ++i) {
      ops_.push_back(capture_.Name("aten::operator_" + std::to_string(i)));
    }
    for (int64_t i = 0; i < 400 && options.with_shapes; ++i) {
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
    } else if (options_.with_memory && Random() % 2 == 0) {
      const auto block = static_cast<uint64_t>(memory_events_ / 2 % 512);
      capture_.AddMemory(thread, now_, 0x1000 + block * 64, memory_events_ % 2 == 0 ? 4096 : -4096,
                         1 << 20);
      ++memory_events_;
    }
    now_ += 100 + Random() % 2000;
    capture_.Add(thread, Range{.begin = begin,
                               .end = now_,
                               .name = ops_[Random() % ops_.size()],
                               .args = args_.empty() ? 0 : args_[Random() % args_.size()],
                               .sequence = sequence_});
    sequence_ += static_cast<int32_t>(Random() % 2);
    now_ += 50;
    return made;
  }

  CaptureBuilder& capture_;
  TrainingCaptureOptions options_;
  uint64_t now_ = 1000;
  uint64_t seed_ = 42;
  uint64_t memory_events_ = 0;
  int32_t sequence_ = 0;
  std::vector<uint32_t> ops_;
  std::vector<uint32_t> args_;
  std::vector<uint32_t> modules_;
};

}  // namespace

int64_t MakeTrainingCapture(CaptureBuilder& capture, int64_t ops,
                            const TrainingCaptureOptions& options) {
  Generator generator(capture, options);
  int64_t made = 0;
  for (int32_t step = 0; made < ops; ++step) made += generator.Step(step, 3000);
  capture.End(sonde::capture::StopReason::kStopped, 0);
  return made;
}

}  // namespace sonde::importers::testing
