// task_time: tasks of the device with names and times.
//
// Of a task that ran in parts the first part (context 0) stands for all, as the device tool has it.
#pragma once

#include <string>

#include "exporters/exporter.h"
#include "exporters/format/file_set.h"

namespace sonde::exporters {

// Nothing where there are no tasks.
void AddTaskTime(const ExportContext& context, const std::string& name, FileSet& files);

}  // namespace sonde::exporters
