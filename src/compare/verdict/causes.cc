#include <algorithm>
#include <map>
#include <type_traits>

#include "base/strings.h"
#include "compare/verdict/verdict.h"

namespace sonde::compare {
namespace {

using base::Concat;

struct Work {
  double ms = 0;     // a step
  double calls = 0;  // a step
};
using ByShapes = std::map<std::string, Work>;
using ByKernel = std::map<std::string, ByShapes>;
using ByOp = std::map<std::string, ByKernel>;

bool IsInAny(const std::vector<Window>& windows, int64_t ts) {
  return std::any_of(windows.begin(), windows.end(),
                     [ts](const Window& window) { return window.Has(ts); });
}

std::string OpNameOf(const Side& side, const Kernel& kernel) {
  if (kernel.type != kNone) return std::string(side.Name(kernel.type));
  if (kernel.op != kNone) return std::string(side.Name(side.OpAt(kernel.op).name));
  return std::string(side.Name(kernel.name));
}

// Kernels that compute in the steps, a step's share.
ByOp Gather(const Side& side) {
  const std::vector<Window> windows = WindowsOf(side);
  const double steps = static_cast<double>(windows.size());
  ByOp ops;
  for (const Kernel& kernel : side.kernels) {
    if (kernel.core == kNone || kernel.is_communication) continue;
    // Collectives of a GPU are communication, which is a stage of its own.
    const std::string_view name = side.Name(kernel.name);
    if (name.starts_with("nccl") || name.starts_with("rccl")) continue;
    const int64_t ts = kernel.launch_ns != kNone ? kernel.launch_ns : kernel.begin_ns;
    if (!IsInAny(windows, ts)) continue;
    Work& work =
        ops[OpNameOf(side, kernel)][std::string(name)][std::string(side.Name(kernel.shapes))];
    work.ms += Ms(kernel.dur_ns) / steps;
    work.calls += 1 / steps;
  }
  return ops;
}

double SumMs(const ByShapes& shapes) {
  double ms = 0;
  for (const auto& [shape, work] : shapes) ms += work.ms;
  return ms;
}
double SumMs(const ByKernel& kernels) {
  double ms = 0;
  for (const auto& [kernel, shapes] : kernels) ms += SumMs(shapes);
  return ms;
}

// What one has and the other lacks.
template <class Map>
double OnlyMs(const Map& one, const Map& other) {
  double ms = 0;
  for (const auto& [key, value] : one) {
    if (other.contains(key)) continue;
    if constexpr (std::is_same_v<Map, ByShapes>) {
      ms += value.ms;
    } else {
      ms += SumMs(value);
    }
  }
  return ms;
}

void CompareShapes(const std::string& subject, const ByShapes& base, const ByShapes& comparison,
                   std::vector<Cause>& causes) {
  causes.push_back({"other shapes", subject, OnlyMs(base, comparison), OnlyMs(comparison, base)});
  Cause calls{"more or fewer calls", subject, 0, 0};
  Cause speed{"other time at the same shapes", subject, 0, 0};
  for (const auto& [shape, work] : base) {
    const auto found = comparison.find(shape);
    if (found == comparison.end() || work.calls <= 0 || found->second.calls <= 0) continue;
    const Work& other = found->second;
    const double calls_ms = (other.calls - work.calls) * work.ms / work.calls;
    calls.base_ms += work.ms;
    calls.comparison_ms += work.ms + calls_ms;
    speed.base_ms += work.ms;
    speed.comparison_ms += other.ms - calls_ms;
  }
  causes.push_back(calls);
  causes.push_back(speed);
}

void CompareOp(const std::string& op, const ByKernel& base, const ByKernel& comparison,
               std::vector<Cause>& causes) {
  causes.push_back({"other kernels", op, OnlyMs(base, comparison), OnlyMs(comparison, base)});
  for (const auto& [kernel, shapes] : base) {
    const auto found = comparison.find(kernel);
    if (found == comparison.end()) continue;
    const std::string subject = kernel == op ? op : Concat(op, " (", kernel, ")");
    CompareShapes(subject, shapes, found->second, causes);
  }
}

}  // namespace

std::vector<Cause> FindCauses(const Side& base, const Side& comparison, double& aligned_share) {
  const ByOp a = Gather(base);
  const ByOp b = Gather(comparison);
  std::vector<Cause> causes;
  double aligned_ms = 0;
  double all_ms = 0;
  for (const auto& [op, kernels] : a) {
    all_ms += SumMs(kernels);
    const auto found = b.find(op);
    if (found == b.end()) {
      causes.push_back({"vanished", op, SumMs(kernels), 0});
      continue;
    }
    aligned_ms += SumMs(kernels) + SumMs(found->second);
    CompareOp(op, kernels, found->second, causes);
  }
  for (const auto& [op, kernels] : b) {
    all_ms += SumMs(kernels);
    if (!a.contains(op)) causes.push_back({"appeared", op, 0, SumMs(kernels)});
  }
  aligned_share = all_ms > 0 ? aligned_ms / all_ms : 0;
  return causes;
}

}  // namespace sonde::compare
