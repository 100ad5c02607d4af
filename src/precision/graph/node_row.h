// One node of a graph as a row of tb_nodes.
// Pure, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "precision/graph/node_result.h"
#include "precision/graph/overflow.h"
#include "precision/sqlite/record.h"

namespace sonde::precision {

struct VisGraph {
  const Graph* graph = nullptr;
  std::string_view source = "NPU";  // or "Bench"
  int64_t step = 0;
  int64_t rank = 0;
  const Graph* partner = nullptr;        // with `matches`
  const NodeMatches* matches = nullptr;  // null: one graph only
  const NodeResults* results = nullptr;  // of the compared side
  const std::vector<Overflow>* overflow = nullptr;
  const std::vector<std::string>* merge_info = nullptr;  // one a node: JSON, or nothing
  std::string data_folder;                               // of tensor files; empty: none
  bool checksums = false;                                // show them with the other fields
};

// "NPU_0_3": the graph's part of all its keys.
std::string GraphId(std::string_view source, int64_t step, int64_t rank);

// "0", "0.5", "1"; "" for kNone.
std::string_view PrecisionText(Precision precision);

struct NodeRow {
  sqlite::Record record;
  std::string link;  // matched_node_link, which an index holds, too
};

struct NodePlace {
  int32_t index = 0;  // of the node in its graph
  int64_t order = 0;  // of the node in the database
  std::string_view graph_id;
  std::string_view stack_id;
};

// Replaces `row`.
void FillNodeRow(const VisGraph& graph, const NodePlace& place, NodeRow* row);

}  // namespace sonde::precision
