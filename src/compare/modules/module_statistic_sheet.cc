#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>

#include "base/strings.h"
#include "compare/modules/module_sheets.h"

namespace sonde::compare {
namespace {

using base::Concat;

#define SONDE_MODULE_SIDE(of)                                             \
  {"Kernel Details", "kernel_details", Format::kPlain, 20, of},           \
      {"Device Self Time(ms)", "device_self_ms", Format::kFloat, 20, of}, \
      {"Number", "number", Format::kPlain, 10, of}, {                     \
    "Device Total Time(ms)", "device_total_ms", Format::kFloat, 20, of    \
  }
constexpr Column kModuleStatisticColumns[] = {
    {"Order Id", "order_id", Format::kPlain, 10},
    {"Module Class", "module_class", Format::kPlain, 20},
    {"Module Level", "module_level", Format::kPlain, 15},
    {"Module Name", "module", Format::kPlain, 35},
    {"Operator Name", "operator", Format::kPlain, 25},
    SONDE_MODULE_SIDE(Of::kBase),
    SONDE_MODULE_SIDE(Of::kComparison),
    {"Device Total Time Diff(ms)", "diff_total_ms", Format::kFloat, 20},
    {"Device Self Time Diff(ms)", "diff_self_ms", Format::kFloat, 20},
    {"Diff Total Ratio", "total_ratio", Format::kRatio, 15, Of::kBoth, true},
    {"Base Call Stack", "base_call_stack", Format::kPlain, 30},
    {"Comparison Call Stack", "comparison_call_stack", Format::kPlain, 30}};
#undef SONDE_MODULE_SIDE
constexpr SheetInfo kModuleStatisticInfo = {
    "ModuleCompareStatistic", "a module by its name, or the operators of one name in it",
    kModuleStatisticColumns};

struct KernelSum {
  int64_t ns = 0;
  int64_t count = 0;
};

// Texts, which belong to the sides, in their first order.
template <class Value>
class ModuleOrder {
 public:
  Value& operator[](std::string_view name) {
    const auto [place, is_new] = places_.try_emplace(name, list_.size());
    if (is_new) list_.emplace_back(name, Value{});
    return list_[place->second].second;
  }
  const Value* Find(std::string_view name) const {
    const auto place = places_.find(name);
    return place == places_.end() ? nullptr : &list_[place->second].second;
  }
  auto begin() const { return list_.begin(); }
  auto end() const { return list_.end(); }

