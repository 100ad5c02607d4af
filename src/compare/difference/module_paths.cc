#include <algorithm>
#include <deque>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>

#include "base/strings.h"
#include "compare/difference/work.h"
#include "compare/frame/matching.h"
#include "compare/modules/module_tree.h"

namespace sonde::compare {
namespace {

using base::Concat;

constexpr std::string_view kBackward = "[ BACKWARD ]";

// Modules that only forward to the one inside.
bool IsWrapper(std::string_view name) {
  return name == "_orig_mod" || name == "module" || name == "_fsdp_wrapped_module" ||
         name == "_checkpoint_wrapped_module";
}

class PathFinder {
 public:
  PathFinder(const Side& side, const ModuleTrees& trees) : side_(side), trees_(trees) {
    paths_.nodes.emplace_back();
    raw_names_.emplace_back();
    paths_.of_kernel.assign(side.kernels.size(), 0);
    paths_.call_begin_ns.assign(side.kernels.size(), std::numeric_limits<int64_t>::min());
  }

  ModulePaths Run() {
    std::vector<int32_t> of_call(trees_.forward.modules.size(), 0);
    for (size_t i = 1; i < of_call.size(); ++i) {
      const Module& module = trees_.forward.modules[i];
      of_call[i] = Child(of_call[static_cast<size_t>(module.parent)], module.name);
      by_full_name_.emplace(module.full_name, of_call[i]);
      Take(module, of_call[i]);
    }
    for (const Module& module : trees_.backward.modules) Take(module, ForwardOf(module.name));
    CallFinder calls(trees_.forward);
    for (const PythonRange& range : side_.modules) {
      const int32_t call = calls.At(range.begin_ns + 1);
      paths_.of_module_range.push_back(call == kNone ? 0 : of_call[static_cast<size_t>(call)]);
    }
    return std::move(paths_);
  }

 private:
  // Captures of Sonde name a module by its path, the others by its last name.
  std::string LastName(int32_t parent, std::string_view name) const {
    std::string_view last = name;
    for (int32_t above = parent; above > 0;
         above = paths_.nodes[static_cast<size_t>(above)].parent) {
      const std::string prefix = Concat(raw_names_[static_cast<size_t>(above)], ".");
      if (!name.starts_with(prefix)) continue;
      last = name.substr(prefix.size());
      break;
    }
    std::vector<std::string_view> parts = base::Split(last, '.');
    if (parts.size() > 1) std::erase_if(parts, IsWrapper);
    return base::Join(parts, ".");
  }

  int32_t Child(int32_t parent, std::string_view name) {
    if (IsWrapper(name)) return parent;
    const auto [place, is_new] =
        places_.try_emplace({parent, name}, static_cast<int32_t>(paths_.nodes.size()));
    if (is_new) {
      paths_.nodes[static_cast<size_t>(parent)].children.push_back(place->second);
      paths_.nodes.push_back({.name = LastName(parent, name), .parent = parent, .children = {}});
      raw_names_.emplace_back(name);
    }
    return place->second;
  }

  // The backward pass belongs to the module of its forward pass.
  int32_t ForwardOf(std::string_view name) const {
    if (!name.starts_with(kBackward)) return 0;
    const auto found = by_full_name_.find(name.substr(kBackward.size()));
    return found == by_full_name_.end() ? 0 : found->second;
  }

  void Take(const Module& module, int32_t place) {
    for (const Launch& launch : module.launches) {
      for (const uint32_t kernel : launch.kernels) {
        // Work launched by the forward pass stays there.
        if (paths_.of_kernel[kernel] != 0) continue;
        paths_.of_kernel[kernel] = place;
        paths_.call_begin_ns[kernel] = module.begin_ns;
      }
    }
  }

  const Side& side_;
  const ModuleTrees& trees_;
  ModulePaths paths_;
  std::map<std::pair<int32_t, std::string_view>, int32_t> places_;
  std::unordered_map<std::string_view, int32_t> by_full_name_;
  std::vector<std::string> raw_names_;  // of the nodes
};

using PathPair = std::pair<int32_t, int32_t>;

class PathJoiner {
 public:
  PathJoiner(const ModulePaths& base, const ModulePaths& comparison)
      : base_(base), comparison_(comparison) {}

