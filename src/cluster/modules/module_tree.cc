#include "cluster/modules/module_tree.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/strings.h"
#include "cluster/frame/facts.h"

namespace sonde::cluster {
namespace {

using base::Concat;
using recipes::TraceData;

constexpr size_t kDeepest = 20;

// "Linear" of "nn.Module: Linear_3".
std::string_view ClassOf(std::string_view name) {
  constexpr std::string_view kPrefix = "nn.Module: ";
  if (name.starts_with(kPrefix)) name.remove_prefix(kPrefix.size());
  const size_t end = name.find_last_not_of("0123456789");
  const bool has_number = end != std::string_view::npos && end + 1 < name.size();
  return has_number && end > 0 && name[end] == '_' ? name.substr(0, end) : name;
}

std::vector<ModuleRange> ModuleSlices(const TraceData& data) {
  std::vector<ModuleRange> modules;
  for (const store::FrameworkOpRow& op : data.ops) {
    if (static_cast<recipes::Scope>(op.scope) != recipes::Scope::kModule) continue;
    const store::SliceRow& slice = data.Slice(op.slice_id);
    std::string name(data.TextArgument(slice.args_id, "class"));
    if (name.empty()) name = ClassOf(data.Name(slice.name));
    // Of graphs: nothing but its kernels shows that the module's backward ran.
    const bool is_backward = data.Name(slice.name).ends_with(" (backward)");
    modules.push_back({.name = std::move(name),
                       .begin = slice.ts,
                       .end = data.EndNs(slice),
                       .is_backward = is_backward});
  }
  return modules;
}

struct Span {
  int64_t begin = 0;
  int64_t end = 0;
};

// Calls take(open modules from the outermost on, number of the other) in the order of begin, for
// those that lie in a module.
template <class Take>
void Walk(const std::vector<ModuleRange>& modules, const std::vector<Span>& others,
          const Take& take) {
  const size_t count = modules.size();
  const auto span = [&](size_t item) {
    return item < count ? Span{modules[item].begin, modules[item].end} : others[item - count];
  };
  std::vector<size_t> order(count + others.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(span(a).begin, -span(a).end) < std::pair(span(b).begin, -span(b).end);
  });
  std::vector<size_t> open;
  for (const size_t item : order) {
    while (!open.empty() && modules[open.back()].end < span(item).end) open.pop_back();
    if (item < count) {
      open.push_back(item);
    } else if (!open.empty() && open.size() <= kDeepest) {
      take(open, item - count);
    }
  }
}

std::string ParentPath(const std::vector<ModuleRange>& modules, const std::vector<size_t>& open) {
  std::string path;
  for (size_t i = 0; i + 1 < open.size(); ++i) {
    path += Concat(i == 0 ? "" : "/", modules[open[i]].name);
  }
  return path;
}

// A backward operator with the instance of the module that its forward lies in.
struct BackwardOp {
  std::string parent;
  size_t module = 0;
  Span span;
};

// Neighbours of one instance become a range.
std::vector<ModuleRange> RangesOf(const std::vector<BackwardOp>& ops,
                                  const std::vector<ModuleRange>& forward) {
  std::vector<ModuleRange> parents;
  std::vector<ModuleRange> ranges;
  const auto same = [&](const BackwardOp& a, const BackwardOp& b) {
    const ModuleRange& x = forward[a.module];
    const ModuleRange& y = forward[b.module];
    return std::tie(a.parent, x.name, x.begin, x.end) == std::tie(b.parent, y.name, y.begin, y.end);
  };
  for (size_t i = 0; i < ops.size();) {
    ModuleRange range{.name = forward[ops[i].module].name,
                      .begin = ops[i].span.begin,
                      .end = ops[i].span.end,
                      .is_backward = true};
    const BackwardOp& first = ops[i];
    for (; i < ops.size() && same(first, ops[i]); ++i) {
      range.end = std::max(range.end, ops[i].span.end);
    }
    if (!first.parent.empty()) {
      parents.push_back({.name = first.parent,
                         .begin = range.begin - 1,
                         .end = range.end + 1,
                         .is_backward = true});
    }
    ranges.push_back(std::move(range));
  }
  parents.insert(parents.end(), ranges.begin(), ranges.end());
  return parents;
}

}  // namespace

