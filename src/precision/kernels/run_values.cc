#include "precision/kernels/run_values.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <unordered_map>

#include "base/strings.h"
#include "precision/compare/rules.h"

namespace sonde::precision {
namespace {

using base::Concat;

using ValueNumbers = std::array<double, 3>;

std::string ValueKey(std::string_view family, int64_t elements, const ValueNumbers& numbers) {
  char text[128];
  std::snprintf(text, sizeof(text), "%a %a %a", numbers[0], numbers[1], numbers[2]);
  return Concat(family, " ", std::to_string(elements), " ", text);
}

ValueNumbers NumbersOfValue(const KernelTensor& tensor) {
  // As 32 bit floats, which do not depend on the order of a sum: a transposition keeps its value.
  const auto norm = static_cast<float>(tensor.statistics[3]);
  return {tensor.statistics[0], tensor.statistics[1], static_cast<double>(norm)};
}

ValueNumbers NumbersOfValue(const DumpRow& row) {
  return {row.stats[kMax].AsDouble(), row.stats[kMin].AsDouble(), row.stats[kNorm].AsDouble()};
}

// Finds the value of a key or adds it.
class ValueTable {
 public:
  size_t IndexOf(std::string_view family, const std::vector<int64_t>& shape,
                 const ValueNumbers& numbers) {
    const int64_t elements = CountElements(shape);
    const auto [found, is_new] =
        index_.emplace(ValueKey(family, elements, numbers), out_.values.size());
    if (is_new) {
      RunValue& added = out_.values.emplace_back();
      added.family = family;
      added.elements = elements;
    }
    std::vector<std::vector<int64_t>>& shapes = out_.values[found->second].shapes;
    if (std::find(shapes.begin(), shapes.end(), shape) == shapes.end()) shapes.push_back(shape);
    return found->second;
  }
  RunValue& At(size_t index) { return out_.values[index]; }
  // What a call gives and does not take is computed.
  void MarkComputed(const RunCall& call) {
    for (const auto& output : call.outputs) {
      const size_t value = output.second;
      const auto takes = [value](const auto& input) { return input.second == value; };
      if (std::none_of(call.inputs.begin(), call.inputs.end(), takes)) {
        out_.values[value].is_computed = true;
      }
    }
  }
  void AddCall(RunCall call) {
    MarkComputed(call);
    out_.calls.push_back(std::move(call));
  }
  RunValues Take() { return std::move(out_); }

 private:
  RunValues out_;
  std::unordered_map<std::string, size_t> index_;
};

std::string CellsPath(const std::vector<ScopeCell>& cells) {
  std::string out;
  for (const ScopeCell& cell : cells) out += Concat(out.empty() ? "" : ".", cell.name);
  return out;
}

// "__mul__" -> "mul", "ReduceMean" -> "reducemean".
std::string OperatorKey(std::string_view name) {
  std::string out = base::ToLower(name);
  out.erase(std::remove(out.begin(), out.end(), '_'), out.end());
  return out;
}

// "Functional.softmax.0.forward" -> "softmax", "Primitive.dense.Dense.0.forward" -> "dense".
std::string OperatorOf(std::string_view api) {
  const std::vector<std::string_view> parts = base::Split(api, '.');
  return parts.size() < 3 ? std::string() : OperatorKey(parts[parts.size() - 3]);
}

// The type, and the operator that the compiler expanded: "Expand/_MatMulExt/BatchMatMul-op0" is
// of "_MatMulExt", which programs call matmul.
void AddOperators(const KernelCall& call, std::set<std::string>* out) {
  out->insert(OperatorKey(call.type));
  const std::vector<std::string_view> parts = base::Split(call.scope, '/');
  if (call.has_cells || parts.size() < 3) return;
  std::string expanded = OperatorKey(parts[parts.size() - 2]);
  if (expanded.ends_with("ext")) expanded.resize(expanded.size() - 3);
  out->insert(std::move(expanded));
}

// Whether a row is a tensor of a forward call, with numbers.
bool IsForwardValue(const DumpRow& row, std::string_view api) {
  return row.section <= Section::kOutput && api.find(".backward") == std::string_view::npos &&
         HasNumbers(row);
}

// The places of the inputs of a call as kernels number them: each tensor of a list has its own
// ("input.0.2" is 2, and "input.1" behind three of them 3).
class InputSlots {
 public:
  void Add(const DumpRow& row, std::string_view api) {
    const std::string slot = SlotOf(row, api);
    const auto [argument, item] = Split(slot);
    if (argument < 0 || item < 0 || row.kind != LeafKind::kTensor) return;
    int64_t& size = sizes_[argument];
    size = std::max(size, item + 1);
  }
  std::string Of(const DumpRow& row, std::string_view api) const {
    std::string slot = SlotOf(row, api);
    const auto [argument, item] = Split(slot);
    if (argument < 0) return slot;
    int64_t place = argument + std::max<int64_t>(item, 0);
    for (const auto& [before, size] : sizes_) {
      if (before < argument) place += size - 1;
    }
    return std::to_string(place);
  }

