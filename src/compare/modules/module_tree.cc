#include "compare/modules/module_tree.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <limits>
#include <unordered_map>
#include <utility>

#include "base/host/parallel.h"
#include "base/strings.h"
#include "compare/frame/sort_runs.h"

namespace sonde::compare {
namespace {

using base::Concat;

struct NamedRange {
  std::string_view name;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
};

// By name of the side.
std::vector<bool> OptimizerNames(const Side& side) {
  constexpr std::string_view kOptimizer = "optimizer";
  std::vector<bool> all;
  all.reserve(side.names.size());
  for (const std::string& name : side.names) {
    all.push_back(
        name.size() >= kOptimizer.size() &&
        std::equal(kOptimizer.begin(), kOptimizer.end(), name.begin(), [](char lower, char letter) {
          return lower == std::tolower(static_cast<unsigned char>(letter));
        }));
  }
  return all;
}

bool IsOptimizer(const std::vector<bool>& optimizers, const Op& op) {
  return op.name >= 0 && optimizers[static_cast<size_t>(op.name)];
}

// Chains of names: each is there once, however often it is called, and its texts are made when
// they are asked for.
class Paths {
 public:
  explicit Paths(std::deque<std::string>& texts) : texts_(texts), paths_(1) {}

  int32_t Below(int32_t parent, std::string_view name) {
    const auto [place, is_new] =
        places_.try_emplace({parent, name}, static_cast<int32_t>(paths_.size()));
    if (is_new) paths_.push_back({.parent = parent, .name = name, .full_name = {}, .stack = {}});
    return place->second;
  }

  std::string_view FullName(int32_t path) {
    std::string_view& made = paths_[static_cast<size_t>(path)].full_name;
    if (made.empty() && path != 0) made = Keep(Concat("/", base::Join(NamesOf(path), "/")));
    return made;
  }

  std::string_view CallStack(int32_t path) {
    std::string_view& made = paths_[static_cast<size_t>(path)].stack;
    if (made.empty() && path != 0) made = Keep(base::Join(NamesOf(path), ";\n"));
    return made;
  }

 private:
  struct Path {
    int32_t parent = kNone;
    std::string_view name;
    std::string_view full_name;
    std::string_view stack;
  };
  using Key = std::pair<int32_t, std::string_view>;
  struct HashOf {
    size_t operator()(const Key& key) const {
      constexpr size_t kOdd = 0x9E3779B97F4A7C15;
      return std::hash<std::string_view>()(key.second) ^ (static_cast<size_t>(key.first) * kOdd);
    }
  };

  std::vector<std::string_view> NamesOf(int32_t path) const {
    std::vector<std::string_view> names;
    for (; path != 0; path = paths_[static_cast<size_t>(path)].parent) {
      names.push_back(paths_[static_cast<size_t>(path)].name);
    }
    std::reverse(names.begin(), names.end());
    return names;
  }

  std::string_view Keep(std::string text) { return texts_.emplace_back(std::move(text)); }

  std::deque<std::string>& texts_;
  std::vector<Path> paths_;  // the first is the root
  std::unordered_map<Key, int32_t, HashOf> places_;
};

// Of calls by begin, the first of which is the root: the innermost that is open among the first
// `begun`, which begin no later. It is the last of them, or around it.
template <class Call>
int32_t OpenAt(const std::vector<Call>& calls, size_t begun, int64_t ts) {
  auto open = static_cast<int32_t>(begun) - 1;
  for (int32_t place = open; place > 0;) {
    const Call& call = calls[static_cast<size_t>(place)];
    if (ts <= call.begin_ns || ts >= call.end_ns) open = call.parent;
    place = call.parent;
  }
  return open > 0 ? open : kNone;
}

// Fills `kernels` by launch.
std::vector<Launch> LaunchesOf(const Side& side, std::vector<uint32_t>& kernels) {
  for (uint32_t i = 0; i < side.kernels.size(); ++i) {
    if (side.kernels[i].op != kNone) kernels.push_back(i);
  }
  std::stable_sort(kernels.begin(), kernels.end(), [&side](uint32_t a, uint32_t b) {
    return side.kernels[a].launch_ns < side.kernels[b].launch_ns;
  });
  std::vector<Launch> launches;
  for (size_t begin = 0; begin < kernels.size();) {
    const int64_t ts = side.kernels[kernels[begin]].launch_ns;
    size_t end = begin + 1;
    while (end < kernels.size() && side.kernels[kernels[end]].launch_ns == ts) ++end;
    launches.push_back({ts, std::span(kernels).subspan(begin, end - begin)});
    begin = end;
  }
  return launches;
}

void SortByBegin(std::vector<NamedRange>& ranges) {
  SortRuns(ranges,
           [](const NamedRange& a, const NamedRange& b) { return a.begin_ns < b.begin_ns; });
}

// Ranges and launches in the order of time, nested.
class Nester {
 public:
  Nester(const Side& side, Paths& paths) : side_(side), paths_(paths), path_of_(1) {
    tree_.modules.emplace_back();
  }

