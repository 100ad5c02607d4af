#include "recipes/summary/summary.h"

#include <algorithm>

#include "recipes/memory_record/memory_record.h"
#include "recipes/memory_summary/memory_summary.h"
#include "recipes/op_statistic/op_statistic.h"
#include "recipes/top_modules/top_modules.h"
#include "recipes/trace/counted_steps.h"

namespace sonde::recipes {
namespace {

// Of the device that needed most.
void TakeMemory(const TraceData& data, RankSummary& summary) {
  for (const MemorySummaryRow& row : MemorySummary(data)) {
    if (row.component == kProcessMemory) {
      summary.peak_process_bytes = std::max(summary.peak_process_bytes, row.peak_reserved_bytes);
      continue;
    }
    if (row.peak_allocated_bytes <= summary.peak_memory_bytes) continue;
    summary.peak_memory_bytes = row.peak_allocated_bytes;
    summary.peak_reserved_bytes = row.peak_reserved_bytes;
    summary.memory_since_recording = row.device_type == 0;
  }
  // An allocator that keeps nothing back reports 0.
  if (summary.peak_reserved_bytes < summary.peak_memory_bytes) summary.peak_reserved_bytes = -1;
  if (!data.steps.empty()) summary.first_step = data.steps.front().step_id;
}

}  // namespace

DeviceSteps MeanStepOf(const DeviceView& view, size_t place) {
  const Device& device = view.devices[place];
  constexpr int64_t StepTraceRow::* kMembers[] = {
      &StepTraceRow::computing_ns,  &StepTraceRow::not_overlapped_ns,
      &StepTraceRow::overlapped_ns, &StepTraceRow::communication_ns,
      &StepTraceRow::free_ns,       &StepTraceRow::stage_ns,
      &StepTraceRow::bubble_ns,     &StepTraceRow::not_overlapped_without_receive_ns,
      &StepTraceRow::preparing_ns};
  std::vector<StepLength> lengths;
  for (const StepTraceRow& step : device.steps) {
    lengths.push_back({.ns = step.computing_ns + step.not_overlapped_ns + step.free_ns});
  }
  const CountedSteps counted = CountSteps(lengths);
  const std::vector<CopyTimes> copies = CopyTimesOf(view, place);
  DeviceSteps steps{.device_id = device.device_id};
  for (size_t i = 0; i < device.steps.size(); ++i) {
    ++(counted.Has(i) ? steps.count : steps.left_out);
    if (!counted.Has(i)) continue;
    for (const auto member : kMembers) steps.mean.*member += device.steps[i].*member;
    if (i < copies.size()) steps.mean_copies.copying_ns += copies[i].copying_ns;
    if (i < copies.size()) steps.mean_copies.idle_ns += copies[i].idle_ns;
  }
  if (steps.count > 0) {
    for (const auto member : kMembers) steps.mean.*member /= steps.count;
    steps.mean_copies.copying_ns /= steps.count;
    steps.mean_copies.idle_ns /= steps.count;
  }
  return steps;
}

RankSummary Summarise(const DeviceView& view) {
  const TraceData& data = *view.data;
  RankSummary summary;
  summary.rank = view.settings.rank;
  summary.pid = data.processes.empty() ? 0 : data.processes.front().pid;
  summary.is_worker = view.settings.is_worker;
  for (const store::FrameworkOpRow& op : data.ops) {
    if (IsOperator(op.scope) && static_cast<Scope>(op.scope) != Scope::kStep) {
      ++summary.operator_count;
    }
  }
  for (size_t i = 0; i < view.devices.size(); ++i) summary.devices.push_back(MeanStepOf(view, i));
  for (const CopySum& sum : SumCopies(view)) {
    summary.copies.push_back({std::string(sum.direction), sum.count, sum.total_ns});
  }
  for (const OpStatisticRow& row : OpStatistic(view)) {
    summary.operators.push_back({std::string(row.op_type), row.count, row.total_ns});
  }
  const ModuleCalls calls(data);
  for (const ModuleRow& row : TopModules(data, calls)) {
    std::string name(row.path);
    if (!row.module_class.empty()) name.append(" (").append(row.module_class).append(")");
    summary.modules.push_back({std::move(name), row.calls, row.device_total_ns});
  }
  TakeMemory(data, summary);
  summary.coverage = Coverage(view);
  summary.findings = FindingsOf(view);
  summary.work = WorkOf(view);
  return summary;
}

}  // namespace sonde::recipes
