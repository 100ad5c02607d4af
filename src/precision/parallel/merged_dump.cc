#include "precision/parallel/merged_dump.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "base/files.h"
#include "base/strings.h"
#include "precision/dump/entry_json.h"
#include "precision/graph/node_json.h"

namespace sonde::precision {
namespace {

using base::Concat;

std::string DumpJson(const MergedGraph& merged) {
  const DumpFile& dump = *merged.folder->dump;
  std::string out =
      Concat("{\"task\": ", QuotedJson(dump.task()), ", \"level\": ", QuotedJson(dump.level()),
             ", \"framework\": ", QuotedJson(dump.framework()),
             ", \"dump_data_dir\": null, \"is_merged\": true, \"data\": {");
  bool first = true;
  for (const int32_t index : merged.graph->post_order()) {
    const GraphNode& node = merged.graph->node(index);
    if (node.api == kNoNode) continue;
    const DumpApi& api = dump.apis()[static_cast<size_t>(node.api)];
    EntryJson entry(api.name);
    for (uint32_t i = api.first_row; i < api.first_row + api.row_count; ++i) {
      const DumpRow& row = dump.rows()[i];
      entry.Add(row.section, row.name.substr(std::min(api.name.size() + 1, row.name.size())),
                row.raw);
    }
    out += Concat(first ? "\n" : ",\n", QuotedJson(api.name), ": ",
                  entry.Json(merged.merge_info[static_cast<size_t>(index)]));
    first = false;
  }
  return out + "\n}}\n";
}

std::string ConstructJson(const MergedGraph& merged) {
  const int32_t steps = merged.folder->construct->megatron_micro_step_number();
  std::string out = "{";
  for (const int32_t index : merged.graph->post_order()) {
    const GraphNode& node = merged.graph->node(index);
    if (node.parent == kNoNode) continue;
    const std::string parent = node.parent == merged.graph->root()
                                   ? "null"
                                   : QuotedJson(merged.graph->node(node.parent).name);
    out += Concat(
        out.size() > 1 ? ",\n" : "\n", QuotedJson(node.name), ": ",
        steps < 0 ? parent : Concat("[", parent, ", ", std::to_string(node.micro_step), "]"));
  }
  if (steps >= 0) out += Concat(",\n\"megatron_micro_step_number\": ", std::to_string(steps));
  return out + "\n}\n";
}

std::string StackJson(const MergedGraph& merged) {
  std::map<int32_t, std::string> names;
  for (const int32_t index : merged.graph->post_order()) {
    const GraphNode& node = merged.graph->node(index);
    if (node.stack == StackFile::kNoStack) continue;
    std::string& list = names[node.stack];
    list += Concat(list.empty() ? "" : ", ", QuotedJson(node.name));
  }
  std::string out = "{";
  for (const auto& [stack, list] : names) {
    out += Concat(out.size() > 1 ? ",\n" : "\n", "\"", std::to_string(stack), "\": [[", list, "], ",
                  JsonList(merged.folder->stack->Frames(stack)), "]");
  }
  return out + "\n}\n";
}

}  // namespace

Status WriteMergedDump(const MergedGraph& merged, const std::string& folder) {
  SONDE_RETURN_IF_ERROR(base::MakeDirectories(folder));
  const auto write = [&folder](std::string_view name, const std::string& text) {
    return base::WriteFileAtomically(base::JoinPath(folder, name), text);
  };
  SONDE_RETURN_IF_ERROR(write("dump.json", DumpJson(merged)));
  SONDE_RETURN_IF_ERROR(write("construct.json", ConstructJson(merged)));
  return write("stack.json", StackJson(merged));
}

}  // namespace sonde::precision
