// `sonde probe graph`: builds or compares the call graphs of one rank, one step or a whole dump
// into one database.
//
// Errors: anything that keeps the whole job from being done is a Status; a rank that cannot be read
// in a job of many is noted and the others go on.
// Threads: called from one, works in parallel inside.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "precision/parallel/parallel_layout.h"

namespace sonde::precision {

struct GraphOptions {
  std::string target_path;
  std::string golden_path;  // empty: build only
  std::string output_path;
  bool overflow_check = false;
  bool fuzzy_match = false;
  bool log_tensors = false;
  bool as_dump = false;                      // merged ranks as json files instead of a database
  bool store = false;                        // also write a store that `sonde query` reads
  std::optional<std::string> layer_mapping;  // empty text: equal names
  // How the ranks computed one model together; rank_size 0: each rank has a graph of its own.
  ParallelLayout target_layout = {};
  ParallelLayout golden_layout = {};
  // Called with 0 to 100 as the work goes on; may be empty.
  std::function<void(int percent)> progress = {};
};

struct GraphOutcome {
  std::string file;                // the database; empty: dumps were written
  std::vector<std::string> dumps;  // folders of merged ranks
  std::string store;               // its path, when asked for
  uint64_t target_nodes = 0;
  uint64_t golden_nodes = 0;
  uint64_t matched = 0;
  uint64_t pass = 0;
  uint64_t warning = 0;
  uint64_t error = 0;
  uint64_t critical = 0;  // overflow levels
  uint64_t high = 0;
  uint64_t medium = 0;
  std::string first_bad;  // the first node with an error or warning, or a critical one
  std::vector<std::string> notes;
  std::vector<std::string> log;  // one line a tensor, when asked for
};

Result<GraphOutcome> RunGraph(const GraphOptions& options);

}  // namespace sonde::precision
