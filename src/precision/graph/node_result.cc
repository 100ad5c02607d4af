#include "precision/graph/node_result.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <deque>
#include <span>
#include <unordered_map>

#include "base/host/parallel.h"
#include "base/strings.h"
#include "precision/compare/pairing.h"
#include "precision/compare/rules.h"

namespace sonde::precision {
namespace {

constexpr size_t kNodesAtATime = 256;

// Names of calls that return uninitialized memory; their differences have no meaning.
constexpr std::array<std::string_view, 6> kUndefinedResults = {
    "empty", "empty_like", "empty_with_format", "new_empty_strided", "new_empty", "empty_strided"};

bool HasUndefinedResult(std::string_view name) {
  const auto parts = base::Split(name, '.');
  return parts.size() > 1 && std::find(kUndefinedResults.begin(), kUndefinedResults.end(),
                                       parts[1]) != kUndefinedResults.end();
}

// One statistic in the graph's manner; see the header.
void CompareStatistic(const Value& target, const Value& golden, Cell* difference, Cell* relative) {
  *difference = Cell::Of(Cell::Kind::kNotAvailable);
  *relative = *difference;
  if (!target.IsNumber() || !golden.IsNumber()) return;
  const double n = target.AsDouble();
  const double b = golden.AsDouble();
  if (std::isnan(n - b)) {
    *difference = Cell::Of(Cell::Kind::kNan);
    *relative = *difference;
    return;
  }
  *difference = Cell::Number(n - b);
  if (b != 0) *relative = Cell::Percent(std::fabs((n - b) / b * 100));
}

// Breadth first from the roots: equal names below matched parents.
void MatchByAncestors(const Graph& target, const Graph& golden, NodeMatches* out) {
  std::deque<int32_t> queue = {target.root()};
  (*out)[0] = golden.root();
  while (!queue.empty()) {
    const int32_t parent = queue.front();
    queue.pop_front();
    for (const int32_t child : target.node(parent).children) {
      const int32_t found = golden.Find(target.node(child).name);
      if (found == kNoNode || golden.node(found).parent != (*out)[static_cast<size_t>(parent)]) {
        continue;
      }
      (*out)[static_cast<size_t>(child)] = found;
      queue.push_back(child);
    }
  }
}

std::vector<int32_t> ApisOf(const Graph& graph, int32_t parent) {
  std::vector<int32_t> apis;
  for (const int32_t child : graph.node(parent).children) {
    if (graph.node(child).type == NodeType::kApi) apis.push_back(child);
  }
  return apis;
}

// The name without call number and, if asked for, without "_rank3".
std::string PlainName(std::string_view name, bool ignore_ranks) {
  std::string out = WithoutCallNumber(name);
  const size_t at = ignore_ranks ? out.find("_rank") : std::string::npos;
  if (at == std::string::npos) return out;
  const size_t end = std::min(out.find_first_not_of("0123456789", at + 5), out.size());
  return end == at + 5 ? out : out.erase(at, end - at);
}

// Equal names without call number: the n-th matches the n-th.
void MatchApisInOrder(const Graph& target, const Graph& golden, int32_t t, int32_t g,
                      bool ignore_ranks, NodeMatches* out) {
  std::unordered_map<std::string, std::vector<int32_t>> places;
  for (const int32_t api : ApisOf(golden, g)) {
    places[PlainName(golden.node(api).name, ignore_ranks)].push_back(api);
  }
  std::unordered_map<std::string, size_t> seen;
  for (const int32_t api : ApisOf(target, t)) {
    const std::string name = PlainName(target.node(api).name, ignore_ranks);
    const auto found = places.find(name);
    const size_t at = seen[name]++;
    if (found == places.end() || at >= found->second.size()) continue;
    (*out)[static_cast<size_t>(api)] = found->second[at];
  }
}

void MatchFuzzily(const Graph& target, const Graph& golden, bool ignore_ranks, NodeMatches* out) {
  for (size_t i = 0; i < target.nodes().size(); ++i) {
    const GraphNode& node = target.nodes()[i];
    if (node.type == NodeType::kApi) continue;
    const int32_t found = golden.Find(node.name);
    if (found == kNoNode) continue;
    (*out)[i] = found;
    MatchApisInOrder(target, golden, static_cast<int32_t>(i), found, ignore_ranks, out);
  }
}

Precision FromVerdict(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass:
      return Precision::kPass;
    case Verdict::kWarning:
      return Precision::kWarning;
    default:
      return Precision::kError;
  }
}

// The counterpart of a parameter that only the target's call has.
const DumpRow* AbsentRow() {
  static const DumpRow row = [] {
    DumpRow absent;
    absent.dtype = absent.shape = absent.requires_grad = absent.md5 = "Nan";
    for (Value& value : absent.stats) value = Value::Text("Nan");
    return absent;
  }();
  return &row;
}

// Rows of two calls, paired by their position in inputs, parameters, outputs and gradients.
void PairRowsByPosition(const Graph& target, const Graph& golden, int32_t t, int32_t g,
                        base::LargeVector<ComparedRow>* rows) {
  const DumpFile& target_dump = *target.dump().dump;
  const DumpFile& golden_dump = *golden.dump().dump;
  const DumpApi& api = target_dump.apis()[static_cast<size_t>(t)];
  // Rows of a call stand section by section: where each begins and ends.
  std::array<std::pair<uint32_t, uint32_t>, kSectionCount> sections = {};
  if (g != kNoNode) {
    const DumpApi& other = golden_dump.apis()[static_cast<size_t>(g)];
    for (uint32_t r = other.first_row; r < other.first_row + other.row_count; ++r) {
      auto& [begin, end] = sections[static_cast<size_t>(golden_dump.rows()[r].section)];
      if (begin == end) begin = r;
      end = r + 1;
    }
  }
  for (uint32_t r = api.first_row; r < api.first_row + api.row_count; ++r) {
    auto& [next, end] = sections[static_cast<size_t>(target_dump.rows()[r].section)];
    (*rows)[r].golden = next < end ? &golden_dump.rows()[next++] : AbsentRow();
  }
}

void FillStatistics(ComparedRow* row) {
  // Numbers of ranks have no difference.
  if (row->target->kind == LeafKind::kPeer || row->golden->kind == LeafKind::kPeer) return;
  for (size_t i = 0; i < kStatisticCount; ++i) {
    CompareStatistic(row->target->stats[i], row->golden->stats[i], &row->cells[i],
                     &row->cells[i + kStatisticCount]);
  }
}

// The worst verdict of a call's rows; the rows get theirs.
Precision JudgeNode(Mode mode, const RuleSet& rules, std::string_view name,
                    std::span<ComparedRow> rows) {
  for (ComparedRow& row : rows) {
    if (mode == Mode::kStatistics && !IsAbsent(row)) FillStatistics(&row);
  }
  JudgeApi(mode, rules, rows);
  if (HasUndefinedResult(name)) return Precision::kPass;
  Verdict worst = Verdict::kPass;
  for (const ComparedRow& row : rows) worst = std::max(worst, row.verdict);
  return FromVerdict(worst);
}

// A collection is as bad as the worst of its calls.
void JudgeCollections(const Graph& graph, const NodeMatches& matches,
                      std::vector<Precision>* precision) {
  for (const int32_t i : graph.post_order()) {
    if (graph.node(i).type != NodeType::kApiList) continue;
    Precision& worst = (*precision)[static_cast<size_t>(i)];
    worst = matches[static_cast<size_t>(i)] == kNoNode ? Precision::kNone : Precision::kPass;
    for (const int32_t child : graph.node(i).children) {
      worst = std::max(worst, (*precision)[static_cast<size_t>(child)]);
    }
  }
}

}  // namespace

