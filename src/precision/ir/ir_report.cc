#include "precision/ir/ir_report.h"

#include <algorithm>
#include <cstdio>

#include "base/files.h"
#include "base/strings.h"

namespace sonde::precision {
namespace {

using report::TextTable;

std::string CountText(int64_t count) { return count < 0 ? "" : std::to_string(count); }

std::string SourceOf(const IrNode& node) {
  if (!node.user_source.empty()) return node.user_source;
  if (node.file.empty()) return {};
  return base::Concat(node.file, ":", std::to_string(node.line), "  ", node.source);
}

std::string Microseconds(int64_t ns) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3f", static_cast<double>(ns) / 1000);
  return text;
}

bool Contains(const IrNode& node, std::string_view text) {
  for (const std::string& place :
       {node.name, node.op, node.scope, node.source, node.user_source, node.file}) {
    if (place.find(text) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

TextTable SummarizeFiles(const std::vector<IrFile>& files) {
  TextTable table{{"File", "Pass", "Graphs", "Nodes", "CNodes", "CNodes read", "Parameters"}, {}};
  for (const IrFile& file : files) {
    table.rows.push_back({std::string(base::BaseName(file.path)), file.pass,
                          std::to_string(file.graphs.size()), CountText(file.total_nodes),
                          CountText(file.total_cnodes), std::to_string(file.nodes.size()),
                          std::to_string(file.parameters.size())});
  }
  return table;
}

TextTable CountTypes(const IrFile& file) {
  std::map<std::string, int64_t> counts;
  for (const IrNode& node : file.nodes) ++counts[node.op];
  std::vector<std::pair<std::string, int64_t>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  TextTable table{{"Type", "Nodes"}, {}};
  for (const auto& [type, count] : sorted) table.rows.push_back({type, std::to_string(count)});
  return table;
}

TextTable ListParameters(const IrFile& file) {
  TextTable table{{"Parameter", "Type"}, {}};
  for (const IrParameter& parameter : file.parameters) {
    table.rows.push_back({parameter.name, parameter.type});
  }
  return table;
}

TextTable FindNodes(const std::vector<IrFile>& files, std::string_view text) {
  TextTable table{{"File", "Graph", "Node", "Type", "Scope", "Source"}, {}};
  for (const IrFile& file : files) {
    for (const IrNode& node : file.nodes) {
      if (!Contains(node, text)) continue;
      const std::string name = node.id.empty() ? node.op : base::Concat(node.id, " ", node.name);
      table.rows.push_back({std::string(base::BaseName(file.path)), node.graph, name, node.op,
                            node.scope, SourceOf(node)});
    }
  }
  return table;
}

TextTable CompareFiles(const IrFile& target, const IrFile& golden) {
  struct Counts {
    int64_t target = 0;
    int64_t golden = 0;
    std::string source;
  };
  // Numbers behind "-op" differ from pass to pass: the scope around the node is the key.
  std::map<std::pair<std::string, std::string>, Counts> counts;
  const auto add = [&](const IrFile& file, int64_t Counts::* side) {
    for (const IrNode& node : file.nodes) {
      const size_t slash = node.scope.rfind('/');
      const std::string scope = slash == std::string::npos ? "" : node.scope.substr(0, slash);
      Counts& found = counts[{scope, node.op}];
      ++(found.*side);
      if (found.source.empty()) found.source = SourceOf(node);
    }
  };
  add(target, &Counts::target);
  add(golden, &Counts::golden);
  TextTable table{{"Scope", "Type", "Target", "Golden", "Source"}, {}};
  for (const auto& [key, found] : counts) {
    if (found.target == found.golden) continue;
    table.rows.push_back({key.first, key.second, std::to_string(found.target),
                          std::to_string(found.golden), found.source});
  }
  return table;
}

TextTable JoinNodes(const IrFile& file, const ScopeTimes& times, const ScopeValues& values) {
  TextTable table{{"Node", "Type", "Scope", "Source", "Launches", "Time(us)", "Value", "Dtype",
                   "Shape", "Max", "Min", "Mean", "Norm"},
                  {}};
  for (const IrNode& node : file.nodes) {
    if (node.scope.empty()) continue;
    const auto time = times.find(node.scope);
    const bool is_timed = time != times.end();
    const std::vector<std::string> head = {
        node.id.empty() ? node.op : base::Concat(node.id, " ", node.name),
        node.op,
        node.scope,
        SourceOf(node),
        is_timed ? std::to_string(time->second.launches) : "",
        is_timed ? Microseconds(time->second.total_ns) : ""};
    const auto found = values.find(DumpName(node.scope));
    const std::vector<ScopeValue> none(1);
    for (const ScopeValue& value : found == values.end() ? none : found->second) {
      std::vector<std::string> row = head;
      for (const std::string& cell :
           {value.which, value.dtype, value.shape, value.max, value.min, value.mean, value.norm}) {
        row.push_back(cell);
      }
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

std::string DumpName(std::string_view scope) {
  std::string name(scope);
  std::replace_if(
      name.begin(), name.end(),
      [](char c) { return c == '/' || c == '.' || c == '\\' || c == ' '; }, '_');
  return name;
}

}  // namespace sonde::precision
