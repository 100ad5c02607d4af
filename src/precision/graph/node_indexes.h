// The indexes of tb_nodes: seven for the viewer's questions, and the one of the primary key.
//
// Their entries are brought into order here, from what is known of the graphs: names are sorted
// once, the rest are whole numbers and walks along the trees. Threads: one; works in parallel
// inside.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "precision/dump/text_arena.h"
#include "precision/graph/node_row.h"
#include "precision/sqlite/tree_builder.h"

namespace sonde::precision {

// The nodes of one graph, in the order of the database.
struct IndexedGraph {
  const VisGraph* view = nullptr;
  int64_t first_rowid = 0;              // of the node with order 0
  std::vector<std::string_view> links;  // by order
};

class NodeIndexes {
 public:
  static constexpr size_t kCount = 7;
  static const std::array<const char*, kCount> kSql;

  explicit NodeIndexes(sqlite::PageFile* file);

  // The graphs of one rank of one step; steps and ranks ascend from call to call.
  Status AddRank(std::span<const IndexedGraph> graphs);
  // Entries of the schema, the primary key's index first.
  std::vector<sqlite::SchemaEntry> Finish();

 private:
  // The keys of one graph's rows: this text with the name behind.
  struct Keys {
    std::string prefix;
    std::vector<std::pair<std::string_view, int64_t>> names;  // sorted; with rowids
  };
  uint32_t FinishPrimaryKey();

  sqlite::PageFile* file_;
  std::vector<sqlite::IndexBuilder> builders_;
  std::vector<int64_t> distributed_;  // rowids; the last index holds them behind all others
  TextArena arena_;
  std::vector<Keys> keys_;
  std::set<std::string> prefixes_;
  std::pair<int64_t, int64_t> last_ = {-1, -1};  // step, rank
};

}  // namespace sonde::precision
