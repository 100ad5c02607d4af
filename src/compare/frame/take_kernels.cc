#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "compare/frame/side.h"
#include "compare/frame/sort_runs.h"
#include "recipes/communication/naming.h"

namespace sonde::compare {
namespace {

using recipes::TraceData;

class KernelTaker {
 public:
  KernelTaker(const TraceData& data, Side& side)
      : data_(data), side_(side), op_of_slice_(data.slices.size(), kNone) {
    for (size_t i = 0; i < side.ops.size(); ++i) {
      int32_t& op = op_of_slice_[static_cast<size_t>(side.ops[i].slice)];
      if (op == kNone) op = static_cast<int32_t>(i);
    }
  }

  void Run() {
    FindFlows();
    for (const store::DeviceTaskRow& task : data_.tasks) AddTask(task);
    // Of a database the reference knows only the kernels that compute below an operator.
    if (side_.kind == SideKind::kNpuText) {
      for (const store::CommunicationOpRow& op : data_.communications) AddCommunication(op);
    }
    TakeCounters();
    SortRuns(side_.kernels,
             [](const Kernel& a, const Kernel& b) { return a.begin_ns < b.begin_ns; });
    Index();
  }

 private:
  // The call of the runtime below an operator is nearer than the operator itself.
  void FindFlows() {
    if (side_.kind != SideKind::kGpu) return;
    launch_of_slice_.assign(data_.slices.size(), kNone);
    for (const store::FlowRow& flow : data_.flows) {
      if (flow.slice_out < 0 || flow.slice_in < 0) continue;
      int32_t& launch = launch_of_slice_[static_cast<size_t>(flow.slice_in)];
      if (launch == kNone && data_.Name(flow.kind) == "host_to_device") launch = flow.slice_out;
    }
  }

  void SetLaunch(int32_t slice_id, int32_t launch_slice_id, Kernel& kernel) const {
    int32_t launch = kNone;
    if (slice_id >= 0 && !launch_of_slice_.empty()) {
      launch = launch_of_slice_[static_cast<size_t>(slice_id)];
    }
    if (launch == kNone) launch = launch_slice_id;
    if (launch < 0) return;
    kernel.launch_ns = data_.Slice(launch).ts;
    kernel.op = op_of_slice_[static_cast<size_t>(launch)];
  }

  void AddTask(const store::DeviceTaskRow& task) {
    const store::TaskKindRow& kind = data_.kinds[static_cast<size_t>(task.kind_id)];
    Kernel kernel{.name = kind.name,
                  .type = kind.op_type,
                  .core = kind.core,
                  .task_type = kind.task_type,
                  .shapes = kind.input_shapes,
                  .types = kind.input_types,
                  .number = task.queue_number >= 0 ? task.queue_number : task.task_id,
                  .stream = data_.tracks[static_cast<size_t>(task.track_id)].stream_id,
                  .connection_id = task.connection_id,
                  .begin_ns = task.ts,
                  .dur_ns = std::max<int64_t>(0, task.dur)};
    kernel.mac_us = kernel.aicore_us = kernel.vector_us = kNan;
    kernel.mte2_us = kernel.aiv_us = 0;
    SetLaunch(task.slice_id, task.launch_slice_id, kernel);
    if (kernel.op != kNone && side_.kind == SideKind::kNpuDb && kernel.core == store::kNone) {
      kernel.op = kNone;
    }
    if (!side_.window.Has(kernel.launch_ns != kNone ? kernel.launch_ns : kernel.begin_ns)) return;
    side_.has_kernel_shapes = side_.has_kernel_shapes || kernel.shapes != store::kNone;
    if (!data_.pmu.empty()) place_of_task_.emplace(task.task_id, side_.kernels.size());
    side_.kernels.push_back(kernel);
  }

  void AddCommunication(const store::CommunicationOpRow& op) {
    Kernel kernel{.name = op.name,
                  .type = TypeOf(op.op_type),
                  .begin_ns = op.ts,
                  .dur_ns = op.dur < 0 ? data_.last_ns - op.ts : op.dur};
    kernel.is_communication = true;
    SetLaunch(op.slice_id, op.launch_slice_id, kernel);
    if (side_.window.Has(kernel.launch_ns != kNone ? kernel.launch_ns : kernel.begin_ns)) {
      side_.kernels.push_back(kernel);
    }
  }

  // "hcom_allReduce_", as the tables of kernels call it.
  int32_t TypeOf(int32_t op_type) {
    const auto [found, is_new] = hcom_types_.try_emplace(op_type, kNone);
    if (is_new) {
      found->second = static_cast<int32_t>(side_.names.size());
      side_.names.push_back(recipes::HcomType(data_.Name(op_type)));
    }
    return found->second;
  }

  void TakeCounters() {
    std::unordered_map<std::string_view, double Kernel::*> members = {
        {"mac_time(us)", &Kernel::mac_us},       {"aic_mac_time(us)", &Kernel::mac_us},
        {"aicore_time(us)", &Kernel::aicore_us}, {"aiv_vec_time(us)", &Kernel::vector_us},
        {"vec_time(us)", &Kernel::vector_us},    {"aic_mte2_time(us)", &Kernel::mte2_us},
        {"aiv_time(us)", &Kernel::aiv_us}};
    for (const store::DeviceTaskPmuRow& row : data_.pmu) {
      const auto member = members.find(data_.Name(row.metric));
      const auto place = place_of_task_.find(row.task_id);
      if (member == members.end() || place == place_of_task_.end()) continue;
      side_.kernels[place->second].*(member->second) = row.value;
      side_.has_counters = true;
    }
  }

  // Kernels by operator, and counts over the operators above.
  void Index() {
    side_.kernels_begin.assign(side_.ops.size() + 1, 0);
    for (const Kernel& kernel : side_.kernels) {
      if (kernel.op != kNone) ++side_.kernels_begin[static_cast<size_t>(kernel.op) + 1];
    }
    for (size_t i = 0; i < side_.ops.size(); ++i) {
      side_.kernels_begin[i + 1] += side_.kernels_begin[i];
    }
    side_.kernels_by_op.resize(side_.kernels_begin.back());
    std::vector<uint32_t> next = side_.kernels_begin;
    for (size_t i = 0; i < side_.kernels.size(); ++i) {
      const int32_t op = side_.kernels[i].op;
      if (op == kNone) continue;
      side_.kernels_by_op[next[static_cast<size_t>(op)]++] = static_cast<uint32_t>(i);
      ++side_.ops[static_cast<size_t>(op)].kernel_count;
    }
    for (size_t i = side_.ops.size(); i-- > 0;) {
      const Op& op = side_.ops[i];
      if (op.parent != kNone) {
        side_.ops[static_cast<size_t>(op.parent)].kernel_count += op.kernel_count;
      }
    }
  }

  static constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const TraceData& data_;
  Side& side_;
  std::vector<int32_t> op_of_slice_;
  std::vector<int32_t> launch_of_slice_;  // empty where unknown
  std::unordered_map<int32_t, size_t> place_of_task_;
  std::unordered_map<int32_t, int32_t> hcom_types_;
};

}  // namespace

void TakeKernels(const TraceData& data, Side& side) { KernelTaker(data, side).Run(); }

}  // namespace sonde::compare
