// Raw records of Ascend's profilers that were never analysed: names the unread parts of a folder,
// and the command that analyses them.
//
// Raw are FRAMEWORK/torch.* (operators, Python calls, memory) without deliverables of the
// framework's layer, and the data of PROF_*/{host,device_*} without an export of the device tool.
// Pure; opens folders only.
#pragma once

#include <string>

namespace sonde::importers {

// One sentence; "" where `path`, a span folder or a PROF_*, has no raw records.
std::string SayRawRecords(const std::string& path);

// Whether `path` is such a folder: its files belong together, and are no traces by themselves.
bool HoldsRawRecords(const std::string& path);

}  // namespace sonde::importers
