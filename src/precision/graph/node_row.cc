#include "precision/graph/node_row.h"

#include <algorithm>

#include "base/strings.h"
#include "precision/graph/node_json.h"

namespace sonde::precision {
namespace {

// The names from the root to the node, as a JSON list.
void FillLink(const Graph& partner, int32_t index, std::vector<int32_t>* chain, std::string* out) {
  chain->clear();
  for (int32_t at = index; at != kNoNode; at = partner.node(at).parent) chain->push_back(at);
  std::for_each(chain->rbegin(), chain->rend(), [&](int32_t at) {
    out->append(out->empty() ? "[" : ", ");
    AppendAsciiJson(partner.node(at).name, out);
  });
  out->push_back(']');
}

void AddChildren(const Graph& graph, const GraphNode& node, sqlite::Record* record) {
  std::string* const out = record->BeginText();
  bool first = true;
  for (const int32_t child : node.children) {
    out->append(first ? "[" : ", ");
    first = false;
    AppendAsciiJson(graph.node(child).name, out);
  }
  if (!first) out->push_back(']');
  record->EndText();
}

void AddPrecision(const VisGraph& graph, size_t at, sqlite::Record* record) {
  const Precision precision =
      graph.results == nullptr ? Precision::kNone : graph.results->precision[at];
  if (precision == Precision::kNone) {
    record->Null();
  } else if (precision == Precision::kWarning) {
    record->Real(0.5);
  } else {
    record->Int(precision == Precision::kError ? 1 : 0);
  }
  const Overflow overflow = graph.overflow == nullptr ? Overflow::kNone : (*graph.overflow)[at];
  if (overflow == Overflow::kNone) {
    record->Null();
  } else {
    record->Text(OverflowText(overflow));
  }
}

void AddData(const VisGraph& graph, const GraphNode& node, bool compared, sqlite::Record* record) {
  NodeDataOptions options = {false, graph.checksums, compared ? graph.results : nullptr};
  for (const bool output : {false, true}) {
    options.output = output;
    AppendNodeData(*graph.graph->dump().dump, node.api, options, record->BeginText());
    record->EndText();
  }
}

}  // namespace

std::string GraphId(std::string_view source, int64_t step, int64_t rank) {
  return base::Concat(source, "_", std::to_string(step), "_", std::to_string(rank));
}

std::string_view PrecisionText(Precision precision) {
  static constexpr std::string_view kTexts[] = {"", "0", "0.5", "1"};
  return kTexts[static_cast<size_t>(precision)];
}

void FillNodeRow(const VisGraph& graph, const NodePlace& place, NodeRow* row) {
  const GraphNode& node = graph.graph->node(place.index);
  const auto at = static_cast<size_t>(place.index);
  const int32_t partner = graph.matches == nullptr ? kNoNode : (*graph.matches)[at];
  const bool compared =
      graph.results != nullptr && partner != kNoNode && !graph.results->rows.empty();
  base::NumberBuffer buffer;
  row->link.clear();
  if (partner == kNoNode) {
    row->link = "[]";
  } else {
    std::vector<int32_t> chain;
    FillLink(*graph.partner, partner, &chain, &row->link);
  }
  sqlite::Record& record = row->record;
  record.Clear();
  std::string* const id = record.BeginText();
  id->append(place.graph_id).append("_").append(node.name);
  record.EndText();
  record.Text(place.graph_id);
  record.Int(place.order);
  record.Text(node.name);
  record.Text(base::FormatInt64(static_cast<int>(node.type), buffer));
  record.Text(node.parent == kNoNode ? std::string_view() : graph.graph->node(node.parent).name);
  AddChildren(*graph.graph, node, &record);
  AddPrecision(graph, at, &record);
  record.Int(node.micro_step);
  record.Text(row->link);
  record.Text(place.stack_id);
  record.Text(graph.merge_info == nullptr ? std::string_view() : (*graph.merge_info)[at]);
  record.Text("{}");  // matched_distributed, known when all ranks are
  record.Int(0);      // modified
  AddData(graph, node, compared, &record);
  record.Text(graph.source);
  if (graph.data_folder.empty()) {
    record.Null();
  } else {
    record.Text(graph.data_folder);
  }
  record.Int(graph.step);
  record.Int(graph.rank);
  record.Int(node.name.starts_with("Distributed") ? 1 : 0);
}

}  // namespace sonde::precision
