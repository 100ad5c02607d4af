// The CSV files of ASCEND_PROFILER_OUTPUT, added to a FileSet. Tables without rows give no file.
//
// Threads: the Add functions are called by one thread; what they add runs in any.
#pragma once

#include "exporters/exporter.h"
#include "exporters/format/file_set.h"

namespace sonde::exporters {

void AddOperatorDetails(const ExportContext& context, FileSet& files);
void AddKernelDetails(const ExportContext& context, FileSet& files);
void AddStepTraceTime(const ExportContext& context, FileSet& files);
void AddOpStatistic(const ExportContext& context, FileSet& files);
void AddApiStatistic(const ExportContext& context, FileSet& files);
void AddOperatorMemory(const ExportContext& context, FileSet& files);
void AddMemoryRecord(const ExportContext& context, FileSet& files);

}  // namespace sonde::exporters
