// Writes the database that the TensorBoard plug-in tb_graph_ascend opens: tb_nodes, tb_stack,
// tb_config and their seven indexes.
//
// The file appears under its name when Finish() has succeeded; else nothing is left.
// Errors: Status with SQLite's reason. Threads: one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "precision/graph/node_result.h"
#include "precision/graph/overflow.h"

struct sqlite3;
struct sqlite3_stmt;

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
  std::string data_folder;  // of tensor files; empty: none
  bool checksums = false;   // show them with the other fields
};

struct VisConfig {
  bool compare = false;
  Mode mode = Mode::kStatistics;
  bool structure_only = false;
  bool overflow_check = false;
  int32_t micro_steps = 1;
  std::vector<int64_t> ranks;
  std::vector<int64_t> steps;
};

struct NodeTexts;

class VisDbWriter {
 public:
  static Result<std::unique_ptr<VisDbWriter>> Create(const std::string& path);
  VisDbWriter(const VisDbWriter&) = delete;
  VisDbWriter& operator=(const VisDbWriter&) = delete;
  ~VisDbWriter();

  Status AddGraph(const VisGraph& graph);
  // After all graphs: JSON about a call's partners on other ranks.
  Status SetCommunication(std::string_view source, int64_t step, int64_t rank,
                          std::string_view name, const std::string& json);
  Status AddConfig(const VisConfig& config);
  // Indexes, and the file's name.
  Status Finish();

 private:
  explicit VisDbWriter(std::string path);
  Status Open();
  Status Execute(const char* sql);
  Status Prepare(const char* sql, sqlite3_stmt** statement);
  Status Step(sqlite3_stmt* statement);
  Status AddNode(const VisGraph& graph, int32_t index, int64_t order, const NodeTexts& texts);
  // The key of a stack in tb_stack, which gets a row for every text that is new.
  Status SetStackId(const VisGraph& graph, const GraphNode& node, std::string* id);

  // Of the graph that is being added: rows of tb_stack by text, keys by stack of the dump.
  std::unordered_map<std::string, std::string> stack_ids_;
  std::unordered_map<int32_t, std::string> known_stacks_;
  std::string path_;
  std::string temporary_;
  sqlite3* db_ = nullptr;
  sqlite3_stmt* insert_node_ = nullptr;
  sqlite3_stmt* insert_stack_ = nullptr;
  sqlite3_stmt* update_communication_ = nullptr;
};

// "0", "0.5", "1"; "" for kNone.
std::string_view PrecisionText(Precision precision);

}  // namespace sonde::precision