 private:
  std::map<std::string_view, size_t> places_;
  std::vector<std::pair<std::string_view, Value>> list_;
};

struct OpSum {
  int64_t ns = 0;
  int64_t count = 0;
  ModuleOrder<KernelSum> kernels;
};

struct ModuleSum {
  int64_t self_ns = 0;
  int64_t total_ns = 0;
  int64_t count = 0;
  std::string_view call_stack;
  ModuleOrder<OpSum> ops;
};

void Add(const Side& side, const Module& module, ModuleSum& sum) {
  if (sum.count++ == 0) sum.call_stack = module.call_stack;
  sum.self_ns += module.self_ns;
  sum.total_ns += module.total_ns;
  for (const ModuleOp& op : module.top_ops) {
    OpSum& of_op = sum.ops[side.Name(side.OpAt(op.op).name)];
    ++of_op.count;
    for (const uint32_t place : op.kernels) {
      const Kernel& kernel = side.kernels[place];
      of_op.ns += kernel.dur_ns;
      KernelSum& of_kernel = of_op.kernels[side.Name(kernel.name)];
      of_kernel.ns += kernel.dur_ns;
      ++of_kernel.count;
    }
  }
}

std::string LinesOf(const OpSum& sum) {
  std::string lines;
  for (const auto& [name, kernel] : sum.kernels) {
    constexpr size_t kLongest = 64;
    char ms[kLongest];
    std::snprintf(ms, sizeof(ms), "%.3f", Ms(kernel.ns));
    lines +=
        Concat(name, ", [number: ", std::to_string(kernel.count), "], [duration_ms: ", ms, "]\n");
  }
  return lines;
}

Cell NameCell(std::string_view text) { return text.empty() ? Cell() : Cell(std::string(text)); }

std::vector<Cell> Head(std::string_view full_name, std::string_view op) {
  return {Cell(), Cell(ModuleClass(full_name)),
          Cell(static_cast<int64_t>(std::count(full_name.begin(), full_name.end(), '/'))),
          Cell(ModuleTitle(full_name)), Cell(std::string(op))};
}

void AddTotal(std::string_view full_name, const ModuleSum& base, const ModuleSum& comparison,
              Sheet& sheet) {
  Row& row = sheet.rows.emplace_back();
  row.cells = Head(full_name, "[ TOTAL ]");
  for (const ModuleSum* sum : {&base, &comparison}) {
    row.cells.insert(row.cells.end(),
                     {Cell(), Cell(Ms(sum->self_ns)), Cell(sum->count), Cell(Ms(sum->total_ns))});
  }
  const Difference total = DifferenceOf(Ms(base.total_ns), Ms(comparison.total_ns));
  const Difference self = DifferenceOf(Ms(base.self_ns), Ms(comparison.self_ns));
  row.cells.insert(row.cells.end(), {Cell(total.diff), Cell(self.diff), Cell(total.ratio),
                                     NameCell(base.call_stack), NameCell(comparison.call_stack)});
}

void AddOp(std::string_view full_name, std::string_view op, const OpSum& base,
           const OpSum& comparison, Sheet& sheet) {
  Row& row = sheet.rows.emplace_back();
  row.cells = Head(full_name, op);
  for (const OpSum* sum : {&base, &comparison}) {
    row.cells.insert(row.cells.end(),
                     {NameCell(LinesOf(*sum)), Cell(Ms(sum->ns)), Cell(sum->count), Cell()});
  }
  const Difference self = DifferenceOf(Ms(base.ns), Ms(comparison.ns));
  row.cells.insert(row.cells.end(), {Cell(), Cell(self.diff), Cell(self.ratio), Cell(), Cell()});
}

void AddModule(std::string_view full_name, const ModuleSum& base, const ModuleSum& comparison,
               Sheet& sheet) {
  const OpSum none;
  AddTotal(full_name, base, comparison, sheet);
  for (const auto& [op, sum] : base.ops) {
    const OpSum* other = comparison.ops.Find(op);
    AddOp(full_name, op, sum, other == nullptr ? none : *other, sheet);
  }
  for (const auto& [op, sum] : comparison.ops) {
    if (base.ops.Find(op) == nullptr) AddOp(full_name, op, none, sum, sheet);
  }
}

}  // namespace

Sheet ModuleStatisticSheet(const Side& base, const Side& comparison,
                           const std::vector<ModulePair>& pairs) {
  Sheet sheet{.info = &kModuleStatisticInfo, .rows = {}};
  ModuleOrder<ModuleSum> of_base;
  ModuleOrder<ModuleSum> of_comparison;
  for (const ModulePair& pair : pairs) {
    if (pair.base != nullptr) Add(base, *pair.base, of_base[pair.base->full_name]);
    if (pair.comparison != nullptr) {
      Add(comparison, *pair.comparison, of_comparison[pair.comparison->full_name]);
    }
  }
  const ModuleSum none;
  for (const auto& [name, sum] : of_base) {
    const ModuleSum* other = of_comparison.Find(name);
    AddModule(name, sum, other == nullptr ? none : *other, sheet);
  }
  for (const auto& [name, sum] : of_comparison) {
    if (of_base.Find(name) == nullptr) AddModule(name, none, sum, sheet);
  }
  NumberRows(sheet);
  return sheet;
}

}  // namespace sonde::compare
