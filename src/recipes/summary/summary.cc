#include "recipes/summary/summary.h"

#include <algorithm>

#include "recipes/memory_record/memory_record.h"
#include "recipes/memory_summary/memory_summary.h"
#include "recipes/op_statistic/op_statistic.h"
#include "recipes/top_modules/top_modules.h"

namespace sonde::recipes {
namespace {

// Mean over all steps of all devices of the rank.
StepTraceRow MeanStep(const DeviceView& view, int64_t& count) {
  constexpr int64_t StepTraceRow::* kMembers[] = {
      &StepTraceRow::computing_ns,  &StepTraceRow::not_overlapped_ns,
      &StepTraceRow::overlapped_ns, &StepTraceRow::communication_ns,
      &StepTraceRow::free_ns,       &StepTraceRow::stage_ns,
      &StepTraceRow::bubble_ns,     &StepTraceRow::not_overlapped_without_receive_ns,
      &StepTraceRow::preparing_ns};
  StepTraceRow mean;
  count = 0;
  for (const Device& device : view.devices) {
    for (const StepTraceRow& step : device.steps) {
      for (const auto member : kMembers) mean.*member += step.*member;
      ++count;
    }
  }
  if (count > 0) {
    for (const auto member : kMembers) mean.*member /= count;
  }
  return mean;
}

CopyTimes MeanCopies(const DeviceView& view, int64_t step_count) {
  CopyTimes mean;
  for (size_t device = 0; device < view.devices.size(); ++device) {
    for (const CopyTimes& step : CopyTimesOf(view, device)) {
      mean.copying_ns += step.copying_ns;
      mean.idle_ns += step.idle_ns;
    }
  }
  if (step_count == 0) return {};
  return {mean.copying_ns / step_count, mean.idle_ns / step_count};
}

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
  summary.mean_step = MeanStep(view, summary.step_count);
  summary.mean_copies = MeanCopies(view, summary.step_count);
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
