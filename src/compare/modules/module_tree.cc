#include "compare/modules/module_tree.h"

#include <algorithm>
#include <limits>
#include <map>

#include "base/strings.h"

namespace sonde::compare {
namespace {

using base::Concat;

struct NamedRange {
  std::string name;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
};

bool IsOptimizer(const Side& side, const Op& op) {
  return base::ToLower(side.Name(op.name)).starts_with("optimizer");
}

int32_t AddModule(NamedRange range, int32_t parent, ModuleTree& tree) {
  Module module;
  const Module& above = tree.At(parent);
  module.full_name = Concat(above.full_name, "/", range.name);
  module.call_stack =
      above.call_stack.empty() ? range.name : Concat(above.call_stack, ";\n", range.name);
  module.name = std::move(range.name);
  module.parent = parent;
  module.level = above.level + 1;
  module.begin_ns = range.begin_ns;
  module.end_ns = range.end_ns;
  const auto place = static_cast<int32_t>(tree.modules.size());
  tree.modules[static_cast<size_t>(parent)].children.push_back(place);
  tree.modules.push_back(std::move(module));
  return place;
}

// Of the children that begin no later the last, where it is open.
int32_t OpenChild(const ModuleTree& tree, int32_t parent, int64_t ts) {
  const std::vector<int32_t>& children = tree.At(parent).children;
  const auto after = std::upper_bound(
      children.begin(), children.end(), ts,
      [&tree](int64_t moment, int32_t child) { return moment < tree.At(child).begin_ns; });
  if (after == children.begin()) return kNone;
  const int32_t child = *std::prev(after);
  return tree.At(child).begin_ns < ts && ts < tree.At(child).end_ns ? child : kNone;
}

std::vector<Launch> LaunchesOf(const Side& side) {
  std::map<int64_t, std::vector<uint32_t>> by_ts;
  for (uint32_t i = 0; i < side.kernels.size(); ++i) {
    const Kernel& kernel = side.kernels[i];
    if (kernel.op != kNone) by_ts[kernel.launch_ns].push_back(i);
  }
  std::vector<Launch> launches;
  for (auto& [ts, kernels] : by_ts) launches.push_back({ts, std::move(kernels)});
  return launches;
}

// Ranges and launches in the order of time, nested.
class Nester {
 public:
  explicit Nester(const Side& side) : side_(side) { tree_.modules.emplace_back(); }

  ModuleTree Run(std::vector<NamedRange> ranges, const std::vector<Launch>& launches) {
    std::stable_sort(ranges.begin(), ranges.end(), [](const NamedRange& a, const NamedRange& b) {
      return a.begin_ns < b.begin_ns;
    });
    for (NamedRange& range : ranges) {
      AddLaunches(launches, range.begin_ns);
      Close(range.begin_ns);
      last_ = AddModule(std::move(range), last_, tree_);
    }
    AddLaunches(launches, std::numeric_limits<int64_t>::max());
    return std::move(tree_);
  }

 private:
  void Close(int64_t ts) {
    while (last_ != 0 && ts > tree_.At(last_).end_ns) last_ = tree_.At(last_).parent;
  }

  Module& At(int32_t place) { return tree_.modules[static_cast<size_t>(place)]; }

  void AddLaunches(const std::vector<Launch>& launches, int64_t before) {
    for (; next_ < launches.size() && launches[next_].ts < before; ++next_) {
      const Launch& launch = launches[next_];
      Close(launch.ts);
      if (last_ == 0) continue;
      int64_t ns = 0;
      for (const uint32_t kernel : launch.kernels) ns += side_.kernels[kernel].dur_ns;
      At(last_).self_ns += ns;
      At(last_).launches.push_back(launch);
      for (int32_t above = last_; above != 0; above = At(above).parent) At(above).total_ns += ns;
    }
  }

