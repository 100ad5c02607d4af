// Adds the traces of a job to a lake (store/lake.h): which traces there are, and which rank and run
// each is of, is what FindJob says, as for all commands.
//
// The name of a run is that of the folder in which its traces lie, unless the user gave one. Work
// is kept every few hundred traces, so that a call that ended early is taken up by the next one.
// Errors: where the lake cannot be written; a trace that cannot be read is reported and left out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "job/job.h"
#include "job/open.h"

namespace sonde::job {

struct LakeAdded {
  size_t added = 0;                     // traces
  size_t was_there = 0;                 // with the same content
  bool is_whole = true;                 // all traces of the job are there now
  std::vector<std::string> files = {};  // new ones, by their path in the folder
};

struct LakeTarget {
  std::string folder;
  std::string place = {};  // where the folder will be copied to, or empty
  std::string run = {};    // a name for the runs of the job, or empty
};
Result<LakeAdded> AddToLake(const Job& job, const LakeTarget& target, const OpenOptions& options);

}  // namespace sonde::job
