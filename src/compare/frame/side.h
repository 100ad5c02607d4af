// One side of a comparison: what the sheets need of a trace, taken from its tables once.
//
// A side owns all it holds, so that both sides outlive their traces.
// Operators are nested over all threads, as the reference does: the parent of an operator is the
// last one before it that ends no earlier than it begins. Units: nanoseconds of the Unix epoch,
// bytes. Threads: made by one, then read by any. Memory: about 150 bytes an operator.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "recipes/trace/device_view.h"

namespace sonde::compare {

inline constexpr int32_t kNone = -1;

// Where the reference has rules of its own.
enum class SideKind : uint8_t {
  kNpuText,  // Ascend, with the lane "Overlap Analysis"
  kNpuDb,    // Ascend, without
  kGpu,
  kCpu,  // the host is the device
};

// Where the time of a step of a device went (recipes/step_trace). What is left of the step lies
// before the first and behind the last of its work.
struct DeviceTimes {
  int64_t computing_ns = 0;
  int64_t communication_ns = 0;  // without computing
  int64_t free_ns = 0;           // between the work of the device
};
// By number of the device, of several processes with that of its process; none: not known.
using TimesByDevice = std::map<std::string, DeviceTimes>;

// A piece of the trace that counts, both ends included.
struct Window {
  int64_t step_id = kNone;                                 // of a step
  int64_t begin_ns = std::numeric_limits<int64_t>::min();  // on the host
  int64_t end_ns = std::numeric_limits<int64_t>::max();
  // A device of its own works behind the host: a step is over when both are done with it, and the
  // next one begins then at the earliest.
  int64_t queued_ns = 0;  // after begin_ns: the step before is not over
  int64_t behind_ns = 0;  // after end_ns: the device is not done
  TimesByDevice devices = {};
  bool is_unfinished = false;    // had not ended when recording ended
  int32_t run = 0;               // of a side of several
  int64_t processor_ns = kNone;  // of its thread; kNone: not recorded
  int64_t unserved_ns = 0;       // others had the processor (recipes/trace/processor_use.h)
  bool Has(int64_t ts) const { return ts >= begin_ns && ts <= end_ns; }
  int64_t FromNs() const { return begin_ns + queued_ns; }
  int64_t OverNs() const { return end_ns + behind_ns; }
};

struct Op {
  int32_t name = kNone;
  int32_t shapes = kNone;
  int32_t types = kNone;
  int32_t stack = kNone;  // index of Side::stacks
  int32_t thread = kNone;
  int32_t slice = kNone;
  int32_t parent = kNone;  // index of Side::ops
  int32_t first_child = kNone;
  int32_t last_child = kNone;
  int32_t next_sibling = kNone;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  int64_t kernel_count = 0;  // of the operator and all below it
  bool is_step = false;
  int64_t DurationNs() const { return end_ns - begin_ns; }
};

// Work of the device: tasks, and communication operations that hang below an operator.
struct Kernel {
  int32_t name = kNone;
  int32_t type = kNone;  // of the operator
  int32_t core = kNone;  // kNone: no kernel (event, copy, notify)
  int32_t task_type = kNone;
  int32_t shapes = kNone;  // of its inputs
  int32_t types = kNone;
  int32_t op = kNone;      // index of Side::ops that launched it
  int64_t number = kNone;  // that the device's queue, or the store, gave it
  int64_t stream = kNone;
  int64_t connection_id = kNone;
  int64_t launch_ns = kNone;  // begin of the call that launched it; kNone: not known
  int64_t begin_ns = 0;
  int64_t dur_ns = 0;
  double mac_us = 0;  // hardware counters; NaN where there are none
  double aicore_us = 0;
  double vector_us = 0;
  double mte2_us = 0;
  double aiv_us = 0;
  bool is_communication = false;
  int64_t EndNs() const { return begin_ns + dur_ns; }
};

struct CommunicationTask {
  int32_t name = kNone;
  int32_t plane = kNone;  // number of its track
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
};

struct CommunicationOp {
  int32_t name = kNone;
  int32_t type = kNone;
  size_t group = 0;  // index of Side::groups
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  std::vector<uint32_t> tasks;  // indices of Side::communication_tasks
};

// Ranks that communicate with each other.
struct CommunicationGroup {
  std::string title;        // as the overview names it
  std::string description;  // "dp", "tp"; "" where it has none
  std::vector<int32_t> planes;
};

struct MemoryBlock {
  int32_t owner = kNone;  // name that a file gives, where it is no operator of the framework
  int32_t op = kNone;     // index of Side::ops
  int64_t size_bytes = 0;
  int64_t asked_ns = 0;  // when the host asked for it
  int64_t alloc_ns = 0;
  int64_t free_ns = kNone;  // kNone: not while recording
};

// A range of Python: a module's call, or a function.
struct PythonRange {
  int32_t name = kNone;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
};

// Of a server of language models: times of its requests, sizes of its batches, by
// when they began; of a chosen step what began in it.
struct ServingValues {
  std::string_view measure;  // TTFT, TPOT, ITL, E2E, queue, batch, engine step
  std::string_view unit;     // ms, requests
  std::vector<double> values;
};

struct Side {
  std::string path;
  SideKind kind = SideKind::kNpuDb;
  std::vector<std::string> names;
  std::vector<std::string> stacks;
  std::vector<Window> steps;  // all of the trace, by begin
  TimesByDevice devices;      // of a trace without steps
  Window window;              // that counts
  std::vector<Op> ops;        // by begin
  std::vector<int32_t> roots;
  std::vector<Kernel> kernels;  // by begin; communication operations among them
  std::vector<uint32_t> kernels_by_op;
  std::vector<uint32_t> kernels_begin;  // those of op i: [kernels_begin[i], kernels_begin[i+1])
  std::vector<CommunicationOp> communications;  // by begin
  std::vector<CommunicationTask> communication_tasks;
  std::vector<CommunicationGroup> groups;
  std::vector<MemoryBlock> blocks;
  std::vector<MemoryBlock>
      blocks_without_call;  // of a queue, and no call of the host is known for them
  std::vector<uint32_t> blocks_by_op;
  std::vector<uint32_t> blocks_begin;
  std::vector<PythonRange> modules;  // by begin, those outside first
  std::vector<PythonRange> functions;
  std::vector<PythonRange> collections;  // of garbage
  std::vector<PythonRange>
      calls;  // what the host asked of the device, collections of garbage; by begin
  std::vector<std::pair<int64_t, int64_t>> backward;  // begin of forward and backward operator
  int32_t backward_thread = kNone;
  bool has_counters = false;       // of the device's units
  bool has_kernel_shapes = false;  // of any kernel
  bool has_overlap_lane = false;
  recipes::Overlap overlap;  // of the lane, else of kernels and communications
  int64_t first_ns = 0;      // of the device's work
  int64_t last_ns = 0;
  int64_t reserved_bytes = 0;  // the most that was reserved
  double rdma_gbps = 0;
  double sdma_gbps = 0;
  std::vector<ServingValues> serving;  // none: nothing was served
  std::vector<std::string> issues;     // "code (count)"
  std::vector<std::string> lacks;      // sentences: what its figures do not cover
  int32_t runs = 1;                    // JoinRuns

