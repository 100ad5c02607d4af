// Summary of one rank in a few numbers: for the terminal after `sonde analyse` and the first page
// of the viewer.
//
// Times of steps are means over the steps that count (trace/counted_steps.h; over the whole capture
// where it has none), of each device. Operators are those of the device by type, modules by path.
// Memory: the greatest total that the allocator reported. Units: nanoseconds, bytes. Pure, any
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "recipes/coverage/coverage.h"
#include "recipes/finding/finding.h"
#include "recipes/finding/slow_rank.h"
#include "recipes/meaning/meaning.h"
#include "recipes/step_trace/step_trace.h"
#include "recipes/trace/device_view.h"

namespace sonde::recipes {

struct NamedTime {
  std::string name;
  int64_t count = 0;
  int64_t total_ns = 0;
};

struct DeviceSteps {
  int64_t device_id = 0;
  int64_t count = 0;     // steps that count
  int64_t left_out = 0;  // fragments and warm-up
  StepTraceRow mean = {};
  CopyTimes mean_copies = {};
};

struct RankSummary {
  std::optional<int64_t> rank;
  int64_t pid = 0;         // of the operating system; 0: unknown
  bool is_worker = false;  // a helper process of a rank, such as a data loader's
  int64_t operator_count = 0;
  std::vector<DeviceSteps> devices;
  std::vector<NamedTime> operators;  // by total, descending
  std::vector<NamedTime> modules;
  std::vector<NamedTime> copies;     // by direction
  int64_t peak_memory_bytes = -1;    // -1: not recorded
  int64_t peak_reserved_bytes = -1;  // the greatest, with the allocator's reserve; -1: unknown
  int64_t peak_process_bytes = -1;   // the greatest of the process as a whole; -1: unknown
  // The allocator of a CPU counts what happens while recording; others since the process began.
  bool memory_since_recording = false;
  std::optional<int64_t> first_step;  // the recording began in it
  std::vector<CoverageRow> coverage;
  std::vector<Finding> findings;
  RankWork work;
};

// Of the device at that place of the view.
DeviceSteps MeanStepOf(const DeviceView& view, size_t place);

RankSummary Summarise(const DeviceView& view);

}  // namespace sonde::recipes