  ModuleTree Run(std::vector<NamedRange> ranges, const std::vector<Launch>& launches) {
    SortByBegin(ranges);
    tree_.modules.reserve(ranges.size() + 1);
    for (const NamedRange& range : ranges) {
      AddLaunches(launches, range.begin_ns);
      Close(range.begin_ns);
      Add(range);
    }
    AddLaunches(launches, std::numeric_limits<int64_t>::max());
    return std::move(tree_);
  }

 private:
  void Close(int64_t ts) {
    while (last_ != 0 && ts > tree_.At(last_).end_ns) last_ = tree_.At(last_).parent;
  }

  Module& At(int32_t place) { return tree_.modules[static_cast<size_t>(place)]; }

  void Add(const NamedRange& range) {
    const int32_t path = paths_.Below(path_of_[static_cast<size_t>(last_)], range.name);
    path_of_.push_back(path);
    const auto place = static_cast<int32_t>(tree_.modules.size());
    Module& module = tree_.modules.emplace_back();
    module.name = range.name;
    module.full_name = paths_.FullName(path);
    module.call_stack = paths_.CallStack(path);
    module.parent = last_;
    module.level = At(last_).level + 1;
    module.begin_ns = range.begin_ns;
    module.end_ns = range.end_ns;
    At(last_).children.push_back(place);
    last_ = place;
  }

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
  Paths& paths_;
  ModuleTree tree_;
  std::vector<int32_t> path_of_;  // of the calls
  int32_t last_ = 0;
  size_t next_ = 0;
};

std::vector<NamedRange> ForwardRanges(const Side& side, const std::vector<bool>& optimizers) {
  std::vector<NamedRange> ranges;
  for (const PythonRange& module : side.modules) {
    ranges.push_back({side.Name(module.name), module.begin_ns, module.end_ns});
  }
  for (const Op& op : side.ops) {
    if (!IsOptimizer(optimizers, op)) continue;
    ranges.push_back({side.Name(op.name), op.begin_ns, op.end_ns});
  }
  return ranges;
}

// The last operator that begins at a moment and is no optimizer.
const Op* OpBeginningAt(const Side& side, const std::vector<bool>& optimizers, int64_t ts) {
  const auto after =
      std::upper_bound(side.ops.begin(), side.ops.end(), ts,
                       [](int64_t moment, const Op& one) { return moment < one.begin_ns; });
  for (auto i = after - side.ops.begin() - 1; i >= 0; --i) {
    const Op& op = side.ops[static_cast<size_t>(i)];
    if (op.begin_ns != ts) break;
    if (!IsOptimizer(optimizers, op)) return &op;
  }
  return nullptr;
}

// Backward operators under the name of the module whose forward pass they belong to.
std::vector<NamedRange> BackwardRanges(const Side& side, const std::vector<bool>& optimizers,
                                       ModuleTrees& trees) {
  std::unordered_map<std::string_view, std::string_view> names;  // by full name
  std::vector<NamedRange> ranges;
  for (const auto& [forward_ns, backward_ns] : side.backward) {
    const Op* op = OpBeginningAt(side, optimizers, backward_ns);
    if (op == nullptr) continue;
    const int32_t module = FindCall(trees.forward, forward_ns);
    if (module == kNone) continue;
    const std::string_view full_name = trees.forward.At(module).full_name;
    std::string_view& name = names[full_name];
    if (name.empty()) name = trees.texts.emplace_back(Concat("[ BACKWARD ]", full_name));
    ranges.push_back({name, op->begin_ns, op->end_ns});
  }
  return ranges;
}

// Gives each module its outermost operators.
class OpPlacer {
 public:
  OpPlacer(const Side& side, const std::vector<bool>& optimizers, ModuleTrees& trees)
      : side_(side), optimizers_(optimizers), trees_(trees) {
    open_[0].resize(trees.forward.modules.size());
    open_[1].resize(trees.backward.modules.size());
  }

  void Run() {
    CallFinder forward(trees_.forward);
    CallFinder backward(trees_.backward);
    for (size_t i = 0; i < side_.ops.size(); ++i) {
      const Op& op = side_.ops[i];
      if (op.is_step || IsOptimizer(optimizers_, op)) continue;
      const auto place = static_cast<int32_t>(i);
      if (const int32_t call = forward.At(op.begin_ns); call != kNone) {
        Place(place, call, trees_.forward, open_[0]);
      } else if (const int32_t behind = backward.At(op.begin_ns); behind != kNone) {
        Place(place, behind, trees_.backward, open_[1]);
      }
    }
    AddKernels(trees_.forward);
    AddKernels(trees_.backward);
  }