  std::string_view Name(int32_t id) const {
    return id < 0 ? std::string_view() : std::string_view(names[static_cast<size_t>(id)]);
  }
  const Op& OpAt(int32_t index) const { return ops[static_cast<size_t>(index)]; }
  bool IsNpu() const { return kind == SideKind::kNpuText || kind == SideKind::kNpuDb; }
  bool IsEmpty() const {
    return ops.empty() && kernels.empty() && communications.empty() && serving.empty();
  }
  std::string_view Device() const {
    return IsNpu() ? "NPU" : kind == SideKind::kGpu ? "GPU" : "CPU";
  }
  std::span<const uint32_t> KernelsOf(int32_t op) const {
    const auto at = static_cast<size_t>(op);
    return {kernels_by_op.data() + kernels_begin[at], kernels_begin[at + 1] - kernels_begin[at]};
  }
  std::span<const uint32_t> BlocksOf(int32_t op) const {
    const auto at = static_cast<size_t>(op);
    return {blocks_by_op.data() + blocks_begin[at], blocks_begin[at + 1] - blocks_begin[at]};
  }
};

// `step_id`: kNone for all. kNotFound where the trace lacks that step.
Result<Side> MakeSide(const recipes::TraceData& data, const std::string& path, int64_t step_id);

// Runs of one program as one side, each behind the one before, so that nothing of two overlaps;
// texts have one number. One at least; that alone is left as it is. Kinds are those of the first.
Side JoinRuns(std::vector<Side> runs);

// Parts of MakeSide.
void TakeSteps(const recipes::TraceData& data, Side& side);
void TakeOps(const recipes::TraceData& data, Side& side);
void TakeKernels(const recipes::TraceData& data, Side& side);
void TakeCommunication(const recipes::TraceData& data, Side& side);
void TakeMemory(const recipes::TraceData& data, Side& side);
void TakePython(const recipes::TraceData& data, Side& side);
void TakeCalls(const recipes::TraceData& data, Side& side);
void TakeOverlap(const recipes::TraceData& data, Side& side);
void TakeServing(const recipes::TraceData& data, Side& side);

// The outermost operators, those of steps in the place of the steps.
std::vector<int32_t> TopOps(const Side& side);

// The operator that is open at a moment, as the tree has it; kNone outside all.
int32_t OpAtMoment(const Side& side, int64_t ts);

}  // namespace sonde::compare
