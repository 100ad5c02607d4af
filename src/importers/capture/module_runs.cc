#include "importers/capture/module_runs.h"

#include <utility>

namespace sonde::importers::capture_import {
namespace {

// Modules whose calls are open, by the places of their first and last kernel.
class ModuleRunBuilder {
 public:
  explicit ModuleRunBuilder(const ThreadStage& stage)
      : stage_(stage), behind_(stage.nodes.size()) {}

  void Take(size_t node, const ModulePath& path) {
    size_t same = 0;
    while (same < open_.size() && same < path.size() && open_[same].module == path[same]) ++same;
    Close(same);
    for (Run& outer : open_) outer.last = node;
    for (; same < path.size(); ++same) open_.push_back({path[same], node, node});
  }

  void Close(size_t depth) {
    while (open_.size() > depth) {
      const Run& run = open_.back();
      Node range;
      range.ts = stage_.nodes[run.first].ts;
      range.end = stage_.nodes[run.last].end;
      range.name = run.module.name;
      range.args = run.module.args;
      range.kind = capture::RecordKind::kModule;
      behind_[run.last].push_back(range);
      open_.pop_back();
    }
  }

  // Those that end with one kernel were closed innermost first.
  std::vector<Node> NodesWithRanges() const {
    std::vector<Node> nodes;
    for (size_t i = 0; i < behind_.size(); ++i) {
      nodes.push_back(stage_.nodes[i]);
      nodes.insert(nodes.end(), behind_[i].begin(), behind_[i].end());
    }
    return nodes;
  }

 private:
  struct Run {
    ShownModule module;
    size_t first = 0;
    size_t last = 0;
  };
  const ThreadStage& stage_;
  std::vector<Run> open_;
  std::vector<std::vector<Node>> behind_;
};

}  // namespace

void AddModuleRuns(ThreadStage& stage, const PathOfNode& path_of, const EndsCalls& ends) {
  ModuleRunBuilder builder(stage);
  for (size_t i = 0; i < stage.nodes.size(); ++i) {
    const Node& node = stage.nodes[i];
    if (ends(node)) builder.Close(0);
    if (node.end == kOpenEnd) continue;
    if (const ModulePath* path = path_of(i)) builder.Take(i, *path);
  }
  builder.Close(0);
  stage.nodes = builder.NodesWithRanges();
}

}  // namespace sonde::importers::capture_import
