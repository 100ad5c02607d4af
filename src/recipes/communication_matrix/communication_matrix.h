// Traffic between ranks by kind of communication (communication_matrix.json and the table
// CommAnalyzerMatrix of analysis.db).
//
// For each (kind, group, link) the operations are sorted by bandwidth, fastest first, and shown as
// top1 (first), middle (index n / 2), bottom1 (last), total (sums), bottom2 (from two operations
// on), bottom3 (from three on): the peer's choice and order. The kind is the first of the peer's
// words that is found in the name, so that reduceScatter counts as "reduce", as in its files.
// Units: nanoseconds, bytes. Pure, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "recipes/communication/communication.h"

namespace sonde::recipes {

struct MatrixCell {
  Link link;
  std::string op_name;  // empty for the total
};

struct MatrixEntry {
  std::string name;  // allreduce-top1
  uint64_t group_hash = 0;
  bool is_p2p = false;
  std::vector<MatrixCell> cells;  // one a link, in the order of first appearance
};

std::vector<MatrixEntry> CommunicationMatrix(const DeviceView& view, const CommunicationStep& step);

// "hcom_allReduce__586_0_1" -> "allreduce", "hcom_reduceScatter__1_0_1" -> "reduce"; a name without
// any of the words: the part before "__".
std::string MatrixKind(std::string_view op_name);

}  // namespace sonde::recipes
