// One capture in memory, and the functions that write its parts into the store.
//
// The Write functions read the trace and append to their own tables. Those that intern texts share
// trace.names and must run on one thread; WriteSlices and WriteFrameworkOps intern nothing and may
// run in parallel, each with a transaction of its own.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "importers/capture/arguments.h"
#include "importers/capture/compiled_graphs.h"
#include "importers/capture/device_file.h"
#include "importers/capture/device_stage.h"
#include "importers/capture/dictionary.h"
#include "importers/capture/scope_cells.h"
#include "importers/capture/shared_memory.h"
#include "importers/capture/slots.h"
#include "importers/capture/stage.h"
#include "importers/capture/tick_clock.h"
#include "store/name_pool.h"
#include "store/store.h"
#include "store/table_writer.h"

namespace sonde::importers::capture_import {

inline constexpr int32_t kProcessId = 0;  // a capture holds one process

struct CaptureTrace {
  Dictionary dictionary;
  CaptureSlots slots;
  store::ImportIssues issues;
  store::NamePool names;
  std::vector<int32_t> name_ids;  // by name id of the dictionary
  int32_t unknown_name = -1;
  std::vector<ThreadStage> stages;  // thread_id is the index
  DeviceRecords device_records;     // as the vendor gave them
  DeviceStage device;               // the same, numbered; empty where the CPU is the device
  int64_t device_offset_ns = 0;     // to be added to the vendor's times
  int32_t tracks = 0;
  int64_t slices = 0;
  int32_t rank = -1;
  std::string host;
  std::map<std::string, std::string> group_descriptions;  // by name of the group
  std::vector<uint32_t> shared_memory_ops;                // name ids (shared_memory.h)
  std::vector<SharedMemoryGroup> shared_memory_groups;
  ScopeCells scope_cells;          // owns texts of the dictionary
  CompiledGraphs compiled_graphs;  // the same
  // Slice of an operator, and of the call on another thread that launched it; by the first.
  std::vector<std::pair<int32_t, int32_t>> launches;
  int64_t recording_ns = 0;  // when recording began; 0 unknown
  int64_t begin_ns = 0;      // of the first record
  int64_t end_ns = 0;        // of the last

  int32_t LaunchOf(int32_t slice_id) const {
    const auto found = std::lower_bound(launches.begin(), launches.end(),
                                        std::pair<int32_t, int32_t>(slice_id, INT32_MIN));
    return found != launches.end() && found->first == slice_id ? found->second : slice_id;
  }
  int32_t NameId(uint32_t id) const {
    if (id == 0) return store::kNone;
    return id < name_ids.size() ? name_ids[id] : unknown_name;
  }
  // Whether a node is a collective although it was recorded as an operator.
  bool IsSharedMemoryCollective(const Node& node) const {
    return !shared_memory_ops.empty() && node.kind == capture::RecordKind::kOp &&
           std::binary_search(shared_memory_ops.begin(), shared_memory_ops.end(), node.name);
  }
  const Node& NodeOf(const ThreadStage& stage, int32_t index) const {
    return stage.nodes[static_cast<size_t>(index)];
  }
};

// Reads, nests and numbers a capture; the part of an import that needs no store.
struct LoadedCapture {
  CaptureTrace trace;
  std::optional<ArgumentTable> arguments;  // refers to the trace: hence the fixed place
};
// `clocks`, where not null, ties its clock to real time as the captures before it, and gets the
// first one of a boot.
Result<std::unique_ptr<LoadedCapture>> LoadCapture(const std::string& path,
                                                   ClockOffsets* clocks = nullptr);

struct StepRange {
  int64_t ts;
  int64_t end;  // kOpenEnd where unfinished
  int64_t number;
  int32_t slice_id;
  int32_t thread_id;
  ProcessorUse use = {};
};
// In the order of begin.
std::vector<StepRange> FindSteps(const CaptureTrace& trace);

// The step that contains a moment, -1 none; moments come in ascending order. Where steps of several
// threads overlap (concurrent calls), moments of such a thread belong to its own step, and those of
// other threads to the step that began last.
class StepCursor {
 public:
  explicit StepCursor(const std::vector<StepRange>& steps);
  int64_t At(int64_t ts, int32_t thread_id);

 private:
  struct Lane {
    std::vector<StepRange> steps;
    size_t next = 0;
    int64_t At(int64_t ts);
  };
  Lane all_;
  std::map<int32_t, Lane> lanes_;  // by thread; none where no step overlaps another
};

// Texts of categories, by kind of record; interned before the slices are written.
struct Categories {
  Categories(store::NamePool& names, capture::DeviceVendor vendor);
  std::array<int32_t, capture::kMostRecordKinds> ids;
  DeviceCategories device;
};

Status WriteSlices(const CaptureTrace& trace, const ArgumentTable& arguments,
                   const Categories& categories, store::Transaction& transaction);
Status WriteFrameworkOps(const CaptureTrace& trace, const ArgumentTable& arguments,
                         store::Transaction& transaction);

// The CPU as device: every op is a task on the stream of its thread, as long as its own time
// (common/own_time.h). Accelerator back ends deliver their own tasks instead.
Result<int64_t> WriteCpuDeviceTasks(CaptureTrace& trace, const ArgumentTable& arguments,
                                    const std::vector<StepRange>& steps,
                                    store::Transaction& transaction);

// Gives the device's work tracks and slices behind those of the threads, and finds its launches:
// the operator open on the thread of the host call that has the same correlation.
void StageDevice(CaptureTrace& trace);
void WriteDeviceSlices(const CaptureTrace& trace, const DeviceCategories& categories,
                       store::TableWriter<store::SliceRow>& writer);
Result<int64_t> WriteDeviceTasks(CaptureTrace& trace, const std::vector<StepRange>& steps,
                                 store::Transaction& transaction);
Status WriteApiCalls(CaptureTrace& trace, store::Transaction& transaction);
// The step of each of its host calls, -1 none: a task belongs to the step that launched it, however
// late it runs.
std::vector<int64_t> StepsOfCalls(const CaptureTrace& trace, const std::vector<StepRange>& steps);
// Its communications, not numbered yet; launch_slice_id: the collective of the framework where one
// is known, else the operator. Where kernels carried them out, groups and sizes are those of the
// framework's call.
std::vector<store::CommunicationOpRow> DeviceOperations(CaptureTrace& trace,
                                                        const std::vector<StepRange>& steps);

Result<int64_t> WriteCommunication(CaptureTrace& trace, const ArgumentTable& arguments,
                                   const std::vector<StepRange>& steps,
                                   store::Transaction& transaction);
Result<int64_t> WriteMemory(CaptureTrace& trace, store::Transaction& transaction);
// Returns their number.
Result<int64_t> WriteFlows(CaptureTrace& trace, store::Transaction& transaction);
Status WriteMarks(CaptureTrace& trace, store::Transaction& transaction);
Status WriteSteps(const CaptureTrace& trace, const std::vector<StepRange>& steps,
                  store::Transaction& transaction);
// Process, threads, tracks and counters.
Status WriteThreads(CaptureTrace& trace, store::Transaction& transaction);
Status WriteCallstacks(CaptureTrace& trace, store::Transaction& transaction);
Status WriteMetadata(CaptureTrace& trace, store::Transaction& transaction);

}  // namespace sonde::importers::capture_import