std::vector<ModuleRange> ModulesOf(const TraceData& data) {
  std::vector<ModuleRange> modules;
  for (const store::MarkRow& mark : data.marks) {
    if (data.Name(mark.domain) != "Module" || data.Name(mark.kind) != "start_end") continue;
    const int64_t end = mark.dur < 0 ? data.last_ns : mark.ts + mark.dur;
    modules.push_back({.name = std::string(data.Name(mark.message)), .begin = mark.ts, .end = end});
  }
  return modules.empty() ? ModuleSlices(data) : modules;
}

std::vector<LaunchingOp> LaunchingOpsOf(const recipes::DeviceView& view) {
  const TraceData& data = *view.data;
  std::unordered_map<int32_t, size_t> places;  // by slice
  std::vector<LaunchingOp> ops;
  const auto add = [&](int32_t slice_id, LaunchedKernel kernel) {
    if (slice_id < 0) return;
    const auto [found, is_new] = places.try_emplace(slice_id, ops.size());
    if (is_new) {
      const store::SliceRow& slice = data.Slice(slice_id);
      ops.push_back({.name = data.Name(slice.name),
                     .begin = slice.ts,
                     .end = data.EndNs(slice),
                     .kernels = {}});
    }
    ops[found->second].kernels.push_back(std::move(kernel));
  };
  for (const store::DeviceTaskRow& task : data.tasks) {
    const store::TaskKindRow& kind = data.kinds[static_cast<size_t>(task.kind_id)];
    if (!IsComputing(data, kind)) continue;
    // Where the CPU is the device an operator is its own kernel.
    const bool is_own = task.launch_slice_id < 0 && data.Name(kind.core) == "CPU";
    add(is_own ? task.slice_id : task.launch_slice_id,
        {.name = std::string(data.Name(kind.name)),
         .begin = task.ts,
         .end = task.ts + std::max<int64_t>(task.dur, 0),
         .kind = task.kind_id});
  }
  for (size_t i = 0; i < data.communications.size(); ++i) {
    const store::CommunicationOpRow& op = data.communications[i];
    add(op.launch_slice_id,
        {.name = CommunicationTypeOf(view, i), .begin = op.ts, .end = view.EndNs(op)});
  }
  std::stable_sort(ops.begin(), ops.end(),
                   [](const auto& a, const auto& b) { return a.begin < b.begin; });
  return ops;
}

std::vector<ModuleRange> BackwardModules(const TraceData& data,
                                         const std::vector<ModuleRange>& forward) {
  std::vector<Span> ops;
  std::vector<Span> backward;
  for (const store::FlowRow& flow : data.flows) {
    if (flow.slice_in < 0 || flow.slice_out < 0) continue;
    if (data.Name(flow.kind) != "forward_backward") continue;
    const auto span = [&](int32_t slice) {
      return Span{data.Slice(slice).ts, data.EndNs(data.Slice(slice))};
    };
    ops.push_back(span(flow.slice_out));
    backward.push_back(span(flow.slice_in));
  }
  std::vector<BackwardOp> placed;
  Walk(forward, ops, [&](const std::vector<size_t>& open, size_t op) {
    placed.push_back({ParentPath(forward, open), open.back(), backward[op]});
  });
  std::stable_sort(placed.begin(), placed.end(),
                   [](const auto& a, const auto& b) { return a.span.begin < b.span.begin; });
  return RangesOf(placed, forward);
}

std::vector<PlacedOp> PlaceOps(const std::vector<ModuleRange>& modules,
                               const std::vector<LaunchingOp>& ops) {
  std::vector<Span> spans;
  for (const LaunchingOp& op : ops) spans.push_back({op.begin, op.end});
  std::vector<PlacedOp> placed;
  Walk(modules, spans, [&](const std::vector<size_t>& open, size_t op) {
    const ModuleRange& module = modules[open.back()];
    const bool is_backward =
        std::any_of(open.begin(), open.end(), [&](size_t one) { return modules[one].is_backward; });
    placed.push_back({.parent = ParentPath(modules, open),
                      .module = Concat(is_backward ? "[Backward]" : "", module.name),
                      .module_begin = module.begin,
                      .module_end = module.end,
                      .op = op});
  });
  std::stable_sort(placed.begin(), placed.end(), [&](const PlacedOp& a, const PlacedOp& b) {
    return std::pair(a.module_begin, ops[a.op].begin) < std::pair(b.module_begin, ops[b.op].begin);
  });
  return placed;
}

}  // namespace sonde::cluster
