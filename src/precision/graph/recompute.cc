#include "precision/graph/recompute.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/strings.h"

namespace sonde::precision {
namespace {

struct Frame {
  std::string_view file;
  std::string_view function;
};

// "File /a/b.py, line 3, in name, \n code" -> its file and function.
bool ParseFrame(std::string_view text, Frame* out) {
  text = base::Trim(text);
  if (text.starts_with("File ")) text.remove_prefix(5);
  const size_t line = text.find(", line ");
  const size_t in = text.find(", in ");
  if (in == std::string_view::npos) return false;
  out->file = base::Trim(text.substr(0, line));
  const std::string_view rest = text.substr(in + 5);
  out->function = base::Trim(rest.substr(0, rest.find(',')));
  return true;
}

// Names of modules at the top have few parts: Module.[n.]name.[n.]Class.forward.0.
bool IsTooDeepForTop(std::string_view name) {
  const auto parts = base::Split(name, '.');
  if (parts.size() > 7) return true;
  if (parts.size() == 7) return !(base::IsDigits(parts[1]) && base::IsDigits(parts[3]));
  return parts.size() == 6 && !base::IsDigits(parts[1]);
}

// "Module.a.A" of "Module.a.A.forward.2"; empty for names of another form.
std::string_view Prefix(std::string_view name, std::string_view direction) {
  const size_t number = name.rfind('.');
  if (number == std::string_view::npos || !base::IsDigits(name.substr(number + 1))) return {};
  const std::string_view head = name.substr(0, number);
  return head.ends_with(direction) ? head.substr(0, head.size() - direction.size())
                                   : std::string_view();
}

}  // namespace

bool IsRecomputationStack(const std::vector<std::string>& frames) {
  std::vector<Frame> parsed;
  for (const std::string& text : frames) {
    Frame frame;
    if (ParseFrame(text, &frame)) parsed.push_back(frame);
  }
  for (const Frame& frame : parsed) {
    if (frame.function == "recompute_fn" && frame.file.ends_with("torch/utils/checkpoint.py")) {
      return true;
    }
  }
  for (size_t i = 0; i < parsed.size(); ++i) {
    const bool backward = parsed[i].function == "backward" ||
                          (parsed[i].function == "checkpoint_function_backward" &&
                           parsed[i].file.find("megatron") != std::string_view::npos);
    for (size_t next = i + 1; backward && next <= i + 2 && next < parsed.size(); ++next) {
      if (parsed[next].file.ends_with("torch/autograd/function.py")) return true;
    }
  }
  return false;
}

class RecomputeMover {
 public:
  RecomputeMover(const DumpFolder& dump, Graph* graph) : dump_(dump), graph_(graph) {}

  void Move() {
    FindRecomputed();
    if (recomputed_.empty()) return;
    FindFirstRuns();
    auto forward_runs = first_runs_;
    auto backward_runs = first_runs_;
    std::unordered_set<int32_t> moved;
    for (const int32_t index : recomputed_) {
      const std::string_view name = node(index).name;
      std::string_view prefix = Prefix(name, ".forward");
      auto& runs = prefix.empty() ? backward_runs : forward_runs;
      if (prefix.empty()) prefix = Prefix(name, ".backward");
      const auto found = runs.find(prefix);
      if (found == runs.end() || found->second.empty()) continue;
      const int32_t run = found->second.back();
      found->second.pop_back();
      const int32_t to = graph_->Find(BackwardName(node(node(run).parent).name));
      if (to == kNoNode || IsAncestor(index, to)) continue;
      node(index).parent = to;
      node(to).children.push_back(index);
      moved.insert(index);
    }
    std::erase_if(node(graph_->root()).children,
                  [&moved](int32_t child) { return moved.contains(child); });
  }

 private:
  GraphNode& node(int32_t index) { return graph_->nodes_[static_cast<size_t>(index)]; }

  bool IsAncestor(int32_t ancestor, int32_t of) {
    for (int32_t at = of; at != kNoNode; at = node(at).parent) {
      if (at == ancestor) return true;
    }
    return false;
  }

  bool IsRecomputedByStack(std::string_view name) {
    const std::string forward =
        Prefix(name, ".backward").empty() ? std::string(name) : ForwardName(name);
    const int32_t stack = dump_.stack->Find(forward);
    return stack != StackFile::kNoStack && IsRecomputationStack(dump_.stack->Frames(stack));
  }

  // Recomputed modules come as a forward and a backward call at the top.
  void FindRecomputed() {
    const bool torch = dump_.dump->framework().empty() || dump_.dump->framework() == "pytorch";
    std::unordered_set<std::string_view> tops;
    for (const int32_t child : node(graph_->root()).children) tops.insert(node(child).name);
    std::unordered_set<std::string> twins;
    for (const int32_t child : node(graph_->root()).children) {
      const std::string_view name = node(child).name;
      if (node(child).type != NodeType::kModule) continue;
      if (torch && !IsRecomputedByStack(name)) continue;
      if (twins.contains(std::string(name))) {
        recomputed_.push_back(child);
        continue;
      }
      if (!IsTooDeepForTop(name)) continue;
      std::string twin = Prefix(name, ".forward").empty() ? ForwardName(name) : BackwardName(name);
      if (!tops.contains(twin)) continue;
      recomputed_.push_back(child);
      twins.insert(std::move(twin));
    }
  }

  // The runs that stand inside a module, last first.
  void FindFirstRuns() {
    for (size_t i = graph_->nodes_.size(); i-- > 0;) {
      const GraphNode& each = graph_->nodes_[i];
      if (each.type != NodeType::kModule || each.parent == kNoNode || each.parent == 0) continue;
      const std::string_view prefix = Prefix(each.name, ".forward");
      if (!prefix.empty()) first_runs_[prefix].push_back(static_cast<int32_t>(i));
    }
  }

  const DumpFolder& dump_;
  Graph* graph_;
  std::vector<int32_t> recomputed_;
  std::unordered_map<std::string_view, std::vector<int32_t>> first_runs_;
};

void MoveRecomputed(const DumpFolder& dump, Graph* graph) { RecomputeMover(dump, graph).Move(); }

}  // namespace sonde::precision