  std::vector<ModuleNode> Run(std::vector<int32_t>& base_places,
                              std::vector<int32_t>& comparison_places) {
    base_places.assign(base_.nodes.size(), 0);
    comparison_places.assign(comparison_.nodes.size(), 0);
    nodes_.emplace_back();
    std::deque<std::pair<PathPair, int32_t>> open = {{{0, 0}, 0}};
    while (!open.empty()) {
      const auto [pair, parent] = open.front();
      open.pop_front();
      for (const PathPair& child : ChildrenOf(pair)) {
        const auto place = static_cast<int32_t>(nodes_.size());
        nodes_.push_back(NodeOf(child, parent));
        if (child.first != kNone) base_places[static_cast<size_t>(child.first)] = place;
        if (child.second != kNone) comparison_places[static_cast<size_t>(child.second)] = place;
        open.emplace_back(child, place);
      }
    }
    return std::move(nodes_);
  }

 private:
  ModuleNode NodeOf(const PathPair& pair, int32_t parent) const {
    const std::string_view of_base = NameOf(base_, pair.first);
    const std::string_view of_comparison = NameOf(comparison_, pair.second);
    ModuleNode node;
    node.parent = parent;
    node.name = of_base.empty()            ? std::string(of_comparison)
                : of_comparison.empty()    ? std::string(of_base)
                : of_base == of_comparison ? std::string(of_base)
                                           : Concat(of_base, " -> ", of_comparison);
    node.path = Concat(nodes_[static_cast<size_t>(parent)].path, "/", node.name);
    return node;
  }

  static std::string_view NameOf(const ModulePaths& paths, int32_t place) {
    return place == kNone ? std::string_view() : paths.nodes[static_cast<size_t>(place)].name;
  }

  static std::span<const int32_t> Children(const ModulePaths& paths, int32_t place) {
    if (place == kNone) return {};
    return paths.nodes[static_cast<size_t>(place)].children;
  }

  std::vector<PathPair> ChildrenOf(const PathPair& pair) {
    const auto x = Children(base_, pair.first);
    const auto y = Children(comparison_, pair.second);
    const auto numbers = [this](const ModulePaths& paths, std::span<const int32_t> places) {
      std::vector<int32_t> all;
      for (const int32_t place : places) all.push_back(names_.Of(NameOf(paths, place)));
      return all;
    };
    std::vector<PathPair> pairs;
    std::vector<int32_t> alone[2];
    const auto close = [&] {
      PairAlone(alone[0], alone[1], pairs);
      alone[0].clear();
      alone[1].clear();
    };
    for (const auto& [i, j] : MatchSequences(numbers(base_, x), numbers(comparison_, y))) {
      if (i != kNobody && j != kNobody) {
        close();
        pairs.emplace_back(x[static_cast<size_t>(i)], y[static_cast<size_t>(j)]);
      } else if (i != kNobody) {
        alone[0].push_back(x[static_cast<size_t>(i)]);
      } else {
        alone[1].push_back(y[static_cast<size_t>(j)]);
      }
    }
    close();
    return pairs;
  }

  // As many on both sides between the same neighbours: the same ones under another name.
  static void PairAlone(const std::vector<int32_t>& base, const std::vector<int32_t>& comparison,
                        std::vector<PathPair>& pairs) {
    if (base.size() == comparison.size()) {
      for (size_t i = 0; i < base.size(); ++i) pairs.emplace_back(base[i], comparison[i]);
      return;
    }
    for (const int32_t one : base) pairs.emplace_back(one, kNone);
    for (const int32_t one : comparison) pairs.emplace_back(kNone, one);
  }

  const ModulePaths& base_;
  const ModulePaths& comparison_;
  std::vector<ModuleNode> nodes_;
  TextNumbers names_;
};

}  // namespace

ModulePaths FindModulePaths(const Side& side, const ModuleTrees& trees) {
  return PathFinder(side, trees).Run();
}

std::vector<ModuleNode> JoinModulePaths(const ModulePaths& base, const ModulePaths& comparison,
                                        std::vector<int32_t>& base_places,
                                        std::vector<int32_t>& comparison_places) {
  return PathJoiner(base, comparison).Run(base_places, comparison_places);
}

}  // namespace sonde::compare
