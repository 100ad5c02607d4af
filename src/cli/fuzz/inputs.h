// Work of the fuzz targets on an input. It must end without a crash for any bytes; failures of
// what is read are as good as successes. Returned is how many traces went all the way, so that a
// test sees that good inputs do. In a folder of the process, one at a time.
#pragma once

#include <string_view>

namespace sonde::cli {

// The whole way of a trace: from the bytes of its files through an importer, the store and every
// recipe to deliverables. The first byte selects the kind of the files, the second the form in
// which they are delivered.
int FuzzAnalysis(std::string_view input);

// A store that something damaged: statements that the bytes choose change a good one (columns that
// are gone or of another type, values that no importer writes, rows that are missing or twice), or
// its file or its zoom index are changed byte by byte; then all is made of it.
int FuzzStore(std::string_view input);

}  // namespace sonde::cli
