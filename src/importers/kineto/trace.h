// A Kineto trace whose slices are arranged, and the tables that its categories and arguments fill.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "importers/kineto/dialect.h"
#include "importers/kineto/number_index.h"
#include "importers/trace_events/stage.h"
#include "store/store.h"

namespace sonde::importers::kineto {

struct StepRange {
  int64_t ts;
  int64_t end;
  int64_t number;
  int32_t slice_id;
};

class KinetoTrace {
 public:
  explicit KinetoTrace(trace_events::EventStage& stage);

  trace_events::EventStage& stage() const { return stage_; }
  store::NamePool& names() const { return stage_.names(); }

  SliceClass ClassAt(int32_t slice_id) const { return classes_[static_cast<size_t>(slice_id)]; }
  std::string_view NameAt(int32_t slice_id) const { return NameOf(stage_.Slice(slice_id).name); }
  std::string_view NameOf(int32_t id) const {
    return id < 0 ? std::string_view() : names().Text(id);
  }
  // The slice itself or the innermost around it that is an op; -1 none.
  int32_t OpAround(int32_t slice_id) const;
  // The launch of a piece of the device's work. External ids and correlations belong to a process:
  // where several of a joined file have the same, and none can be chosen, it is ambiguous.
  struct Launch {
    int32_t op = store::kNone;    // open then; -1 unknown
    int32_t call = store::kNone;  // of the runtime; -1 unknown
    bool is_ambiguous = false;
  };
  Launch LaunchOf(int32_t device_slice) const;
  int32_t ProcessId(int32_t slice_id) const;

  // Work of devices in the order of begin; empty where the CPU did all, or nothing was recorded.
  const std::vector<int32_t>& device_work() const { return device_work_; }
  // Calls of the host that gave a device work, whether that was recorded or not.
  int64_t launch_calls() const { return launch_calls_; }
  // In the order of begin.
  const std::vector<StepRange>& steps() const { return steps_; }
  // The step of the slice's process, or of those it shares ids with, at a moment; -1 none.
  int64_t StepAt(int32_t slice_id, int64_t ts) const;
  // That in which the work was launched; where that is unknown, in which it begins.
  int64_t StepOfWork(int32_t device_slice, const Launch& launch) const;

 private:
  void Classify();
  void OrderDeviceWork();
  void FindScopes();
  void AddStep(int32_t slice_id);
  void IndexLaunches();
  void FindFirstLaunches();

  trace_events::EventStage& stage_;
  base::SpillVector<SliceClass> classes_;               // by slice_id
  std::array<size_t, kSliceClasses> class_sizes_ = {};  // slices of each class
  std::vector<int32_t> device_work_;
  // By place of a track in the TrackTable: begin of its first work whose call is in the trace.
  std::vector<int64_t> first_launched_;
  bool has_graph_launches_ = false;
  int64_t launch_calls_ = 0;
  std::vector<StepRange> steps_;
  // Of one scope (Dialect::ScopeOf).
  struct Scope {
    explicit Scope(base::SpillPool* pool) : op_by_external_id(pool), call_by_correlation(pool) {}
    std::vector<StepRange> steps;  // in the order of begin
    bool has_host() const { return !op_by_external_id.empty() || !call_by_correlation.empty(); }
    NumberIndex op_by_external_id;
    NumberIndex call_by_correlation;
  };
  size_t ScopeAt(int32_t slice_id) const {
    return scope_of_process_[static_cast<size_t>(stage_.TrackOf(stage_.Slice(slice_id)).process)];
  }
  int32_t FindIn(NumberIndex Scope::* index, int32_t device_slice, int64_t number) const;
  std::vector<size_t> scope_of_process_;  // by place in the TrackTable
  std::deque<Scope> scopes_;
};

// Facts in the name of an op.
capture::Scope ScopeOf(std::string_view name, SliceClass slice_class);

// What a kernel of a device communicates ("allreduce", "send"); "" where it computes. The call of
// the host around its launch says it first, then the operator, then the kernel's name.
std::string DeviceCollective(const KinetoTrace& trace, int32_t slice_id);

Status WriteFrameworkOps(const KinetoTrace& trace, store::Transaction& transaction);
Status WriteSteps(const KinetoTrace& trace, store::Transaction& transaction);
// Ranges of the user; moments are the stage's.
Status WriteRanges(const KinetoTrace& trace, store::Transaction& transaction);
// Where the file has none, arrows from calls of the host to their work, by correlation, and from
// forward to backward operators, by sequence number.
Status WriteMissingFlows(const KinetoTrace& trace, store::Transaction& transaction);
// Tasks of the devices. Where there is none, and no call gave a device work, the CPU is the device,
// its ops the tasks.
Result<int64_t> WriteDeviceTasks(const KinetoTrace& trace, store::Transaction& transaction);
Result<int64_t> WriteCommunication(const KinetoTrace& trace, store::Transaction& transaction);
Result<int64_t> WriteMemory(const KinetoTrace& trace, store::Transaction& transaction);

}  // namespace sonde::importers::kineto
