// One process's share of the work, as it was asked for.
//
// Threads: one call at a time; the work is parallel.
#pragma once

#include <string>
#include <vector>

#include "cluster/frame/run.h"
#include "cluster/machines/launch.h"
#include "cluster/machines/messages.h"
#include "cluster/machines/rendezvous.h"

namespace sonde::cluster {

// The traces below the folder; none where it cannot be read.
messages::Answer SeeTraces(const std::string& folder);

// A rank of another process, or one of this, for notices about it and to map it.
Rank RankOf(const messages::WantedRank& wanted);

messages::Answer MapShare(const Mode& mode, const std::vector<messages::WantedRank>& share,
                          const ModeOptions& options, const RunOptions& run);

// Of a process but the first: does what process 0 asks until process 0 ends it.
// `options`: how it reads. Errors: process 0 is gone.
Status Serve(Rendezvous& rendezvous, const Place& place, const RunOptions& options);

// "0.1.0 84231" : processes with other programs do not understand each other.
std::string ProgramOfThis();
std::string HostOfThis();

}  // namespace sonde::cluster
