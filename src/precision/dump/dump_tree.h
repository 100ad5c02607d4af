// Finds the dumps below a path and pairs those of two runs.
//
//   dump.json or debug.json            one file
//   rank0/, proc123/                   a folder with dump.json or debug.json
//   step0/ with rank0/, rank1/, ...    the ranks of one step
//   dump/ with step0/, step1/, ...     everything; also dump/{graph,pynative}/step0/... (MindSpore)
//
// Errors: paths that hold no dump, two paths of different granularity, nothing in common.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace sonde::precision {

enum class Granularity : uint8_t { kFile, kRank, kStep, kRoot, kMixedRoot };
std::string_view GranularityText(Granularity granularity);  // "one rank", "one step", ...

// One rank folder of a dump.
struct RankFolder {
  std::string path;
  std::string step_name;    // "step0", or "graph/step0"; empty for kRank
  std::string rank_name;    // "rank0", "proc123", "rank"; the folder's name
  int64_t step = 0;         // 0 where the name has no number
  int64_t rank = -1;        // -1: plain "rank"; for proc folders 0
  bool is_process = false;  // proc<pid>
};

struct DumpTree {
  Granularity granularity = Granularity::kRank;
  std::string path;
  std::vector<RankFolder> ranks;  // by step, then rank
};

Result<DumpTree> FindDumps(const std::string& path);

struct RankPair {
  RankFolder target;
  RankFolder golden;
};

struct PairedTrees {
  std::vector<RankPair> pairs;
  std::vector<std::string> notes;  // folders that only one side has
};

// Steps and ranks pair by number; one process folder pairs with one rank or process folder.
Result<PairedTrees> PairTrees(const DumpTree& target, const DumpTree& golden);

// "step12" -> 12 for prefix "step"; -1 without digits; -2 when the name is something else.
int64_t NumberBehind(std::string_view name, std::string_view prefix);

}  // namespace sonde::precision
