#include "compare/difference/work.h"

#include <algorithm>
#include <map>
#include <utility>

#include "compare/frame/communicates.h"
#include "compare/frame/sheet.h"

namespace sonde::compare {
namespace {

// The step that a moment lies in; steps by begin.
int32_t StepAt(const std::vector<Window>& steps, int64_t ts) {
  const auto after =
      std::upper_bound(steps.begin(), steps.end(), ts,
                       [](int64_t moment, const Window& step) { return moment < step.begin_ns; });
  if (after == steps.begin() || !std::prev(after)->Has(ts)) return kNone;
  return static_cast<int32_t>(std::prev(after) - steps.begin());
}

struct Inputs {
  int32_t shapes = kNone;
  int32_t types = kNone;
};

// Of the kernel; where the device records none, as GPUs do not, those of the innermost operator
// around its launch.
Inputs InputsOf(const Side& side, const Kernel& kernel) {
  if (kernel.shapes != kNone) return {kernel.shapes, kernel.types};
  int32_t op = kernel.op;
  while (op != kNone && side.OpAt(op).shapes == kNone) op = side.OpAt(op).parent;
  if (op == kNone || side.OpAt(op).is_step) return {kNone, kernel.types};
  return {side.OpAt(op).shapes, kernel.types != kNone ? kernel.types : side.OpAt(op).types};
}

// Attributes that a side has for any kernel: those that one side lacks cannot distinguish the two.
struct Known {
  bool shapes = false;
  bool types = false;
};
Known KnownOf(const Side& side) {
  Known known;
  for (const Kernel& kernel : side.kernels) {
    if (known.shapes && known.types) break;
    const Inputs inputs = InputsOf(side, kernel);
    known.shapes = known.shapes || !side.Name(inputs.shapes).empty();
    known.types = known.types || !side.Name(inputs.types).empty();
  }
  return known;
}

class Gatherer {
 public:
  Gatherer(const Side& side, const std::vector<Window>& steps, const ModulePaths& paths,
           const std::vector<int32_t>& places, Known both, CommonNames& names)
      : side_(side), steps_(steps), paths_(paths), places_(places), both_(both), names_(names) {
    known_.assign(side.names.size(), kNone);
    empty_ = names.Of("");
  }

  std::map<PartKey, Series> Run() {
    for (size_t i = 0; i < side_.kernels.size(); ++i) AddKernel(i);
    for (const IdlePiece& piece : FindIdlePieces(side_, steps_)) AddIdle(piece);
    return std::move(parts_);
  }

 private:
  int32_t Common(int32_t name) {
    if (name < 0) return empty_;
    int32_t& known = known_[static_cast<size_t>(name)];
    if (known == kNone) known = names_.Of(side_.Name(name));
    return known;
  }

  void Add(const PartKey& key, size_t step, double ms) {
    Series& series = parts_[key];
    if (series.ms.empty()) series.Resize(steps_.size());
    series.ms[step] += ms;
    series.calls[step] += 1;
  }

  // The outermost operator around it that began in the call of its module.
  int32_t OutermostOp(size_t kernel) const {
    int32_t op = side_.kernels[kernel].op;
    while (op != kNone) {
      const int32_t parent = side_.OpAt(op).parent;
      if (parent == kNone || side_.OpAt(parent).is_step) break;
      if (side_.OpAt(parent).begin_ns < paths_.call_begin_ns[kernel]) break;
      op = parent;
    }
    return op;
  }

  void AddKernel(size_t place) {
    const Kernel& kernel = side_.kernels[place];
    if (kernel.core == kNone || kernel.is_communication) return;
    // Communication is a stage of its own.
    if (Communicates(side_, kernel)) return;
    const int32_t step =
        StepAt(steps_, kernel.launch_ns != kNone ? kernel.launch_ns : kernel.begin_ns);
    if (step == kNone) return;
    const int32_t op = OutermostOp(place);
    const int32_t own = kernel.op == kNone ? kNone : side_.OpAt(kernel.op).name;
    PartKey key;
    key.module = places_[static_cast<size_t>(paths_.of_kernel[place])];
    key.op = Common(op == kNone ? kernel.type : side_.OpAt(op).name);
    key.subject = Common(kernel.type != kNone ? kernel.type : own != kNone ? own : kernel.name);
    key.kernel = Common(kernel.name);
    const Inputs inputs = InputsOf(side_, kernel);
    key.shapes = both_.shapes ? Common(inputs.shapes) : empty_;
    key.types = both_.types ? Common(inputs.types) : empty_;
    Add(key, static_cast<size_t>(step), Ms(kernel.dur_ns));
  }

