// The calls of modules of a side as trees: forward by containment, backward by the flows that lead
// from a forward operator to its backward.
//
// Kernels hang below the innermost module open when they were launched; operators likewise, the
// outermost of each module are listed. Optimizers count as modules. Calls are many and their texts
// few: a text is made once and referred to. Units: nanoseconds. Pure, any thread; refers to the
// side.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compare/frame/side.h"

namespace sonde::compare {

struct ModuleOp {
  int32_t op = kNone;             // index of Side::ops
  std::vector<uint32_t> kernels;  // indices of Side::kernels
};

// Kernels that one call launched.
struct Launch {
  int64_t ts = 0;
  std::span<const uint32_t> kernels;  // of ModuleTrees::kernels
};

struct Module {
  std::string_view name;       // of this call: "nn.Module: Linear_0"
  std::string_view full_name;  // "/nn.Module: Net_0/nn.Module: Linear_0"
  std::string_view call_stack;
  int32_t parent = kNone;  // index of ModuleTree::modules
  int32_t level = 1;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  std::vector<int32_t> children;
  std::vector<Launch> launches;  // in it and in no module inside
  int64_t self_ns = 0;
  int64_t total_ns = 0;
  std::vector<ModuleOp> top_ops;
};

struct ModuleTree {
  std::vector<Module> modules;  // the first is the root
  const Module& At(int32_t place) const { return modules[static_cast<size_t>(place)]; }
};

struct ModuleTrees {
  ModuleTree forward;
  ModuleTree backward;
  std::deque<std::string> texts;  // that calls refer to; stay where they are when this is moved
  std::vector<uint32_t> kernels;  // by launch
  ModuleTrees() = default;
  ModuleTrees(ModuleTrees&&) noexcept = default;
  ModuleTrees& operator=(ModuleTrees&&) noexcept = default;
};

// Only their roots where the side has no calls of modules.
ModuleTrees MakeModuleTrees(const Side& side);

// Of both sides; the same where these are one.
struct BothTrees {
  std::shared_ptr<const ModuleTrees> base;
  std::shared_ptr<const ModuleTrees> comparison;
};
BothTrees MakeModuleTrees(const Side& base, const Side& comparison);

// The innermost call that is open at a moment, its begin and end not included; kNone outside.
int32_t FindCall(const ModuleTree& tree, int64_t ts);

// The same for moments that come in order.
class CallFinder {
 public:
  explicit CallFinder(const ModuleTree& tree) : tree_(&tree) {}
  int32_t At(int64_t ts);

 private:
  const ModuleTree* tree_;
  size_t next_ = 1;  // begins later
};

}  // namespace sonde::compare
