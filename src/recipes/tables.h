// The results of the recipes as tables, for registry.cc: a column a member, in the same units.
//
// Pure, any thread.
#pragma once

#include "recipes/trace/device_view.h"
#include "store/result_table.h"

namespace sonde::recipes {

store::ResultTable StepTraceTable(const DeviceView& view);
store::ResultTable OverlapTable(const DeviceView& view);
store::ResultTable LaneDepthTable(const DeviceView& view);
store::ResultTable OpStatisticTable(const DeviceView& view);
store::ResultTable ApiStatisticTable(const DeviceView& view);
store::ResultTable OperatorDetailsTable(const DeviceView& view);
store::ResultTable KernelDetailsTable(const DeviceView& view);
store::ResultTable OperatorMemoryTable(const DeviceView& view);
store::ResultTable MemoryRecordTable(const DeviceView& view);
store::ResultTable MemorySummaryTable(const DeviceView& view);
store::ResultTable CommunicationTable(const DeviceView& view);
store::ResultTable CommunicationMatrixTable(const DeviceView& view);
store::ResultTable TopModulesTable(const DeviceView& view);
store::ResultTable ServingSummaryTable(const DeviceView& view);

}  // namespace sonde::recipes
