#include "importers/capture/scope_cells.h"

#include <utility>

#include "base/strings.h"
#include "capture/args.h"

namespace sonde::importers::capture_import {
namespace {

using capture::RecordKind;

constexpr std::string_view kForward = "Default/";
constexpr std::string_view kForwardAgain = "recompute_Default/";
constexpr std::string_view kGradients = "Gradients/";
constexpr std::string_view kGradientOf = "Grad_";  // a scope of one operator's gradient: no cell
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
  const bool is_backward = kernel.starts_with(kGradients);
  if (is_backward) kernel.remove_prefix(kGradients.size());
  if (!kernel.starts_with(kForward) && !kernel.starts_with(kForwardAgain)) return {};
  const auto parts = base::Split(kernel, '/');
  for (size_t i = 1; i + 1 < parts.size(); ++i) {
    const std::string_view part = parts[i];
    const size_t dash = part.rfind('-');
    if (is_backward && part.starts_with(kGradientOf)) break;
    if (dash == std::string_view::npos) return {};  // no scope of a cell
    if (!name.empty()) name.push_back('.');
    name.append(part.substr(0, dash));
    const std::string_view cell_class = part.substr(dash + 1);
    if (IsList(cell_class)) continue;
    const std::string shown = is_backward ? base::Concat(name, kBackward) : name;
    path.push_back({added_.Name(dictionary, shown), ClassArgs(dictionary, cell_class)});
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
