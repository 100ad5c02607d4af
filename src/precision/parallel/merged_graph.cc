#include "precision/parallel/merged_graph.h"

#include <algorithm>
#include <memory>

#include "base/strings.h"
#include "precision/dump/json_scanner.h"
#include "precision/dump/pretty_json.h"
#include "precision/graph/node_json.h"

namespace sonde::precision {
namespace {

using base::Concat;

// A statistic as JSON; Python's bare words for NaN and infinities.
std::string JsonOf(const Value& value) {
  std::string text = value.PythonText();
  if (value.IsNone()) return "null";
  if (value.IsNan()) return "NaN";
  if (value.IsInfinite()) return value.AsDouble() > 0 ? "Infinity" : "-Infinity";
  return text;
}

// The record with other statistics.
std::string WithStats(const MergeRow& row) {
  static constexpr std::array<std::string_view, kStatisticCount> kNames = {"Max", "Min", "Mean",
                                                                           "Norm"};
  std::string out = "{";
  JsonScanner json(row.row->raw, "record");
  json.BeginObject();
  for (std::string_view key; json.NextKey(&key);) {
    const auto stat = std::find(kNames.begin(), kNames.end(), key);
    out += out.size() > 1 ? ", " : "";
    AppendJsonText(key, &out);
    out += ": ";
    const std::string_view raw = json.SkipValue();
    if (stat == kNames.end()) {
      out += raw;
    } else {
      out += JsonOf(row.stats[static_cast<size_t>(stat - kNames.begin())]);
    }
  }
  return out + "}";
}

}  // namespace

std::string_view MergedGraphMaker::Keep(std::string text) {
  return out_.texts->emplace_back(std::move(text));
}

void MergedGraphMaker::AddRow(const MergeNode& node, const MergeRow& row) {
  DumpFile& dump = *out_.folder->dump;
  DumpRow& added = dump.rows_.emplace_back(*row.row);
  added.name = Keep(Concat(node.name, ".", row.key));
  added.api = static_cast<uint32_t>(dump.apis_.size());
  if (!row.changed) return;
  std::copy(row.stats.begin(), row.stats.end(), std::begin(added.stats));
  if (added.raw.starts_with('{')) added.raw = Keep(WithStats(row));
}

void MergedGraphMaker::AddRows(const MergeNode& node, GraphNode* added) {
  if (node.inputs.empty() && node.outputs.empty()) return;
  DumpFile& dump = *out_.folder->dump;
  const auto first = static_cast<uint32_t>(dump.rows_.size());
  for (const MergeRow& row : node.inputs) AddRow(node, row);
  for (const MergeRow& row : node.outputs) AddRow(node, row);
  // In the order of all dumps: inputs, parameters, outputs, gradients.
  std::stable_sort(dump.rows_.begin() + first, dump.rows_.end(),
                   [](const DumpRow& a, const DumpRow& b) { return a.section < b.section; });
  added->api = static_cast<int32_t>(dump.apis_.size());
  std::string_view raw;
  if (node.origin != nullptr && node.origin->node(node.origin_node).api != kNoNode) {
    const auto api = static_cast<size_t>(node.origin->node(node.origin_node).api);
    raw = node.origin->dump().dump->apis()[api].raw;
  }
  dump.apis_.push_back({added->name, raw, first, static_cast<uint32_t>(dump.rows_.size()) - first});
}

void MergedGraphMaker::FindStack(const MergeNode& node, GraphNode* added) {
  if (node.origin == nullptr) return;
  const GraphNode& from = node.origin->node(node.origin_node);
  added->forward_unknown = from.forward_unknown;
  if (from.stack == StackFile::kNoStack) return;
  const std::string text = JsonList(node.origin->dump().stack->Frames(from.stack));
  const auto [found, is_new] =
      stack_of_text_.emplace(text, static_cast<int32_t>(stack_of_text_.size()));
  if (is_new) {
    stacks_ += Concat(stacks_.size() > 1 ? ", " : "", "\"", std::to_string(found->second),
                      "\": [[], ", text, "]");
  }
  added->stack = found->second;
}

// Without recursion: a tree may be as deep as it has nodes.
void MergedGraphMaker::AddNode(int32_t index, int32_t parent) {
  std::vector<std::pair<int32_t, int32_t>> open = {{index, parent}};
  Graph& graph = *out_.graph;
  while (!open.empty()) {
    const auto [from, above] = open.back();
    open.pop_back();
    const MergeNode& node = forest_.node(from);
    const auto at = static_cast<int32_t>(graph.nodes_.size());
    GraphNode& added = graph.nodes_.emplace_back();
    added.name = Keep(node.name);
    added.type = node.type;
    added.parent = above;
    added.micro_step = node.micro_step;
    graph.index_.emplace(added.name, at);
    FindStack(node, &added);
    AddRows(node, &added);
    out_.merge_info.push_back(node.merge_info.empty() ? std::string() : JsonList(node.merge_info));
    if (above != kNoNode) graph.nodes_[static_cast<size_t>(above)].children.push_back(at);
    for (size_t c = node.children.size(); c-- > 0;) open.emplace_back(node.children[c], at);
  }
}

Result<MergedGraph> MergedGraphMaker::Make() {
  const MergeNode& root = forest_.node(tree_.root);
  const DumpFolder& source = root.origin->dump();
  out_.rank = tree_.rank;
  out_.texts = std::make_unique<std::deque<std::string>>();
  out_.folder = std::make_unique<DumpFolder>();
  out_.folder->dump.reset(new DumpFile());
  DumpFile& dump = *out_.folder->dump;
  dump.path_ = source.dump->path_;
  dump.task_ = source.dump->task_;
  dump.level_ = source.dump->level_;
  dump.framework_ = source.dump->framework_;
  dump.dump_data_dir_ = source.dump->dump_data_dir_;
  dump.has_md5_ = source.dump->has_md5_;
  out_.graph.reset(new Graph());
  out_.graph->dump_ = out_.folder.get();
  out_.graph->micro_step_count_ = root.origin->micro_step_count();
  AddNode(tree_.root, kNoNode);
  out_.graph->SetPostOrder();
  SONDE_ASSIGN_OR_RETURN(out_.folder->stack, StackFile::Parse(Keep(stacks_ + "}"), dump.path_));
  const int32_t steps = source.construct->megatron_micro_step_number();
  const std::string construct =
      steps < 0 ? "{}" : Concat("{\"megatron_micro_step_number\": ", std::to_string(steps), "}");
  SONDE_ASSIGN_OR_RETURN(out_.folder->construct, ConstructFile::Parse(construct, dump.path_));
  return std::move(out_);
}

}  // namespace sonde::precision
