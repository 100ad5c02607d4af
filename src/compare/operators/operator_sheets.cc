#include "compare/operators/operator_sheets.h"

#include "base/strings.h"
#include "compare/frame/by_name.h"

namespace sonde::compare {
namespace {

using base::Concat;

constexpr Column kOperatorStatisticColumns[] = {
    {"Top", "top", Format::kPlain, 10},
    {"Operator Name", "operator", Format::kBold, 30},
    {"Base Device Duration(ms)", "device_ms", Format::kFloat, 25, Of::kBase},
    {"Base Operator Number", "number", Format::kPlain, 25, Of::kBase},
    {"Comparison Device Duration(ms)", "device_ms", Format::kFloat, 30, Of::kComparison},
    {"Comparison Operator Number", "number", Format::kPlain, 30, Of::kComparison},
    {"Diff Duration(ms)", "diff_ms", Format::kFloat, 20},
    {"Diff Ratio", "diff_ratio", Format::kRatio, 20, Of::kBoth, true}};
constexpr SheetInfo kOperatorStatistic = {"OperatorCompareStatistic",
                                          "operators of one name, with all that they call",
                                          kOperatorStatisticColumns};

#define SONDE_OPERATOR_SIDE(of)                                       \
  {"Operator Name", "operator", Format::kBold, 30, of},               \
      {"Input Shape", "input_shape", Format::kPlain, 20, of},         \
      {"Input Type", "input_type", Format::kPlain, 20, of},           \
      {"Kernel Details", "kernel_details", Format::kPlain, 20, of}, { \
    "Device Duration(us)", "device_us", Format::kFloat, 20, of        \
  }
constexpr Column kOperatorColumns[] = {
    {"Order Id", "order_id", Format::kPlain, 10},
    SONDE_OPERATOR_SIDE(Of::kBase),
    SONDE_OPERATOR_SIDE(Of::kComparison),
    {"Diff Duration(us)", "diff_us", Format::kFloat, 20},
    {"Diff Ratio", "diff_ratio", Format::kRatio, 20, Of::kBoth, true}};
#undef SONDE_OPERATOR_SIDE
constexpr SheetInfo kOperatorInfo = {"OperatorCompare", "an operator of each side",
                                     kOperatorColumns};

struct DeviceTime {
  int64_t ns = 0;
  int64_t count = 0;
  DeviceTime& operator+=(const DeviceTime& other) {
    ns += other.ns;
    count += other.count;
    return *this;
  }
};

DeviceTime TimeOf(const Side& side, int32_t op) {
  DeviceTime time{0, 1};
  if (side.OpAt(op).kernel_count == 0) return time;
  for (const int32_t below : Subtree(side, op)) {
    for (const uint32_t kernel : side.KernelsOf(below)) time.ns += side.kernels[kernel].dur_ns;
  }
  return time;
}

// The cells of a side; returns its time.
int64_t AddOperatorSide(const Side& side, int32_t op, std::vector<Cell>& cells) {
  if (op == kNone) {
    cells.insert(cells.end(), {Cell(), Cell(), Cell(), Cell(), Cell(0.0)});
    return 0;
  }
  const Op& shown = side.OpAt(op);
  std::string details;
  int64_t ns = 0;
  if (shown.kernel_count > 0) {
    for (const int32_t below : Subtree(side, op)) {
      for (const uint32_t place : side.KernelsOf(below)) {
        details += KernelLine(side, side.kernels[place]);
        ns += side.kernels[place].dur_ns;
      }
    }
  }
  cells.emplace_back(std::string(side.Name(shown.name)));
  cells.emplace_back(LinesOf(side, shown.shapes));
  cells.emplace_back(LinesOf(side, shown.types));
  cells.emplace_back(std::move(details));
  cells.emplace_back(Us(ns));
  return ns;
}

}  // namespace

std::string KernelLine(const Side& side, const Kernel& kernel) {
  const std::string duration = Concat(" [duration: ", NumberText(Us(kernel.dur_ns)), "]\n");
  if (!side.IsNpu()) return Concat(side.Name(kernel.name), duration);
  const std::string_view type =
      side.Name(side.kind == SideKind::kNpuDb ? kernel.core : kernel.task_type);
  const std::string number = kernel.number == kNone ? "None" : std::to_string(kernel.number);
  std::string shapes(side.Name(kernel.shapes));
  // Tables of kernels name what has no inputs, those of a database at every level; other work is
  // not in them.
  if (!shapes.empty()) {
    shapes = Concat(", [input shapes: \"", shapes, "\"]");
  } else if (kernel.core != kNone && (side.has_kernel_shapes || side.kind == SideKind::kNpuDb)) {
    shapes = ", [input shapes: N/A]";
  }
  return Concat(side.Name(kernel.name), ", ", number, ", ", type.empty() ? "None" : type, shapes,
                duration);
}

Sheet OperatorStatisticSheet(const Side& base, const Side& comparison,
                             std::span<const OpPair> pairs) {
  Sheet sheet{.info = &kOperatorStatistic, .rows = {}};
  for (const auto& [name, sums] : SumByName<DeviceTime>(base, comparison, pairs, TimeOf).rows) {
    const Difference difference = DifferenceOf(Ms(sums.first.ns), Ms(sums.second.ns));
    sheet.rows.push_back({{Cell(), Cell(std::string(name)), Cell(Ms(sums.first.ns)),
                           Cell(sums.first.count), Cell(Ms(sums.second.ns)),
                           Cell(sums.second.count), Cell(difference.diff), Cell(difference.ratio)},
                          Fill::kPlainFill});
  }
  SortByDifference(sheet);
  return sheet;
}

Sheet OperatorSheet(const Side& base, const Side& comparison, std::span<const OpPair> pairs) {
  Sheet sheet{.info = &kOperatorInfo, .rows = {}};
  sheet.rows.reserve(pairs.size());
  for (const auto& [op, other] : pairs) {
    Row& row = sheet.rows.emplace_back();
    row.cells.reserve(kOperatorInfo.columns.size());
    row.cells.emplace_back();
    const int64_t ns = AddOperatorSide(base, op, row.cells);
    const int64_t other_ns = AddOperatorSide(comparison, other, row.cells);
    const Difference difference = DifferenceOf(Us(ns), Us(other_ns));
    row.cells.emplace_back(difference.diff);
    row.cells.emplace_back(difference.ratio);
  }
  NumberRows(sheet);
  return sheet;
}

}  // namespace sonde::compare