bool IsAbsent(const ComparedRow& row) { return row.golden == nullptr || row.golden->name.empty(); }

NodeResults StructureResults(const Graph& target, const NodeMatches& matches) {
  NodeResults out;
  out.precision.assign(matches.size(), Precision::kNone);
  for (size_t i = 0; i < matches.size(); ++i) {
    const bool known = matches[i] != kNoNode && target.nodes()[i].api != kNoNode;
    if (known && HasUndefinedResult(target.nodes()[i].name)) out.precision[i] = Precision::kPass;
  }
  return out;
}

void AppendStatisticCell(const ComparedRow& row, size_t cell, std::string* out) {
  const Cell& value = row.cells[cell];
  if (cell >= kStatisticCount || value.kind != Cell::Kind::kNumber) {
    std::string text;
    value.AppendTo(&text);
    ShortenDecimals(&text);
    out->append(text);
    return;
  }
  base::NumberBuffer buffer;
  const bool whole = row.target->stats[cell].kind() == Value::Kind::kInt &&
                     row.golden->stats[cell].kind() == Value::Kind::kInt &&
                     std::fabs(value.value) < 0x1p53;
  if (whole) {
    out->append(base::FormatInt64(static_cast<int64_t>(value.value), buffer));
    return;
  }
  out->append(base::FormatPythonDouble(value.value, buffer));
  // The reference keeps spreadsheets from reading a name.
  if (std::isinf(value.value)) out->append("\\t");
}

