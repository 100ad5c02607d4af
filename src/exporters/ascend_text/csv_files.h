// The CSV files of ASCEND_PROFILER_OUTPUT, added to a FileSet. Tables without rows give no file.
// Those that the device tool has too are given under its names there (exporters/mindstudio).
//
// Threads: the Add functions are called by one thread; what they add runs in any.
#pragma once

#include <string>
#include <string_view>

#include "exporters/exporter.h"
#include "exporters/format/file_set.h"

namespace sonde::exporters {

void AddOperatorDetails(const ExportContext& context, FileSet& files);
void AddKernelDetails(const ExportContext& context, FileSet& files);
// The same rows as op_summary has them: other names of columns, no steps, no shapes at level 0.
void AddOpSummary(const ExportContext& context, const std::string& name, FileSet& files);
void AddStepTraceTime(const ExportContext& context, FileSet& files);
void AddOpStatistic(const ExportContext& context, FileSet& files,
                    const std::string& name = "op_statistic.csv");
void AddApiStatistic(const ExportContext& context, FileSet& files,
                     const std::string& name = "api_statistic.csv");
void AddOperatorMemory(const ExportContext& context, FileSet& files);
void AddMemoryRecord(const ExportContext& context, FileSet& files);
// Tables of the device's own tool in addition to those of tasks (importers/ascend/device_sheets.h),
// with `end` behind their names; of the framework only some, under other names.
void AddDeviceSheets(const ExportContext& context, FileSet& files, bool is_of_framework,
                     std::string_view end);

// Of values that the device sampled: memory, caches, links, ports.
void AddSampledSheets(const ExportContext& context, FileSet& files, bool is_of_framework,
                      std::string_view end);

}  // namespace sonde::exporters
