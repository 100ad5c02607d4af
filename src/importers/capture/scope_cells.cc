#include "importers/capture/scope_cells.h"

#include <utility>

#include "base/strings.h"
#include "capture/args.h"
#include "capture/mindspore_scope.h"

namespace sonde::importers::capture_import {
namespace {

using capture::RecordKind;

constexpr std::string_view kBackward = " (backward)";

bool IsList(std::string_view cell_class) {
  return cell_class == "CellList" || cell_class == "CellDict";
}

}  // namespace

uint32_t ScopeCells::ClassArgs(Dictionary& dictionary, std::string_view cell_class) {
  const auto [place, is_new] = classes_.try_emplace(std::string(cell_class));
  if (is_new) {
    std::vector<std::byte> fields;
    added_.AppendText(dictionary, fields, capture::kKeyModuleClass, cell_class);
    place->second = added_.Args(dictionary, std::move(fields));
  }
  return place->second;
}

ModulePath ScopeCells::PathOf(Dictionary& dictionary, std::string_view kernel) {
  ModulePath path;
  std::string name;
  const capture::MindsporeScope scope = capture::ParseMindsporeScope(kernel);
  for (const capture::MindsporeScopeCell& cell : scope.cells) {
    if (!name.empty()) name.push_back('.');
    name.append(cell.name);
    if (IsList(cell.cell_class)) continue;
    const std::string shown = scope.is_backward ? base::Concat(name, kBackward) : name;
    path.push_back({added_.Name(dictionary, shown), ClassArgs(dictionary, cell.cell_class)});
  }
  return path;
}

void ScopeCells::Find(Dictionary& dictionary) {
  const size_t count = dictionary.names.size();
  for (uint32_t id = 1; id < count; ++id) {
    const std::string_view name = dictionary.names[id];
    if (ModulePath path = PathOf(dictionary, name); !path.empty())
      paths_.emplace(id, std::move(path));
  }
}

void ScopeCells::AddRanges(ThreadStage& stage) const {
  if (paths_.empty()) return;
  AddModuleRuns(
      stage,
      [&](size_t i) -> const ModulePath* {
        const Node& node = stage.nodes[i];
        if (node.kind != RecordKind::kOp) return nullptr;
        const auto path = paths_.find(node.name);
        return path == paths_.end() ? nullptr : &path->second;
      },
      [](const Node& /*node*/) { return false; });
}

}  // namespace sonde::importers::capture_import