void ShortenDecimals(std::string* text) {
  constexpr size_t kDecimals = 6;
  constexpr size_t kMaxDigits = 20;
  const bool percent = text->ends_with('%');
  const std::string_view number =
      std::string_view(*text).substr(0, text->size() - (percent ? 1 : 0));
  const size_t dot = number.find('.');
  if (dot == std::string_view::npos || dot == 0 || dot > kMaxDigits) return;
  const std::string_view decimals = number.substr(dot + 1);
  if (decimals.size() <= kDecimals || decimals.size() > kMaxDigits) return;
  if (number.find_first_not_of("0123456789.") != std::string_view::npos) return;
  const auto value = base::ParseDouble(number);
  if (!value) return;
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, *value, std::chars_format::fixed,
                                 static_cast<int>(kDecimals));
  *text = base::Concat(std::string_view(buffer, static_cast<size_t>(end.ptr - buffer)),
                       percent ? "%" : "");
}

NodeMatches Reversed(const NodeMatches& matches, size_t size) {
  NodeMatches out(size, kNoNode);
  for (size_t i = 0; i < matches.size(); ++i) {
    if (matches[i] != kNoNode) out[static_cast<size_t>(matches[i])] = static_cast<int32_t>(i);
  }
  return out;
}

NodeMatches MatchGraphs(const Graph& target, const Graph& golden, const MatchOptions& options) {
  NodeMatches out(target.nodes().size(), kNoNode);
  if (options.map_name) {
    for (size_t i = 0; i < out.size(); ++i) {
      const std::string_view name = target.nodes()[i].name;
      const bool own_name = i == 0 || target.nodes()[i].type == NodeType::kApiList;
      out[i] = golden.Find(own_name ? std::string(name) : options.map_name(name));
    }
  } else if (options.fuzzy) {
    MatchFuzzily(target, golden, options.ignore_ranks, &out);
  } else {
    MatchByAncestors(target, golden, &out);
  }
  return out;
}

NodeResults CompareGraphs(const Graph& target, const Graph& golden, const NodeMatches& matches,
                          Mode mode, bool cross_framework,
                          const std::function<void(Comparison*)>& fill_tensors, bool merged) {
  const DumpFile& dump = *target.dump().dump;
  NodeResults out;
  out.mode = mode;
  Comparison comparison;
  comparison.mode = mode;
  comparison.rows.resize(dump.rows().size());
  comparison.golden_only_begin = static_cast<uint32_t>(dump.rows().size());
  for (size_t r = 0; r < dump.rows().size(); ++r) comparison.rows[r].target = &dump.rows()[r];
  base::ParallelFor(matches.size(), {.grain_size = kNodesAtATime}, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const int32_t api = target.nodes()[i].api;
      if (matches[i] == kNoNode || api == kNoNode) continue;
      PairRowsByPosition(target, golden, api, golden.node(matches[i]).api, &comparison.rows);
    }
  });
  if (mode == Mode::kTensor) fill_tensors(&comparison);
  out.precision.assign(matches.size(), Precision::kNone);
  RuleSet rules = RuleSet::ForFrameworks(cross_framework);
  rules.only_present = true;
  rules.shape = !merged;
  base::ParallelFor(matches.size(), {.grain_size = kNodesAtATime}, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const int32_t index = target.nodes()[i].api;
      if (matches[i] == kNoNode || index == kNoNode) continue;
      const DumpApi& api = dump.apis()[static_cast<size_t>(index)];
      if (api.row_count == 0) continue;
      out.precision[i] =
          JudgeNode(mode, rules, target.nodes()[i].name,
                    std::span(comparison.rows).subspan(api.first_row, api.row_count));
    }
  });
  JudgeCollections(target, matches, &out.precision);
  out.rows = std::move(comparison.rows);
  return out;
}

}  // namespace sonde::precision
