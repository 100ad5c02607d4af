// Work of both sides in their steps, side by side: the finest parts of the difference.
//
// A part is a kernel with its shapes and types below an operator below a module, or time in which
// the device had nothing to do, by where the host was. Where the host is the device, kernels are
// operators with the time that is their own, and the rest is Python. Modules of both sides are one
// tree: wrappers (torch.compile, DistributedDataParallel) are looked through, and what is called
// otherwise between the same neighbours is the same module under another name.
// Units: milliseconds and calls of each step. Pure, any thread; owns its texts.
// Cost: linear in kernels and operators, times the logarithm of the steps.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compare/frame/side.h"
#include "compare/modules/module_tree.h"

namespace sonde::compare {

// Subject of idle time in a module and in no operator.
inline constexpr std::string_view kOfModules = "modules";

// Texts of both sides under one number.
class CommonNames {
 public:
  CommonNames() = default;
  CommonNames(CommonNames&&) noexcept = default;
  CommonNames& operator=(CommonNames&&) noexcept = default;
  int32_t Of(std::string_view text);
  const std::string& At(int32_t number) const { return texts_[static_cast<size_t>(number)]; }

 private:
  std::unordered_map<std::string_view, int32_t> numbers_;
  std::deque<std::string> texts_;  // that they refer to
};

// A value for each step.
struct Series {
  std::vector<double> ms;
  std::vector<double> calls;
  void Resize(size_t steps);
  void Add(const Series& other);
};

struct PartKey {
  int32_t module = 0;   // index of Works::modules
  int32_t op = 0;       // outermost operator in the module; texts of Works::names
  int32_t subject = 0;  // type of the operator; of idle time the innermost range of the host
  int32_t kernel = 0;
  int32_t shapes = 0;
  int32_t types = 0;
  bool is_idle = false;
  auto operator<=>(const PartKey&) const = default;
};

struct Part {
  PartKey key;
  Series base;
  Series comparison;
};

// A module of either side or of both.
struct ModuleNode {
  std::string name;
  std::string path;  // "/Net/a"; "" of the root, for work outside modules
  int32_t parent = kNone;
};

struct Works {
  CommonNames names;
  std::vector<ModuleNode> modules;  // the first is the root
  std::vector<Part> parts;          // by key
  size_t base_steps = 0;
  size_t comparison_steps = 0;
  bool are_runs = false;  // the values are means of runs, which are few, instead of steps
};

// `windows`: steps that count.
Works MakeWorks(const Side& base, const std::vector<Window>& base_steps, const Side& comparison,
                const std::vector<Window>& comparison_steps, const BothTrees& trees);

// Parts of MakeWorks.

// The modules of a side by their paths, and that of each kernel and range.
struct ModulePaths {
  struct Node {
    std::string name;
    int32_t parent = kNone;
    std::vector<int32_t> children;
  };
  std::vector<Node> nodes;               // the first is the root
  std::vector<int32_t> of_kernel;        // index of nodes
  std::vector<int64_t> call_begin_ns;    // of the call of that module that launched it
  std::vector<int32_t> of_module_range;  // parallel to Side::modules
};
ModulePaths FindModulePaths(const Side& side, const ModuleTrees& trees);
// The nodes of both in one tree; fills where those of each side went.
std::vector<ModuleNode> JoinModulePaths(const ModulePaths& base, const ModulePaths& comparison,
                                        std::vector<int32_t>& base_places,
                                        std::vector<int32_t>& comparison_places);

// Work of the device in a window: computing, and communication that nothing hides, as intervals
// that do not overlap, by begin.
struct Busy {
  std::vector<recipes::Interval> computing;
  std::vector<recipes::Interval> communication;
};
Busy BusyOf(const Side& side);

// A piece of time in which the device had nothing to do, and where the host was.
struct IdlePiece {
  size_t step = 0;
  int64_t ns = 0;
  int32_t module_range = kNone;  // index of Side::modules
  int32_t op = kNone;            // outermost range of the host in it, of Side::ops
  int32_t inner = kNone;         // innermost
  bool is_collection = false;    // garbage
};
std::vector<IdlePiece> FindIdlePieces(const Side& side, const std::vector<Window>& steps);

}  // namespace sonde::compare
