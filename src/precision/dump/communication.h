// What a dump holds about one communication call: the partners and the group.
//
// Point-to-point calls name their peer by `dst` or `src` (or as the second positional argument);
// collectives name a process group; batch_isend_irecv lists its operations. Ranks are global.
// Pure, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "precision/dump/dump_file.h"

namespace sonde::precision {

struct PointToPoint {
  bool is_send = false;
  int64_t peer = -1;
};

struct Communication {
  // How data flows through the call, seen from this rank.
  enum class Kind : uint8_t { kSend, kReceive, kFromSource, kToDestination, kAll, kBatch };

  Kind kind = Kind::kAll;
  std::string op;        // "isend", "all_reduce"
  int64_t peer = -1;     // send, receive: the other rank; rooted collectives: the root; -1 unknown
  std::string group_id;  // empty: none dumped
  std::vector<int64_t> ranks;  // of the group; empty: not dumped, all ranks are meant
  std::vector<PointToPoint> batch;
};

inline bool IsCommunicationName(std::string_view api) { return api.starts_with("Distributed."); }

// One of the calls by which the search for the first bad node is divided into phases.
bool IsCommunicationPhaseName(std::string_view api);

// `api` must be a Distributed call.
Communication ReadCommunication(const DumpFile& dump, const DumpApi& api);

}  // namespace sonde::precision
