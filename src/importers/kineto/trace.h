// A Kineto trace whose slices are arranged, and the tables that its categories and arguments fill.
#pragma once

#include <array>
#include <cstdint>
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
  // The op that was open when the work of the device was launched; -1 unknown.
  int32_t LaunchOp(int32_t device_slice) const;
  int32_t ThreadId(int32_t slice_id) const;
  int32_t ProcessId(int32_t slice_id) const;

  // Work of devices in the order of begin; empty where the CPU did all.
  const std::vector<int32_t>& device_work() const { return device_work_; }
  // In the order of begin.
  const std::vector<StepRange>& steps() const { return steps_; }
  // The step in which a moment lies, -1 none.
  int64_t StepAt(int64_t ts) const;

 private:
  void Classify();
  void OrderDeviceWork();
  void AddStep(int32_t slice_id);
  void IndexLaunches();

  trace_events::EventStage& stage_;
  base::SpillVector<SliceClass> classes_;               // by slice_id
  std::array<size_t, kSliceClasses> class_sizes_ = {};  // slices of each class
  std::vector<int32_t> device_work_;
  std::vector<StepRange> steps_;
  NumberIndex op_by_external_id_;
  NumberIndex call_by_correlation_;
};

// What the name says about an op: values of framework_op.scope.
int16_t ScopeOf(std::string_view name, SliceClass slice_class);

Status WriteFrameworkOps(const KinetoTrace& trace, store::Transaction& transaction);
Status WriteSteps(const KinetoTrace& trace, store::Transaction& transaction);
// Tasks of the devices; where there is none the CPU is the device, its ops the tasks.
Result<int64_t> WriteDeviceTasks(const KinetoTrace& trace, store::Transaction& transaction);
Result<int64_t> WriteCommunication(const KinetoTrace& trace, store::Transaction& transaction);
Result<int64_t> WriteMemory(const KinetoTrace& trace, store::Transaction& transaction);

}  // namespace sonde::importers::kineto