 private:
  // -1: no number, or for the item of a list: it is none.
  static std::pair<int64_t, int64_t> Split(std::string_view slot) {
    const std::vector<std::string_view> parts = base::Split(slot, '.');
    const auto number = [&parts](size_t at) {
      return at < parts.size() && base::IsDigits(parts[at])
                 ? base::ParseInt64(parts[at]).value_or(-1)
                 : -1;
    };
    return parts.size() > 2 ? std::pair<int64_t, int64_t>(-1, -1) : std::pair(number(0), number(1));
  }

  std::map<int64_t, int64_t> sizes_;  // of the lists of tensors, by argument
};

}  // namespace

std::string CellPath(std::string_view module_name) {
  std::vector<std::string_view> parts = base::Split(module_name, '.');
  // The kind before; class, direction and number behind.
  if (parts.size() < 5) return {};
  parts.erase(parts.begin());
  parts.resize(parts.size() - 3);
  return base::Join(parts, ".");
}

std::vector<int64_t> ShapeOfRow(const DumpRow& row) {
  std::vector<int64_t> out;
  if (row.shape.size() < 2) return out;
  for (const auto part : base::Split(row.shape.substr(1, row.shape.size() - 2), ',')) {
    if (const auto length = base::ParseInt64(base::Trim(part))) out.push_back(*length);
  }
  return out;
}

std::string SlotOf(const DumpRow& row, std::string_view api) {
  const std::string_view key = row.name.substr(std::min(api.size() + 1, row.name.size()));
  return std::string(key.substr(std::min(key.find('.') + 1, key.size())));
}

int64_t CountElements(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t length : shape) count *= length;
  return count;
}

std::string KeyOfValue(const KernelTensor& tensor) {
  return ValueKey(DtypeFamily(tensor.dtype), CountElements(tensor.shape), NumbersOfValue(tensor));
}

std::string KeyOfValue(const DumpRow& row) {
  return ValueKey(DtypeFamily(row.dtype), CountElements(ShapeOfRow(row)), NumbersOfValue(row));
}

bool HasNumbers(const DumpRow& row) {
  return row.kind == LeafKind::kTensor && row.stats[kMax].IsNumber() &&
         row.stats[kMin].IsNumber() && row.stats[kNorm].IsNumber();
}

RunValues ValuesOfKernels(const std::vector<const KernelCall*>& calls) {
  ValueTable table;
  for (const KernelCall* each : calls) {
    const KernelCall& call = *each;
    if (call.is_backward) continue;
    const std::string path = CellsPath(call.cells);
    RunCall run;
    for (const KernelTensor& tensor : call.tensors) {
      const size_t index =
          table.IndexOf(DtypeFamily(tensor.dtype), tensor.shape, NumbersOfValue(tensor));
      RunValue& value = table.At(index);
      value.tensors.push_back(&tensor);
      (tensor.is_output ? run.outputs : run.inputs)
          .emplace_back(std::to_string(tensor.slot), index);
      if (tensor.is_output) AddOperators(call, &value.operators);
      if (!call.has_cells) {
        value.of_unknown_cell |= tensor.is_output;
      } else if (!path.empty()) {
        (tensor.is_output ? value.producers : value.consumers).insert(path);
      }
    }
    table.AddCall(std::move(run));
  }
  return table.Take();
}

RunValues ValuesOfDump(const DumpFile& dump, const ConstructFile& construct) {
  ValueTable table;
  bool has_calls = false;
  for (const DumpApi& api : dump.apis()) {
    const std::string cell = CellPath(construct.ModuleOf(api.name));
    const bool is_cell = IsModuleName(api.name);
    RunCall run;
    InputSlots slots;
    for (uint32_t i = api.first_row; i < api.first_row + api.row_count; ++i) {
      if (dump.rows()[i].section == Section::kInput) slots.Add(dump.rows()[i], api.name);
    }
    for (uint32_t i = api.first_row; i < api.first_row + api.row_count; ++i) {
      const DumpRow& row = dump.rows()[i];
      if (!IsForwardValue(row, api.name)) continue;
      const size_t index =
          table.IndexOf(DtypeFamily(row.dtype), ShapeOfRow(row), NumbersOfValue(row));
      RunValue& value = table.At(index);
      value.rows.push_back(i);
      if (row.section == Section::kParameters) {
        run.inputs.emplace_back("", index);
        continue;
      }
      const bool is_input = row.section == Section::kInput;
      if (is_input) {
        run.inputs.emplace_back(slots.Of(row, api.name), index);
      } else {
        run.outputs.emplace_back(SlotOf(row, api.name), index);
      }
      if (!cell.empty()) (is_input ? value.consumers : value.producers).insert(cell);
      if (!is_input && is_cell && !cell.empty()) value.results_of.insert(cell);
      if (!is_input && !is_cell) value.operators.insert(OperatorOf(api.name));
    }
    if (is_cell) {
      table.MarkComputed(run);
      continue;
    }
    has_calls = has_calls || !run.outputs.empty();
    table.AddCall(std::move(run));
  }
  RunValues out = table.Take();
  // Of cells alone, of which the parameters may be missing.
  for (RunValue& value : out.values) {
    if (!has_calls) value.is_computed = !value.producers.empty();
  }
  return out;
}

}  // namespace sonde::precision
