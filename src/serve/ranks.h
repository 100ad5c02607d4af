// The traces that are ready as ranks of one job: for modes of src/cluster and for statements over
// all of them.
//
// Holds the traces as they were when it was made. Threads: any.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/status.h"
#include "cluster/frame/run.h"
#include "job/job.h"
#include "serve/messages.h"
#include "serve/trace.h"
#include "store/joint.h"

namespace sonde::serve {

class SessionRanks {
 public:
  // `job`: that of the session, which has other traces, too.
  SessionRanks(const std::vector<std::shared_ptr<const Trace>>& ready, const job::Job& job);

  // With the ranks that they are shown under.
  Result<cluster::RankChoice> Choose() const { return cluster::ChooseRanks(job_, {}); }
  // Of the choice. Notices of the run are among the notices.
  Result<cluster::RunResult> Run(const cluster::Mode& mode,
                                 const std::vector<cluster::Rank>& ranks) const;

 private:
  std::vector<job::TraceFailure> Over(const std::vector<job::Trace>& wanted,
                                      const recipes::Needs& needs, const cluster::MapOne& map,
                                      const job::NoticeSink& report_clocks) const;

  std::map<int32_t, std::shared_ptr<const Trace>> by_id_;
  job::Job job_;
};

// The files of all, each once, with their labels; `message` knows the runs.
std::vector<store::StoreFile> FilesOf(const std::vector<std::shared_ptr<const Trace>>& ready,
                                      const SessionMessage& message);

}  // namespace sonde::serve
