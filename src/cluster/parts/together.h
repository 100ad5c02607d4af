// What files with parts hold together: the waits that follow from pending ranks (shuffle), and what
// a mode keeps of each rank (for reduce). Pure, any thread.
#pragma once

#include <string>
#include <vector>

#include "cluster/frame/run.h"
#include "cluster/parts/part_file.h"

namespace sonde::cluster {

// `files`: all parts of the mode, of a job; at least one.
PartFile WaitsOf(const Mode& mode, const std::vector<PartFile>& files, bool keeps_clocks);

// In the order of `ranks`, whose rows go; a rank of which no file has rows is a failure. `notify`
// gets the lines of the files.
Result<MappedRanks> Together(const std::vector<PartFile*>& files, const std::vector<Rank>& ranks,
                             const job::NoticeSink& notify);

}  // namespace sonde::cluster
