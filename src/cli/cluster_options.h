// Options of `sonde cluster`, under the names of the tool that it stands in for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "cluster/frame/mode.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the library's name
class App;
}

namespace sonde::cli {

struct ClusterOptions {
  std::string path;
  std::string mode = "all";
  std::string recipe_folder;  // "": none
  std::string output;
  std::string export_type;  // "": the mode's own
  std::string parallel_mode = "concurrent";
  std::string rank_list = "all";
  int64_t step_id = -1;
  bool force = false;  // accepted: owners and sizes of files are not looked at
  bool agent = false;
  // Where several processes share the work.
  bool is_alone = false;
  std::string share;         // "2/8"; "": that of the environment
  std::string parts_folder;  // "": next to the results
  bool lists_tasks = false;
  std::string engine;             // "ray", "ray://HOST:PORT", "dask", "tcp://HOST:PORT"; "": none
  uint64_t engine_memory = 0;     // bytes of a task; 0: no limit
  cluster::OptionValues of_mode;  // of Mode::options
};

void AddClusterOptions(CLI::App& app, ClusterOptions& options);

// Of `sonde cluster map`, `shuffle` and `reduce`.
struct ClusterStepOptions {
  ClusterOptions cluster;            // path: of --root, output: of -o
  std::vector<std::string> sources;  // traces, or parts
  std::string waits;                 // of a shuffle
  std::string results;               // of modes that write files
  std::vector<std::string> numbers;  // "RANK/RUN/TRACE" of each source
  std::string part_name;             // of the one part; "": by content
  std::string program;               // that has to be this one; "": any
};
void AddMapOptions(CLI::App& app, ClusterStepOptions& options);
void AddShuffleOptions(CLI::App& app, ClusterStepOptions& options);
void AddReduceOptions(CLI::App& app, ClusterStepOptions& options);

// The words of `sonde cluster` that repeat these options, for an engine.
std::vector<std::string> WordsOfCluster(const ClusterOptions& options, const std::string& parts);
// The words that repeat the options of single modes; `of_map`: those of `sonde cluster map` alone.
std::vector<std::string> WordsOfModeOptions(const ClusterOptions& options, bool of_map);

// The values of options of single modes that are paths, as --bp.
std::vector<std::string*> PathsOfModeOptions(ClusterOptions& options);

// "all" is the empty list.
Result<std::vector<int32_t>> ParseRankList(const std::string& text);

// The value of --recipe-dir or SONDE_RECIPE_DIR; "" is none.
std::string RecipeFolderOf(const std::string& given);

// Without the "=" that the other tool lets stand before a path, "~" resolved.
std::string ClusterPath(const std::string& text);

}  // namespace sonde::cli
