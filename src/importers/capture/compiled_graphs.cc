#include "importers/capture/compiled_graphs.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/bytes.h"
#include "base/strings.h"
#include "capture/args.h"
#include "capture/compiled_code.h"
#include "importers/capture/arguments.h"

namespace sonde::importers::capture_import {
namespace {

using base::Concat;
using capture::RecordKind;

constexpr std::string_view kBackward = " (backward)";
constexpr std::string_view kWrapperClass = "OptimizedModule";  // what torch.compile returns
constexpr std::string_view kFunction = "CompiledFunction";
constexpr std::string_view kFunctionBackward = "CompiledFunctionBackward";

// Ranges that are open around a node, for nodes in the reverse order of their ends.
class Around {
 public:
  const Node* At(const Node& node) {
    while (!open_.empty() && open_.back()->ts > node.ts) open_.pop_back();
    return open_.empty() ? nullptr : open_.back();
  }
  void Open(const Node& node) {
    At(node);
    open_.push_back(&node);
  }

 private:
  std::vector<const Node*> open_;
};

bool IsKernel(const Node& node) {
  return node.kind == RecordKind::kOp || node.kind == RecordKind::kCollective;
}

std::string_view ClassOf(const Dictionary& dictionary, uint32_t args) {
  std::string_view name;
  if (args >= dictionary.args.size()) return name;
  ForEachField(dictionary.args[args], [&](const ArgField& field) {
    if (field.type == capture::ArgType::kText &&
        dictionary.Name(field.key) == capture::kKeyModuleClass) {
      name = base::AsText(field.payload);
    }
  });
  return name;
}

std::string PathIn(std::string_view place, const CompiledModule& module, bool is_backward) {
  std::string path(place);
  if (!path.empty() && !module.path.empty()) path += '.';
  path += module.path;
  if (path.empty()) path = module.class_name;
  if (is_backward) path += kBackward;
  return path;
}

// Ranges around the kernels of a graph; which of them there are depends on the release of torch.
bool EndsGraph(const Dictionary& dictionary, const Node& node) {
  switch (node.kind) {
    case RecordKind::kUserScope:
      return dictionary.Name(node.name).starts_with(capture::kCompiledGraphRange);
    case RecordKind::kCompiledRegion:
    case RecordKind::kBackwardNode:
    case RecordKind::kModule:
    case RecordKind::kStep:
      return true;
    default:
      return false;
  }
}

std::string LineText(const CompiledFrame& frame) {
  return Concat(frame.file, "(", std::to_string(frame.line), ")");
}

}  // namespace

std::vector<CompiledGraphs::Kernel> CompiledGraphs::KernelsOf(const Dictionary& dictionary,
                                                              const ThreadStage& stage) const {
  std::vector<Kernel> kernels;
  Around modules;
  Around functions;
  for (size_t i = stage.nodes.size(); i-- > 0;) {
    const Node& node = stage.nodes[i];
    const std::string_view name = dictionary.Name(node.name);
    if (node.kind == RecordKind::kModule) {
      modules.Open(node);
    } else if (name == kFunction || name == kFunctionBackward) {
      functions.Open(node);
    } else if (const CompiledCall* call = IsKernel(node) ? tables_.CallOf(node.link) : nullptr) {
      const Node* function = functions.At(node);
      kernels.push_back({i, call, modules.At(node), function == nullptr ? -1 : function->sequence});
    }
  }
  std::reverse(kernels.begin(), kernels.end());
  return kernels;
}

void CompiledGraphs::KeepPlaces(const Dictionary& dictionary, const std::vector<Kernel>& kernels) {
  for (const Kernel& kernel : kernels) {
    const CompiledGraph& graph = *kernel.call->graph;
    if (graph.is_backward) continue;
    const Place place = PlaceOf(dictionary, kernel);
    const std::string root(graph.RootClass());
    forward_[{kernel.sequence, root}] = place;
    forward_[{-1, root}] = place;  // the last one, for backward without a number
  }
}

CompiledGraphs::Place CompiledGraphs::PlaceOf(const Dictionary& dictionary,
                                              const Kernel& kernel) const {
  const CompiledGraph& graph = *kernel.call->graph;
  const std::string root(graph.RootClass());
  if (graph.is_backward) {
    auto forward = forward_.find({kernel.sequence, root});
    if (forward == forward_.end()) forward = forward_.find({-1, root});
    return {forward == forward_.end() ? graph.prefix : forward->second.path, false};
  }
  if (kernel.module == nullptr) return {graph.prefix, false};
  const std::string_view path = dictionary.Name(kernel.module->name);
  const std::string_view name = ClassOf(dictionary, kernel.module->args);
  const bool is_root = name == root;
  if (!is_root && name != kWrapperClass) return {graph.prefix, false};
  return {path == name ? std::string() : std::string(path), is_root};
}

ModulePath CompiledGraphs::PathOf(Dictionary& dictionary, const CompiledCall& call,
                                  const Place& place) {
  ModulePath path;
  const CompiledGraph& graph = *call.graph;
  for (int32_t i = call.site->module; i >= 0; i = graph.modules[static_cast<size_t>(i)].around) {
    const CompiledModule& module = graph.modules[static_cast<size_t>(i)];
    if (place.has_root && module.path.empty() && module.around < 0) break;
    const auto [args, is_new] = module_args_.try_emplace({module.class_name, graph.file});
    if (is_new) {
      std::vector<std::byte> fields;
      added_.AppendText(dictionary, fields, capture::kKeyModuleClass, module.class_name);
      added_.AppendText(dictionary, fields, capture::kKeyCompiled, graph.file);
      args->second = added_.Args(dictionary, std::move(fields));
    }
    path.push_back(
        {added_.Name(dictionary, PathIn(place.path, module, graph.is_backward)), args->second});
  }
  std::reverse(path.begin(), path.end());
  return path;
}

uint32_t CompiledGraphs::KernelArgs(Dictionary& dictionary, const CompiledCall& call,
                                    const Place& place, uint32_t args) {
  const CompiledGraph& graph = *call.graph;
  const CompiledSite& site = *call.site;
  const auto path_of = [&](int32_t module) {
    return PathIn(place.path, graph.modules[static_cast<size_t>(module)], graph.is_backward);
  };
  std::vector<std::byte> fields;
  if (args < dictionary.args.size()) {
    fields.assign(dictionary.args[args].begin(), dictionary.args[args].end());
  }
  const auto append = [&](std::string_view key, std::string_view text) {
    if (!text.empty()) added_.AppendText(dictionary, fields, key, text);
  };
  if (site.module >= 0) {
    append(capture::kKeyCompiledModule, path_of(site.module));
    append(capture::kKeyModuleClass, graph.modules[static_cast<size_t>(site.module)].class_name);
  }
  std::vector<std::string> others;
  for (const int32_t module : site.also) others.push_back(path_of(module));
  append(capture::kKeyFusedWith, base::Join(others, ", "));
  append(capture::kKeyOperators, site.operators);
  std::vector<std::string> lines;
  if (!site.frames.empty()) {
    lines.push_back(LineText(graph.frames[static_cast<size_t>(site.frames.front())]));
  }
  for (const int32_t line : site.lines) {
    lines.push_back(LineText(graph.frames[static_cast<size_t>(line)]));
  }
  append(capture::kKeyLines, base::Join(lines, ", "));
  append(capture::kKeyOutput, site.output);
  append(capture::kKeyBytes, site.bytes);
  append(capture::kKeyFlops, site.flops);
  append(capture::kKeyKnownBy, site.known_by.empty() ? graph.known_by : site.known_by);
  append(capture::kKeyCall, Concat(graph.file, "(", std::to_string(call.line), ")"));
  return added_.Args(dictionary, std::move(fields));
}

uint32_t CompiledGraphs::FrameId(Dictionary& dictionary, const CompiledCall& call, int32_t frame) {
  const auto [place, is_new] = frames_.try_emplace({call.graph, frame});
  if (is_new) {
    const CompiledFrame& text = call.graph->frames[static_cast<size_t>(frame)];
    place->second = added_.Frame(dictionary, {added_.Name(dictionary, text.function),
                                              added_.Name(dictionary, text.file), text.line});
  }
  return place->second;
}

uint32_t CompiledGraphs::StackOf(Dictionary& dictionary, const CompiledCall& call, uint32_t stack) {
  std::vector<uint32_t> frames;
  for (const int32_t frame : call.site->frames) {
    frames.push_back(FrameId(dictionary, call, frame));
  }
  const std::span<const std::byte> recorded = dictionary.stacks[stack];
  bool is_behind = false;
  for (size_t at = 0; at + 4 <= recorded.size(); at += 4) {
    const auto frame = base::LoadLe<uint32_t>(recorded.data() + at);
    const bool is_call = !is_behind && frame < dictionary.frames.size() &&
                         dictionary.frames[frame].line == call.line &&
                         dictionary.Name(dictionary.frames[frame].file).ends_with(call.graph->file);
    if (is_call || is_behind) frames.push_back(frame);
    is_behind = is_behind || (is_call && recorded.size() / 4 > capture::kCallSiteFrames);
  }
  return added_.Stack(dictionary, frames);
}

void CompiledGraphs::ApplyTo(Dictionary& dictionary, ThreadStage& stage,
                             const std::vector<Kernel>& kernels) {
  std::vector<const ModulePath*> path_of(stage.nodes.size());
  for (const Kernel& kernel : kernels) {
    const CompiledCall& call = *kernel.call;
    Node& node = stage.nodes[kernel.node];
    const Place place = PlaceOf(dictionary, kernel);
    const auto [path, is_new_path] = paths_.try_emplace({call.site, place});
    if (is_new_path) path->second = PathOf(dictionary, call, place);
    if (!path->second.empty()) path_of[kernel.node] = &path->second;
    const auto [args, is_new_set] = kernel_args_.try_emplace({call.site, place, node.args});
    if (is_new_set) args->second = KernelArgs(dictionary, call, place, node.args);
    node.args = args->second;
    const auto [stack, is_new_stack] = stacks_.try_emplace({call.site, node.link});
    if (is_new_stack) stack->second = StackOf(dictionary, call, node.link);
    node.link = stack->second;
  }
  AddModuleRuns(
      stage, [&](size_t node) { return path_of[node]; },
      [&](const Node& node) { return EndsGraph(dictionary, node); });
}

void CompiledGraphs::Apply(Dictionary& dictionary, std::vector<ThreadStage>& stages,
                           store::ImportIssues& issues) {
  tables_.Read(dictionary, issues);
  if (tables_.empty()) return;
  std::vector<std::vector<Kernel>> kernels;
  for (const ThreadStage& stage : stages) {
    kernels.push_back(KernelsOf(dictionary, stage));
    KeepPlaces(dictionary, kernels.back());
  }
  for (size_t i = 0; i < stages.size(); ++i) {
    if (!kernels[i].empty()) ApplyTo(dictionary, stages[i], kernels[i]);
  }
}

}  // namespace sonde::importers::capture_import
