#include <array>

#include "base/strings.h"
#include "compare/frame/matching.h"
#include "compare/modules/module_sheets.h"
#include "compare/operators/operator_sheets.h"

namespace sonde::compare {
namespace {

#define SONDE_MODULE_SIDE(of)                                               \
  {"Operator Name", "operator", Format::kPlain, 25, of},                    \
      {"Kernel Details", "kernel_details", Format::kPlain, 20, of},         \
      {"Device Self Time(us)", "device_self_us", Format::kFloat, 20, of}, { \
    "Device Total Time(us)", "device_total_us", Format::kFloat, 20, of      \
  }
constexpr Column kModuleColumns[] = {
    {"Order Id", "order_id", Format::kPlain, 10},
    {"Module Class", "module_class", Format::kPlain, 20},
    {"Module Level", "module_level", Format::kPlain, 15},
    {"Module Name", "module", Format::kPlain, 35},
    SONDE_MODULE_SIDE(Of::kBase),
    SONDE_MODULE_SIDE(Of::kComparison),
    {"Device Total Time Diff(us)", "diff_total_us", Format::kFloat, 20},
    {"Device Self Time Diff(us)", "diff_self_us", Format::kFloat, 20},
    {"Diff Total Ratio", "total_ratio", Format::kRatio, 15, Of::kBoth, true},
    {"Base Call Stack", "base_call_stack", Format::kPlain, 30},
    {"Comparison Call Stack", "comparison_call_stack", Format::kPlain, 30}};
#undef SONDE_MODULE_SIDE
constexpr SheetInfo kModuleInfo = {
    "ModuleCompare", "a call of a module of each side, or an operator in it", kModuleColumns};

Cell TextCell(std::string text) { return text.empty() ? Cell() : Cell(std::move(text)); }

struct OpCells {
  std::string name;
  std::string details;
  std::string stack;
  int64_t ns = 0;
};

OpCells CellsOf(const Side& side, const ModuleOp* op) {
  OpCells cells;
  if (op == nullptr) return cells;
  cells.name = std::string(side.Name(side.OpAt(op->op).name));
  const int32_t stack = side.OpAt(op->op).stack;
  cells.stack = stack == kNone ? "N/A" : side.stacks[static_cast<size_t>(stack)];
  for (const uint32_t kernel : op->kernels) {
    cells.details += KernelLine(side, side.kernels[kernel]);
    cells.ns += side.kernels[kernel].dur_ns;
  }
  return cells;
}

class ModuleSheetMaker {
 public:
  ModuleSheetMaker(const Side& base, const Side& comparison)
      : base_(base), comparison_(comparison) {}

  Sheet Run(const std::vector<ModulePair>& pairs) {
    for (const ModulePair& pair : pairs) {
      AddTotal(pair);
      AddOps(pair);
    }
    NumberRows(sheet_);
    return std::move(sheet_);
  }

 private:
  Row& AddRow(const ModulePair& pair) {
    const Module& shown = pair.base != nullptr ? *pair.base : *pair.comparison;
    Row& row = sheet_.rows.emplace_back();
    row.cells = {Cell(), Cell(ModuleClass(shown.name)), Cell(int64_t{shown.level}),
                 Cell(ModuleTitle(shown.full_name))};
    return row;
  }

  void AddTotal(const ModulePair& pair) {
    Row& row = AddRow(pair);
    std::array<int64_t, 2> self_ns = {};
    std::array<int64_t, 2> total_ns = {};
    std::array<std::string, 2> stacks;
    size_t i = 0;
    for (const Module* module : {pair.base, pair.comparison}) {
      if (module != nullptr) {
        self_ns[i] = module->self_ns;
        total_ns[i] = module->total_ns;
        stacks[i] = module->call_stack;
      }
      row.cells.insert(row.cells.end(),
                       {Cell("TOTAL"), Cell(), Cell(Us(self_ns[i])), Cell(Us(total_ns[i]))});
      ++i;
    }
    const Difference total = DifferenceOf(Us(total_ns[0]), Us(total_ns[1]));
    const Difference self = DifferenceOf(Us(self_ns[0]), Us(self_ns[1]));
    row.cells.insert(row.cells.end(),
                     {Cell(total.diff), Cell(self.diff), Cell(total.ratio),
                      TextCell(std::move(stacks[0])), TextCell(std::move(stacks[1]))});
  }

  static std::vector<int32_t> NumbersOf(const Side& side, const Module* module,
                                        TextNumbers& names) {
    std::vector<int32_t> numbers;
    if (module == nullptr) return numbers;
    for (const ModuleOp& op : module->top_ops) {
      numbers.push_back(names.Of(side.Name(side.OpAt(op.op).name)));
    }
    return numbers;
  }

  void AddOps(const ModulePair& pair) {
    TextNumbers names;
    const auto of = [](const Module* module, int32_t place) {
      return place == kNobody ? nullptr : &module->top_ops[static_cast<size_t>(place)];
    };
    for (const auto& [i, j] : MatchSequences(NumbersOf(base_, pair.base, names),
                                             NumbersOf(comparison_, pair.comparison, names))) {
      OpCells a = CellsOf(base_, of(pair.base, i));
      OpCells b = CellsOf(comparison_, of(pair.comparison, j));
      const Difference self = DifferenceOf(Us(a.ns), Us(b.ns));
      Row& row = AddRow(pair);
      for (OpCells* cells : {&a, &b}) {
        row.cells.insert(row.cells.end(), {TextCell(cells->name), TextCell(cells->details),
                                           Cell(Us(cells->ns)), Cell()});
      }
      row.cells.insert(row.cells.end(), {Cell(), Cell(self.diff), Cell(self.ratio)});
      row.cells.push_back(self.diff > 0 ? TextCell(a.stack) : Cell());
      row.cells.push_back(self.diff > 0 ? TextCell(b.stack) : Cell());
    }
  }

  const Side& base_;
  const Side& comparison_;
  Sheet sheet_{.info = &kModuleInfo, .rows = {}};
};

}  // namespace

Sheet ModuleSheet(const Side& base, const Side& comparison, const std::vector<ModulePair>& pairs) {
  return ModuleSheetMaker(base, comparison).Run(pairs);
}

}  // namespace sonde::compare
