// For fuzz targets: all that is made of traces, as `sonde analyse` and `sonde query` make it.
#pragma once

#include <string>

namespace sonde::cli {

// A folder of this process, made once and gone with it, with a cache folder for its stores in it.
const std::string& FuzzFolder();

// Finds the traces below `folder`, writes the deliverables of each into another one, in the form
// "text" or "db", and makes every result of what was imported. How many traces went all the way.
int AnalyseAllOf(const std::string& folder, const std::string& form);

}  // namespace sonde::cli
