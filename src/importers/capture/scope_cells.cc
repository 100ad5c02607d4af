#include "importers/capture/scope_cells.h"

#include <algorithm>
#include <cstring>

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

// One run of kernels in a cell, by the places of its first and last kernel.
struct Run {
  size_t first = 0;
  size_t last = 0;
};

}  // namespace

uint32_t ScopeCells::NameId(Dictionary& dictionary, std::string_view text) {
  const auto [place, is_new] =
      names_.try_emplace(std::string(text), static_cast<uint32_t>(dictionary.names.size()));
  if (is_new) {
    texts_.emplace_back(text);
    dictionary.names.push_back(texts_.back());
  }
  return place->second;
}

uint32_t ScopeCells::ClassArgs(Dictionary& dictionary, std::string_view cell_class) {
  const auto [place, is_new] =
      classes_.try_emplace(std::string(cell_class), static_cast<uint32_t>(dictionary.args.size()));
  if (is_new) {
    const capture::ArgHead head{NameId(dictionary, capture::kKeyModuleClass),
                                static_cast<uint16_t>(capture::ArgType::kText), 0,
                                static_cast<uint32_t>(cell_class.size())};
    std::vector<std::byte>& bytes =
        sets_.emplace_back(sizeof(head) + (cell_class.size() + 3) / 4 * 4);
    std::memcpy(bytes.data(), &head, sizeof(head));
    std::memcpy(bytes.data() + sizeof(head), cell_class.data(), cell_class.size());
    dictionary.args.emplace_back(bytes);
  }
  return place->second;
}

ScopeCells::Path ScopeCells::PathOf(Dictionary& dictionary, std::string_view kernel) {
  Path path;
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
    path.push_back({NameId(dictionary, shown), ClassArgs(dictionary, cell_class)});
  }
  return path;
}

void ScopeCells::Find(Dictionary& dictionary) {
  if (dictionary.args.empty()) dictionary.args.emplace_back();  // 0 is none
  const size_t count = dictionary.names.size();
  for (uint32_t id = 1; id < count; ++id) {
    const std::string_view name = dictionary.names[id];
    if (Path path = PathOf(dictionary, name); !path.empty()) paths_.emplace(id, std::move(path));
  }
}

void ScopeCells::AddRanges(ThreadStage& stage) const {
  if (paths_.empty()) return;
  struct Open {
    Cell cell;
    Run run;
  };
  std::vector<Open> open;
  std::vector<std::vector<Node>> behind(stage.nodes.size());
  const auto close = [&](size_t depth) {
    while (open.size() > depth) {
      const Open& last = open.back();
      Node node;
      node.ts = stage.nodes[last.run.first].ts;
      node.end = stage.nodes[last.run.last].end;
      node.name = last.cell.name;
      node.args = last.cell.args;
      node.kind = RecordKind::kModule;
      behind[last.run.last].push_back(node);
      open.pop_back();
    }
  };
  for (size_t i = 0; i < stage.nodes.size(); ++i) {
    const Node& node = stage.nodes[i];
    const auto path = node.kind == RecordKind::kOp ? paths_.find(node.name) : paths_.end();
    if (path == paths_.end() || node.end == kOpenEnd) continue;
    size_t same = 0;
    while (same < open.size() && same < path->second.size() &&
           open[same].cell == path->second[same]) {
      ++same;
    }
    close(same);
    for (Open& outer : open) outer.run.last = i;
    for (; same < path->second.size(); ++same) open.push_back({path->second[same], {i, i}});
  }
  close(0);
  std::vector<Node> nodes;
  for (size_t i = 0; i < stage.nodes.size(); ++i) {
    nodes.push_back(stage.nodes[i]);
    // Those that end with one kernel were closed innermost first.
    nodes.insert(nodes.end(), behind[i].begin(), behind[i].end());
  }
  stage.nodes = std::move(nodes);
}

}  // namespace sonde::importers::capture_import