 private:
  void Place(int32_t place, int32_t module, ModuleTree& tree,
             std::vector<std::vector<int64_t>>& open) {
    const Op& op = side_.OpAt(place);
    std::vector<int64_t>& ends_ns = open[static_cast<size_t>(module)];
    while (!ends_ns.empty() && ends_ns.back() < op.begin_ns) ends_ns.pop_back();
    if (ends_ns.empty()) {
      tree.modules[static_cast<size_t>(module)].top_ops.push_back({.op = place, .kernels = {}});
    }
    ends_ns.push_back(op.end_ns);
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
  const std::vector<bool>& optimizers_;
  ModuleTrees& trees_;
  std::vector<std::vector<int64_t>> open_[2];  // ends of the operators open in each module
};

// Callers of modules, from the recorded Python functions.
class CallStacks {
 public:
  CallStacks(const Side& side, std::deque<std::string>& texts) : paths_(texts), calls_(1) {
    std::vector<NamedRange> ranges;
    for (const PythonRange& range : side.functions) {
      ranges.push_back({side.Name(range.name), range.begin_ns, range.end_ns});
    }
    SortByBegin(ranges);
    calls_.reserve(ranges.size() + 1);
    int32_t last = 0;
    for (const NamedRange& range : ranges) {
      while (last != 0 && range.begin_ns > At(last).end_ns) last = At(last).parent;
      const int32_t path = paths_.Below(At(last).path, range.name);
      calls_.push_back({range.begin_ns, range.end_ns, last, path});
      last = static_cast<int32_t>(calls_.size()) - 1;
    }
  }

  void Set(ModuleTree& tree) {
    size_t next = 1;
    for (size_t i = 1; i < tree.modules.size(); ++i) {
      Module& module = tree.modules[i];
      while (next < calls_.size() && calls_[next].begin_ns <= module.begin_ns) ++next;
      const int32_t call = OpenAt(calls_, next, module.begin_ns);
      if (call != kNone) module.call_stack = paths_.CallStack(At(call).path);
    }
  }

 private:
  struct Call {
    int64_t begin_ns = 0;
    int64_t end_ns = 0;
    int32_t parent = kNone;
    int32_t path = 0;
  };
  const Call& At(int32_t place) const { return calls_[static_cast<size_t>(place)]; }

  Paths paths_;
  std::vector<Call> calls_;  // the first is the root
};

}  // namespace

int32_t FindCall(const ModuleTree& tree, int64_t ts) {
  const auto after =
      std::upper_bound(tree.modules.begin() + 1, tree.modules.end(), ts,
                       [](int64_t moment, const Module& call) { return moment < call.begin_ns; });
  return OpenAt(tree.modules, static_cast<size_t>(after - tree.modules.begin()), ts);
}

int32_t CallFinder::At(int64_t ts) {
  while (next_ < tree_->modules.size() && tree_->modules[next_].begin_ns <= ts) ++next_;
  return OpenAt(tree_->modules, next_, ts);
}

ModuleTrees MakeModuleTrees(const Side& side) {
  ModuleTrees trees;
  if (side.modules.empty()) {
    trees.forward.modules.emplace_back();
    trees.backward.modules.emplace_back();
    return trees;
  }
  const std::vector<bool> optimizers = OptimizerNames(side);
  const std::vector<Launch> launches = LaunchesOf(side, trees.kernels);
  Paths forward(trees.texts);
  trees.forward = Nester(side, forward).Run(ForwardRanges(side, optimizers), launches);
  Paths backward(trees.texts);
  trees.backward = Nester(side, backward).Run(BackwardRanges(side, optimizers, trees), launches);
  OpPlacer(side, optimizers, trees).Run();
  CallStacks stacks(side, trees.texts);
  stacks.Set(trees.forward);
  stacks.Set(trees.backward);
  return trees;
}

BothTrees MakeModuleTrees(const Side& base, const Side& comparison) {
  const Side* sides[] = {&base, &comparison};
  const bool is_one = sides[0] == sides[1];
  std::shared_ptr<const ModuleTrees> trees[2];
  base::ParallelFor(is_one ? 1 : 2, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      trees[i] = std::make_shared<const ModuleTrees>(MakeModuleTrees(*sides[i]));
    }
  });
  return {.base = trees[0], .comparison = trees[is_one ? 0 : 1]};
}

}  // namespace sonde::compare
