// Raw records of Ascend's profilers that were never analysed: what of a folder is not read, and
// what has to be typed where, so that it can be.
//
// Raw are FRAMEWORK/torch.* (operators, Python calls, memory) without deliverables of the
// framework's layer beside them, and the data of PROF_*/{host,device_*} without an export of the
// device tool. Pure; opens folders only.
#pragma once

#include <string>

namespace sonde::importers {

// One sentence; "" where nothing raw lies in `path`, a span folder or a PROF_*.
std::string SayRawRecords(const std::string& path);

// Whether `path` is such a folder: what lies in it belongs together, and is no trace by itself.
bool HoldsRawRecords(const std::string& path);

}  // namespace sonde::importers
