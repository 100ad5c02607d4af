#include "precision/parallel/merged_side.h"

#include <algorithm>
#include <utility>

#include "base/files.h"
#include "base/strings.h"

namespace sonde::precision {

using base::Concat;
using base::JoinPath;

Result<MergedSide> MergeSide(const DumpTree& tree, int64_t step, const ParallelLayout& layout,
                             std::vector<std::string>* notes) {
  MergedSide out;
  std::vector<RankGraph> graphs;
  for (const RankFolder& rank : tree.ranks) {
    if (rank.step != step) continue;
    SONDE_ASSIGN_OR_RETURN(DumpFolder dump,
                           LoadDumpFolder(JoinPath(rank.path, "dump.json"), "", notes));
    if (dump.dump->task() != "statistics") {
      return base::InvalidArgumentError(
          Concat(rank.path, ": ranks are merged by their statistics; dump with task statistics"));
    }
    out.folders.push_back(rank);
    out.dumps.push_back(std::move(dump));
    SONDE_ASSIGN_OR_RETURN(Graph graph, Graph::Build(out.dumps.back(), rank.path));
    out.graphs.push_back(std::move(graph));
    graphs.push_back({&out.graphs.back(), std::max<int64_t>(rank.rank, 0)});
  }
  Result<std::vector<MergedGraph>> merged = MergeRanks(graphs, layout);
  SONDE_RETURN_IF_ERROR(std::move(merged.Annotate(tree.path)).status());
  out.merged = std::move(merged).value();
  return out;
}

const RankFolder& FolderOf(const MergedSide& side, const MergedGraph& merged) {
  return *std::find_if(side.folders.begin(), side.folders.end(), [&merged](const RankFolder& f) {
    return std::max<int64_t>(f.rank, 0) == merged.rank;
  });
}

}  // namespace sonde::precision