  const Side& side_;
  ModuleTree tree_;
  int32_t last_ = 0;
  size_t next_ = 0;
};

std::vector<NamedRange> ForwardRanges(const Side& side) {
  std::vector<NamedRange> ranges;
  for (const PythonRange& module : side.modules) {
    ranges.push_back({std::string(side.Name(module.name)), module.begin_ns, module.end_ns});
  }
  for (const Op& op : side.ops) {
    if (!IsOptimizer(side, op)) continue;
    ranges.push_back({std::string(side.Name(op.name)), op.begin_ns, op.end_ns});
  }
  return ranges;
}

// Backward operators under the name of the module whose forward pass they belong to.
std::vector<NamedRange> BackwardRanges(const Side& side, const ModuleTree& forward) {
  std::map<int64_t, const Op*> by_begin;
  for (const Op& op : side.ops) {
    if (!IsOptimizer(side, op)) by_begin[op.begin_ns] = &op;
  }
  std::vector<NamedRange> ranges;
  for (const auto& [forward_ns, backward_ns] : side.backward) {
    const auto op = by_begin.find(backward_ns);
    if (op == by_begin.end()) continue;
    const int32_t module = FindCall(forward, forward_ns);
    if (module == kNone) continue;
    ranges.push_back({Concat("[ BACKWARD ]", forward.At(module).full_name), op->second->begin_ns,
                      op->second->end_ns});
  }
  return ranges;
}

// Gives each module its outermost operators.
class OpPlacer {
 public:
  OpPlacer(const Side& side, ModuleTrees& trees) : side_(side), trees_(trees) {
    open_[0].resize(trees.forward.modules.size());
    open_[1].resize(trees.backward.modules.size());
  }

  void Run() {
    for (size_t i = 0; i < side_.ops.size(); ++i) {
      const Op& op = side_.ops[i];
      if (op.is_step || IsOptimizer(side_, op)) continue;
      if (!Place(static_cast<int32_t>(i), trees_.forward, open_[0])) {
        Place(static_cast<int32_t>(i), trees_.backward, open_[1]);
      }
    }
    AddKernels(trees_.forward);
    AddKernels(trees_.backward);
  }

 private:
  bool Place(int32_t place, ModuleTree& tree, std::vector<std::vector<int64_t>>& open) {
    const Op& op = side_.OpAt(place);
    const int32_t module = FindCall(tree, op.begin_ns);
    if (module == kNone) return false;
    std::vector<int64_t>& ends_ns = open[static_cast<size_t>(module)];
    while (!ends_ns.empty() && ends_ns.back() < op.begin_ns) ends_ns.pop_back();
    if (ends_ns.empty()) {
      tree.modules[static_cast<size_t>(module)].top_ops.push_back({.op = place, .kernels = {}});
    }
    ends_ns.push_back(op.end_ns);
    return true;
  }

  void AddKernels(ModuleTree& tree) const {
    for (Module& module : tree.modules) {
      size_t next = 0;
      for (const Launch& launch : module.launches) {
        while (next < module.top_ops.size() &&
               launch.ts > side_.OpAt(module.top_ops[next].op).end_ns) {
          ++next;
        }
        if (next == module.top_ops.size()) break;
        ModuleOp& top = module.top_ops[next];
        if (launch.ts < side_.OpAt(top.op).begin_ns) continue;
        top.kernels.insert(top.kernels.end(), launch.kernels.begin(), launch.kernels.end());
      }
    }
  }

  const Side& side_;
  ModuleTrees& trees_;
  std::vector<std::vector<int64_t>> open_[2];  // ends of the operators open in each module
};

// Where a module was called from, as functions of Python tell.
void SetCallStacks(const ModuleTree& functions, ModuleTree& tree) {
  for (size_t i = 1; i < tree.modules.size(); ++i) {
    Module& module = tree.modules[i];
    const int32_t function = FindCall(functions, module.begin_ns);
    if (function != kNone) module.call_stack = functions.At(function).call_stack;
  }
}

}  // namespace

int32_t FindCall(const ModuleTree& tree, int64_t ts) {
  int32_t call = kNone;
  for (int32_t inner = OpenChild(tree, 0, ts); inner != kNone; inner = OpenChild(tree, call, ts)) {
    call = inner;
  }
  return call;
}

ModuleTrees MakeModuleTrees(const Side& side) {
  ModuleTrees trees;
  if (side.modules.empty()) {
    trees.forward.modules.emplace_back();
    trees.backward.modules.emplace_back();
    return trees;
  }
  const std::vector<Launch> launches = LaunchesOf(side);
  trees.forward = Nester(side).Run(ForwardRanges(side), launches);
  trees.backward = Nester(side).Run(BackwardRanges(side, trees.forward), launches);
  OpPlacer(side, trees).Run();
  std::vector<NamedRange> functions;
  for (const PythonRange& range : side.functions) {
    functions.push_back({std::string(side.Name(range.name)), range.begin_ns, range.end_ns});
  }
  const ModuleTree calls = Nester(side).Run(std::move(functions), {});
  SetCallStacks(calls, trees.forward);
  SetCallStacks(calls, trees.backward);
  return trees;
}

}  // namespace sonde::compare
