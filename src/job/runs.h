// Which traces of a job are of one launch of a program.
//
// Data known before anything is imported: folder, rank, and, where the name is one that
// profilers give (<host>_<pid>_<time>...), process and time. In one run no rank occurs twice,
// but for sessions of one process. In a folder a rank that comes again begins a new run, in the
// order of time where names give it; runs of several folders (a folder a node, a folder a rank) are
// one where no rank would be there twice. Traces without a rank join those in the same folder.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "job/job.h"

namespace sonde::job {

struct NamedProcess {
  std::string host;
  int64_t pid = 0;
  int64_t time = 0;  // in the unit of the tool that gave the name
};

// Of a file's or folder's name; none where it has none.
std::optional<NamedProcess> ProcessOfName(std::string_view name);

// Sets Trace::run, from 0 on, in the order of the traces.
void GroupRuns(std::span<Trace> traces);

}  // namespace sonde::job
