// Finds, over all ranks of a step, the first calls that went wrong.
//
// The caller defines "wrong": a difference from a golden run, or an overflow. The search
// has three phases, as in the reference: before the first communication of each rank (the first
// wrong call of every rank), between communications, after the last. In the middle phase calls get
// a layer, the length of the longest chain of communications before them over all ranks; the
// smallest (layer, place behind it) wins, ties are all reported.
// Threads: pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "precision/dump/communication.h"

namespace sonde::precision {

struct TimelineCall {
  std::string_view name;
  bool wrong = false;
  bool is_communication = false;
  Communication communication;  // when is_communication
};

struct RankTimeline {
  int64_t rank = 0;
  std::vector<TimelineCall> calls;  // in order of execution
};

struct FoundCall {
  size_t timeline = 0;  // index into the input
  size_t call = 0;
};

struct FirstNodeOptions {
  bool one_in_communication_phase = false;  // only the single smallest, not all ties
};

// In order of the timelines.
std::vector<FoundCall> FindFirstNodes(const std::vector<RankTimeline>& timelines,
                                      const FirstNodeOptions& options);

// Links the communications of all ranks: for every call of every timeline a list of the calls on
// other ranks whose data it receives. Indices as in FoundCall. Exported for graphs.
struct CommunicationLink {
  FoundCall from;  // gives data
  FoundCall to;    // gets data
};
std::vector<CommunicationLink> LinkCommunications(const std::vector<RankTimeline>& timelines);

}  // namespace sonde::precision