  void AddIdle(const IdlePiece& piece) {
    PartKey key = {.op = empty_,
                   .subject = empty_,
                   .kernel = empty_,
                   .shapes = empty_,
                   .types = empty_,
                   .is_idle = true};
    if (piece.module_range != kNone) {
      const int32_t path = paths_.of_module_range[static_cast<size_t>(piece.module_range)];
      key.module = places_[static_cast<size_t>(path)];
      key.subject = names_.Of(kOfModules);
    }
    if (piece.op != kNone) key.op = Common(side_.OpAt(piece.op).name);
    if (piece.inner != kNone) key.subject = Common(side_.OpAt(piece.inner).name);
    if (piece.is_collection) key.subject = names_.Of("garbage collection");
    Add(key, piece.step, Ms(piece.ns));
  }

  const Side& side_;
  const std::vector<Window>& steps_;
  const ModulePaths& paths_;
  const std::vector<int32_t>& places_;
  const Known both_;
  CommonNames& names_;
  std::vector<int32_t> known_;  // by name of the side
  int32_t empty_ = 0;
  std::map<PartKey, Series> parts_;
};

}  // namespace

int32_t CommonNames::Of(std::string_view text) {
  const auto found = numbers_.find(text);
  if (found != numbers_.end()) return found->second;
  const auto number = static_cast<int32_t>(texts_.size());
  numbers_.emplace(texts_.emplace_back(text), number);
  return number;
}

void Series::Resize(size_t steps) {
  ms.resize(steps);
  calls.resize(steps);
}

void Series::Add(const Series& other) {
  Resize(other.ms.size());
  for (size_t i = 0; i < ms.size(); ++i) {
    ms[i] += other.ms[i];
    calls[i] += other.calls[i];
  }
}

Works MakeWorks(const Side& base, const std::vector<Window>& base_steps, const Side& comparison,
                const std::vector<Window>& comparison_steps, const BothTrees& trees) {
  Works works;
  works.base_steps = base_steps.size();
  works.comparison_steps = comparison_steps.size();
  const ModulePaths base_paths = FindModulePaths(base, *trees.base);
  const ModulePaths comparison_paths = FindModulePaths(comparison, *trees.comparison);
  std::vector<int32_t> base_places;
  std::vector<int32_t> comparison_places;
  works.modules = JoinModulePaths(base_paths, comparison_paths, base_places, comparison_places);
  const Known known[] = {KnownOf(base), KnownOf(comparison)};
  const Known both = {.shapes = known[0].shapes && known[1].shapes,
                      .types = known[0].types && known[1].types};
  auto of_base = Gatherer(base, base_steps, base_paths, base_places, both, works.names).Run();
  auto of_comparison =
      Gatherer(comparison, comparison_steps, comparison_paths, comparison_places, both, works.names)
          .Run();
  for (auto& [key, series] : of_base) works.parts.push_back({key, std::move(series), {}});
  std::map<PartKey, size_t> places;
  for (size_t i = 0; i < works.parts.size(); ++i) places.emplace(works.parts[i].key, i);
  for (auto& [key, series] : of_comparison) {
    const auto found = places.find(key);
    if (found == places.end()) {
      works.parts.push_back({key, {}, std::move(series)});
    } else {
      works.parts[found->second].comparison = std::move(series);
    }
  }
  for (Part& part : works.parts) {
    part.base.Resize(works.base_steps);
    part.comparison.Resize(works.comparison_steps);
  }
  return works;
}

}  // namespace sonde::compare
