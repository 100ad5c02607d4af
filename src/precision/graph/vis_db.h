// Writes the database that the TensorBoard plug-in tb_graph_ascend opens: tb_nodes, tb_stack,
// tb_config and their seven indexes.
//
// Rows and indexes are laid out by our own writer of SQLite files; SQLite itself only fills in what
// is known last, the partners of communication calls. The file appears under its name when Finish()
// has succeeded; else nothing is left.
// Errors: Status with the system's or SQLite's reason. Threads: one; works in parallel inside.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "precision/graph/node_indexes.h"
#include "precision/graph/node_row.h"

namespace sonde::precision {

struct VisConfig {
  bool compare = false;
  Mode mode = Mode::kStatistics;
  bool structure_only = false;
  bool overflow_check = false;
  int32_t micro_steps = 1;
  std::vector<int64_t> ranks;
  std::vector<int64_t> steps;
};

class VisDbWriter {
 public:
  static Result<std::unique_ptr<VisDbWriter>> Create(const std::string& path);
  VisDbWriter(const VisDbWriter&) = delete;
  VisDbWriter& operator=(const VisDbWriter&) = delete;
  ~VisDbWriter();

  // The graphs of one rank of one step: one, or two that are compared. Steps and ranks ascend from
  // call to call.
  Status AddRank(std::span<const VisGraph> graphs);
  // JSON about a call's partners on other ranks.
  void SetCommunication(std::string_view source, int64_t step, int64_t rank, std::string_view name,
                        std::string json);
  // Completes the file and gives it its name.
  Status Finish(const VisConfig& config);

 private:
  explicit VisDbWriter(std::string path);
  // Writes all rows; the texts of their links are stored in `links`.
  void AddNodes(IndexedGraph* graph, TextArena* links);
  // The key in tb_stack of every node by its order; texts that are new get a row.
  std::vector<std::string> AddStacks(const VisGraph& graph);
  Status WriteCommunications() const;

  std::string path_;
  std::string temporary_;
  std::unique_ptr<sqlite::PageFile> file_;
  std::unique_ptr<sqlite::TableBuilder> nodes_;
  std::unique_ptr<sqlite::TableBuilder> stacks_;
  std::unique_ptr<NodeIndexes> indexes_;
  std::vector<std::string> stack_keys_;  // by rowid, from 1
  int64_t node_count_ = 0;
  std::vector<std::pair<std::string, std::string>> communications_;  // key, JSON
};

}  // namespace sonde::precision
