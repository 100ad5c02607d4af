// A seeded capture in the shape of a training run, for benchmarks: steps of 3 000 ops, 35 % of
// them around others, modules, backward nodes on a second thread, shapes and memory events where
// asked for. Not for products. One thread.
#pragma once

#include <cstdint>

#include "importers/capture/testing/capture_builder.h"

namespace sonde::importers::testing {

struct TrainingCaptureOptions {
  bool with_shapes = true;
  bool with_memory = false;
};

// Fills `capture` with at least `ops` operators and ends it; returns how many there are.
int64_t MakeTrainingCapture(CaptureBuilder& capture, int64_t ops,
                            const TrainingCaptureOptions& options);

}  // namespace sonde::importers::testing
