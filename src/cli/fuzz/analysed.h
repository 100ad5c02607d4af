// For fuzz targets: all that is made of traces, as `sonde analyse` and `sonde query` make it.
#pragma once

#include <string>

namespace sonde::cli {

// A folder of this process, made once, with a cache folder for its stores in it.
const std::string& FuzzFolder();

// Finds the traces below `folder`, writes the deliverables of each into another one, in the form
// "text" or "db", and makes every result of what was imported. Failures are as good as successes.
void AnalyseAllOf(const std::string& folder, const std::string& form);

}  // namespace sonde::cli
