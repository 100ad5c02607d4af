#include "importers/ascend/device_sheets.h"

namespace sonde::importers {
namespace {

constexpr SheetColumn kDevice = {"Device_id", SheetCell::kDevice};
constexpr SheetColumn kStream = {"Stream Id", SheetCell::kStream};
constexpr SheetColumn kNumber = {"Task Id", SheetCell::kNumber};
constexpr SheetColumn kOperator = {"Op Name", SheetCell::kName};
constexpr auto kArgument = SheetCell::kArgument;

constexpr auto kSheets = std::to_array<DeviceSheet>({
    {.name = "aicpu",
     .rows = SheetRows::kSlices,
     .columns = {{kDevice,
                  {"Timestamp(us)", SheetCell::kBegin},
                  {"Node", SheetCell::kName},
                  {"Compute_time(us)"},
                  {"Memcpy_time(us)"},
                  {"Task_time(us)", SheetCell::kDuration},
                  {"Dispatch_time(us)"},
                  {"Total_time(us)"},
                  {"Stream ID"},
                  {"Task ID"}}},
     .framework_file = "data_preprocess"},
    {.name = "dp",
     .rows = SheetRows::kSlices,
     .columns = {{kDevice,
                  {"Timestamp(us)", SheetCell::kBegin},
                  {"Action", SheetCell::kName},
                  {"Source"},
                  {"Cached Buffer Size"}}}},
    {.name = "aicpu_mi",
     .rows = SheetRows::kSlices,
     .columns = {{kDevice,
                  {"Node Name", SheetCell::kName},
                  {"Start Time(us)", SheetCell::kBegin},
                  {"End Time(us)", SheetCell::kEnd},
                  {"Queue Size"}}}},
    {.name = "l2_cache",
     .rows = SheetRows::kTasks,
     .columns = {{kDevice,
                  kStream,
                  kNumber,
                  {"Hit Rate", kArgument, "L2 Hit Rate"},
                  {"Victim Rate", kArgument, "L2 Victim Rate"},
                  kOperator}},
     .marked_by = "L2 Victim Rate",
     .framework_file = "l2_cache"},
    {.name = "soc_pmu",
     .rows = SheetRows::kTasks,
     .columns = {{kDevice, kStream, kNumber, {"TLB Hit Rate"}, {"TLB Miss Rate"}, kOperator}},
     .marked_by = "TLB Hit Rate",
     .framework_file = "soc_pmu"},
    {.name = "page_fault",
     .rows = SheetRows::kTasks,
     .columns =
         {{{"Device Id", SheetCell::kDevice}, kStream, kNumber, {"Page Fault Num"}, kOperator}},
     .marked_by = "Page Fault Num"},
    {.name = kFusedOperators,
     .rows = SheetRows::kFacts,
     .columns = {{{"Device_id"},
                  {"Model Name"},
                  {"Model ID"},
                  {"Fusion Op"},
                  {"Original Ops"},
                  {"Memory Input(KB)"},
                  {"Memory Output(KB)"},
                  {"Memory Weight(KB)"},
                  {"Memory Workspace(KB)"},
                  {"Memory Total(KB)"}}}},
    {.name = kStaticMemory,
     .rows = SheetRows::kFacts,
     .columns = {{{"Device_id"},
                  {"Op Name"},
                  {"Model Name"},
                  {"Graph ID"},
                  {"Node Index Start"},
                  {"Node Index End"},
                  {"Size(KB)"}}}},
    {.name = "step_trace",
     .rows = SheetRows::kSlices,
     .columns = {{kDevice,
                  {"Iteration ID"},
                  {"FP Start(us)"},
                  {"BP End(us)"},
                  {"Iteration End(us)", SheetCell::kEnd},
                  {"Iteration Time(us)", SheetCell::kDuration},
                  {"FP to BP Time(us)"},
                  {"Iteration Refresh(us)"},
                  {"Data Aug Bound(us)"},
                  {"Model ID"}}}},
});

}  // namespace

std::span<const DeviceSheet> DeviceSheets() { return kSheets; }

}  // namespace sonde::importers
