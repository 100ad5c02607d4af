#include "precision/parallel/tensor_merger.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/float16.h"
#include "base/strings.h"
#include "precision/parallel/merge_ranks.h"

namespace sonde::precision {
namespace {

using base::Concat;

constexpr std::array<std::string_view, 10> kMergedDtypes = {
    "torch.int8",    "torch.int32",   "torch.int64", "torch.bfloat16", "torch.float16",
    "torch.float32", "torch.float64", "Float16",     "Float32",        "BFloat16"};
constexpr double kLoose = 1e-6;

bool SameNumber(const Value& a, const Value& b, bool loose) {
  if (!a.IsNumber() || !b.IsNumber()) return true;
  const double main = a.AsDouble();
  const double other = b.AsDouble();
  if (!loose) return main == other;
  const double difference = std::fabs(main - other);
  if (std::isnan(difference)) return std::isnan(main) && std::isnan(other);
  if (std::isinf(difference)) return std::isinf(main) && std::isinf(other);
  return main == 0 ? difference < kLoose : std::fabs(difference / main) < kLoose;
}

// Merged statistics have the precision of those that were dumped.
double InDtype(double value, std::string_view dtype) {
  if (!std::isfinite(value)) return value;
  const auto single = static_cast<float>(value);
  if (dtype == "torch.float32" || dtype == "Float32") return static_cast<double>(single);
  if (dtype == "torch.float16" || dtype == "Float16") {
    return static_cast<double>(base::HalfToFloat(base::FloatToHalf(single)));
  }
  if (dtype == "torch.bfloat16" || dtype == "BFloat16") {
    return static_cast<double>(base::BFloat16ToFloat(base::FloatToBFloat16(single)));
  }
  return value;
}

Value Combine(size_t stat, const std::vector<Value>& values) {
  Value out = values[0];
  if (stat == kMax || stat == kMin) {
    for (const Value& value : values) {
      const bool better =
          stat == kMax ? value.AsDouble() > out.AsDouble() : value.AsDouble() < out.AsDouble();
      if (better) out = value;
    }
    return out;
  }
  double sum = 0;
  for (const Value& value : values) {
    sum += stat == kMean ? value.AsDouble() : std::pow(value.AsDouble(), 2.0);
  }
  if (stat == kMean) return Value::Float(sum / static_cast<double>(values.size()));
  return Value::Float(std::pow(sum, 0.5));
}

// How a statistic was put together, for the viewer.
std::string Formula(size_t stat, std::string_view key, const std::vector<Value>& values) {
  static constexpr std::array<std::string_view, kStatisticCount> kNames = {"Max", "Min", "Mean",
                                                                           "Norm"};
  std::vector<std::string> texts;
  for (const Value& value : values) {
    texts.push_back(value.PythonText() + (stat == kNorm ? " ** 2" : ""));
  }
  const std::string list = base::Join(texts, stat <= kMin ? ", " : " + ");
  std::string formula;
  if (stat == kMax) formula = Concat("max(", list, ")");
  if (stat == kMin) formula = Concat("min(", list, ")");
  if (stat == kMean) formula = Concat("(", list, ") / ", std::to_string(values.size()));
  if (stat == kNorm) formula = Concat("(", list, ") ** 0.5");
  return Concat("The ", kNames[stat], " value merging method for ", key, " is: ", formula);
}

// Puts the rows' statistics into the first one; a line for each.
void MergeRows(std::string_view key, const std::vector<MergeRow*>& rows,
               std::vector<std::string>* lines) {
  if (rows.size() < 2) return;
  for (size_t stat = 0; stat < kStatisticCount; ++stat) {
    std::vector<Value> values;
    for (const MergeRow* row : rows) values.push_back(row->stats[stat]);
    if (!std::all_of(values.begin(), values.end(), [](const Value& v) { return v.IsNumber(); })) {
      continue;
    }
    Value merged = Combine(stat, values);
    if (merged.kind() == Value::Kind::kFloat) {
      merged = Value::Float(InDtype(merged.AsDouble(), rows[0]->row->dtype));
    }
    rows[0]->stats[stat] = merged;
    rows[0]->changed = true;
    lines->push_back(Concat(Formula(stat, key, values), " = ", merged.PythonText()));
  }
}

MergeRow* RowOf(std::vector<MergeRow>* rows, std::string_view key) {
  const auto found = std::find_if(rows->begin(), rows->end(),
                                  [key](const MergeRow& row) { return row.key == key; });
  return found == rows->end() ? nullptr : &*found;
}

// "Module.a.RowParallelLinear.forward.0": class and direction; empty for other names.
struct ModuleName {
  std::string_view type;
  std::string_view direction;
};
ModuleName ParseModule(const MergeNode& node) {
  const auto parts = base::Split(node.name, '.');
  if (node.type != NodeType::kModule || parts.size() < 4) return {};
  return {parts[parts.size() - 3], parts[parts.size() - 2]};
}

}  // namespace

bool IsMergedDtype(std::string_view dtype) {
  return std::find(kMergedDtypes.begin(), kMergedDtypes.end(), dtype) != kMergedDtypes.end();
}

bool SameStatistics(const MergeRow& a, const MergeRow& b, bool loose) {
  return SameNumber(a.stats[kMax], b.stats[kMax], false) &&
         SameNumber(a.stats[kMin], b.stats[kMin], false) &&
         SameNumber(a.stats[kMean], b.stats[kMean], loose) &&
         SameNumber(a.stats[kNorm], b.stats[kNorm], loose);
}

// The same call on all other ranks, or nothing.
std::vector<int32_t> TensorMerger::Twins(int32_t index) const {
  const std::string& name = forest_.node(index).name;
  const int64_t rank = RankOfName(name);
  std::vector<int32_t> out;
  const auto peers = peers_.find(rank);
  if (rank >= 0 && !peers_.empty() &&
      (peers == peers_.end() || peers->second.size() + 1 != trees_.size())) {
    return out;
  }
  for (size_t t = 1; t < trees_.size(); ++t) {
    std::string twin = name;
    if (rank >= 0 && !peers_.empty()) {
      twin = base::ReplaceAll(name, Concat("_rank", std::to_string(rank), "."),
                              Concat("_rank", std::to_string(peers->second[t - 1]), "."));
    }
    const int32_t other = MergeForest::Find(*trees_[t], twin);
    if (other == kNoNode || !forest_.SameAncestors(index, other)) return {};
    out.push_back(other);
  }
  return out;
}

TensorMerger::Differing TensorMerger::Compare(int32_t index, const std::vector<int32_t>& twins,
                                              bool always) {
  Differing out;
  if (twins.empty()) return out;
  const auto side = [&](std::vector<MergeRow> MergeNode::* rows, auto* found) {
    for (MergeRow& main : forest_.node(index).*rows) {
      if (!IsMergedDtype(main.row->dtype)) continue;
      bool same = !always;
      Rows group = {&main};
      for (const int32_t twin : twins) {
        MergeRow* const other = RowOf(&(forest_.node(twin).*rows), main.key);
        if (other == nullptr || !IsMergedDtype(other->row->dtype)) break;
        group.push_back(other);
        same = same && SameStatistics(main, *other, true);
      }
      if (!same) found->emplace_back(main.key, std::move(group));
    }
  };
  side(&MergeNode::inputs, &out.inputs);
  side(&MergeNode::outputs, &out.outputs);
  return out;
}

void TensorMerger::Note(int32_t index, const std::vector<int32_t>& twins, const Differing& found) {
  std::vector<std::string>& info = forest_.node(index).merge_info;
  std::string ranks = std::to_string(forest_.node(index).rank);
  for (const int32_t twin : twins) ranks += Concat(", ", std::to_string(forest_.node(twin).rank));
  info.push_back(
      Concat("This data is the merged data after tensor parallelism(TP), and the data "
             "is merged from rank [",
             ranks, "]."));
  for (const auto& [key, rows] : found.inputs) MergeRows(key, rows, &info);
  for (const auto& [key, rows] : found.outputs) MergeRows(key, rows, &info);
}

// The matmul of a row-parallel module is whole only after the ranks' parts were added up.
bool TensorMerger::TakeReduced(int32_t matmul, int32_t reduce) {
  auto& from = forest_.node(reduce);
  auto& to = forest_.node(matmul);
  const size_t input = base::Contains(from.name, "all_reduce") ? 0 : 1;
  if (from.outputs.empty() || from.inputs.size() <= input) return false;
  if (!SameStatistics(to.outputs[0], from.inputs[input], false)) return false;
  const std::vector<int32_t> twins = Twins(matmul);
  Differing found = Compare(matmul, twins, false);
  found.outputs.clear();
  if (!found.inputs.empty()) Note(matmul, twins, found);
  to.outputs[0].stats = from.outputs[0].stats;
  to.outputs[0].changed = true;
  to.merge_info.push_back(
      Concat("The output of this data is merged from ", from.name, ".", from.outputs[0].key));
  return true;
}

void TensorMerger::MergeMatmuls(int32_t module) {
  const ModuleName name = ParseModule(forest_.node(module));
  const bool row = name.direction == "forward" && base::Contains(name.type, "RowParallelLinear");
  const bool column =
      name.direction == "backward" && base::Contains(name.type, "ColumnParallelLinear");
  if (!row && !column) return;
  std::vector<int32_t> reduces;
  for (const int32_t child : forest_.node(module).children) {
    const std::string& call = forest_.node(child).name;
    if (base::Contains(call, "_reduce_scatter_base") ||
        base::Contains(call, "reduce_scatter_tensor") || base::Contains(call, "all_reduce")) {
      reduces.push_back(child);
    }
  }
  for (const int32_t child : forest_.node(module).children) {
    if (!base::Contains(forest_.node(child).name, "matmul") || forest_.node(child).outputs.empty())
      continue;
    const auto used = std::find_if(reduces.begin(), reduces.end(),
                                   [&](int32_t reduce) { return TakeReduced(child, reduce); });
    if (used != reduces.end()) reduces.erase(used);
  }
}

void TensorMerger::MergeCall(int32_t index) {
  const auto& node = forest_.node(index);
  if (node.parent == kNoNode || forest_.node(node.parent).type != NodeType::kModule) return;
  const std::string& parent = forest_.node(node.parent).name;
  if (parent == "clip_grad" || parent == "optimizer" || node.name.starts_with("Distributed") ||
      !node.merge_info.empty()) {
    return;
  }
  MergeMatmuls(index);
  const std::vector<int32_t> twins = Twins(index);
  const Differing found = Compare(index, twins, false);
  if (!found.empty()) Note(index, twins, found);
}

// Between a column-parallel module and the row-parallel one behind it every tensor is a part, also
// where the parts happen to be equal.
void TensorMerger::MergeColumnToRow(int32_t column) {
  const auto& node = forest_.node(column);
  const ModuleName name = ParseModule(node);
  if (!node.merge_info.empty() || name.direction != "forward" ||
      !base::Contains(name.type, "ColumnParallelLinear") || node.parent == kNoNode) {
    return;
  }
  const std::vector<int32_t>& siblings = forest_.node(node.parent).children;
  size_t begin = siblings.size();
  size_t end = siblings.size();
  for (size_t i = 0; i < siblings.size(); ++i) {
    const std::string& sibling = forest_.node(siblings[i]).name;
    if (base::Contains(sibling, node.name)) {
      begin = i;
    } else if (base::Contains(sibling, "RowParallelLinear")) {
      end = i;
    }
  }
  if (begin == siblings.size() || end == siblings.size() || end <= begin) return;
  const int32_t first = siblings[begin];
  const int32_t last = siblings[end];
  std::vector<int32_t> open(siblings.begin() + static_cast<std::ptrdiff_t>(begin),
                            siblings.begin() + static_cast<std::ptrdiff_t>(end) + 1);
  while (!open.empty()) {
    const int32_t index = open.back();
    open.pop_back();
    const auto& each = forest_.node(index);
    open.insert(open.end(), each.children.rbegin(), each.children.rend());
    if (!each.merge_info.empty() || each.name.starts_with("Distributed")) continue;
    const std::vector<int32_t> twins = Twins(index);
    Differing found = Compare(index, twins, true);
    if (found.empty()) continue;
    const bool matmul = base::Contains(each.name, "matmul");
    const auto leave_out = [&found](std::string_view key) {
      std::erase_if(found.inputs, [key](const auto& rows) { return rows.first == key; });
    };
    // The input of the first and the output of the last are whole on every rank.
    if (index == first || (matmul && each.parent == first)) {
      leave_out("input.0");
    } else if (index == last || (matmul && each.parent == last)) {
      found.outputs.clear();
      leave_out("parameters.bias");
    }
    Note(index, twins, found);
  }
}

void TensorMerger::Merge(const std::vector<RankTree*>& trees) {
  if (trees.size() < 2) return;
  trees_ = trees;
  const std::vector<int32_t> nodes = forest_.Nodes(*trees[0]);
  for (const int32_t index : nodes) MergeCall(index);
  for (const int32_t index : nodes) MergeColumnToRow(index);
}

}  // namespace sonde::precision
