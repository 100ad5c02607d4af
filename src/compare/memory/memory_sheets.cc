#include "compare/memory/memory_sheets.h"

#include "base/strings.h"
#include "compare/frame/by_name.h"

namespace sonde::compare {
namespace {

using base::Concat;

constexpr double kKilobyte = 1024;

constexpr Column kMemoryStatisticColumns[] = {
    {"Top", "top", Format::kPlain, 10},
    {"Operator Name", "operator", Format::kBold, 30},
    {"Base Allocated Duration(ms)", "allocated_ms", Format::kFloat, 25, Of::kBase},
    {"Base Allocated Memory(MB)", "allocated_mb", Format::kFloat, 30, Of::kBase},
    {"Base Operator Number", "number", Format::kPlain, 25, Of::kBase},
    {"Comparison Allocated Duration(ms)", "allocated_ms", Format::kFloat, 27, Of::kComparison},
    {"Comparison Allocated Memory(MB)", "allocated_mb", Format::kFloat, 33, Of::kComparison},
    {"Comparison Operator Number", "number", Format::kPlain, 25, Of::kComparison},
    {"Diff Memory(MB)", "diff_mb", Format::kFloat, 20},
    {"Diff Ratio", "diff_ratio", Format::kRatio, 20, Of::kBoth, true}};
constexpr SheetInfo kMemoryStatistic = {"MemoryCompareStatistic",
                                        "operators of one name, with all that they call",
                                        kMemoryStatisticColumns};

#define SONDE_MEMORY_SIDE(of)                                               \
  {"Operator Name", "operator", Format::kBold, 30, of},                     \
      {"Input Shape", "input_shape", Format::kPlain, 20, of},               \
      {"Input Type", "input_type", Format::kPlain, 20, of},                 \
      {"Allocated Details", "allocated_details", Format::kPlain, 20, of}, { \
    "Size(KB)", "size_kb", Format::kFloat, 20, of                           \
  }
constexpr Column kMemoryColumns[] = {
    {"Order Id", "order_id", Format::kPlain, 10},
    SONDE_MEMORY_SIDE(Of::kBase),
    SONDE_MEMORY_SIDE(Of::kComparison),
    {"Diff Size(KB)", "diff_kb", Format::kFloat, 20},
    {"Diff Ratio", "diff_ratio", Format::kRatio, 20, Of::kBoth, true}};
#undef SONDE_MEMORY_SIDE
constexpr SheetInfo kMemoryInfo = {"MemoryCompare", "an operator of each side", kMemoryColumns};

int64_t LifeNs(const MemoryBlock& block) {
  return block.free_ns == kNone ? 0 : block.free_ns - block.alloc_ns;
}

struct Allocated {
  int64_t life_ns = 0;
  int64_t bytes = 0;
  int64_t count = 0;
  double Mb() const { return static_cast<double>(bytes) / (kKilobyte * kKilobyte); }
  Allocated& operator+=(const Allocated& other) {
    life_ns += other.life_ns;
    bytes += other.bytes;
    count += other.count;
    return *this;
  }
};

Allocated AllocatedBy(const Side& side, int32_t op) {
  Allocated sum{0, 0, 1};
  for (const int32_t below : Subtree(side, op)) {
    for (const uint32_t place : side.BlocksOf(below)) {
      sum.life_ns += LifeNs(side.blocks[place]);
      sum.bytes += side.blocks[place].size_bytes;
    }
  }
  return sum;
}

std::string BlockLine(const Side& side, const MemoryBlock& block) {
  const int32_t name = block.owner != kNone ? block.owner : side.OpAt(block.op).name;
  const std::string_view never = side.IsNpu() ? "0" : "None";
  return Concat(side.Name(name), ", (", base::NsToMicrosecondText(block.alloc_ns), ", ",
                block.free_ns == kNone ? never : base::NsToMicrosecondText(block.free_ns),
                "), [duration: ", NumberText(Us(LifeNs(block))),
                "], [size: ", NumberText(static_cast<double>(block.size_bytes) / kKilobyte), "]\n");
}

// The cells of a side; returns its size in KB.
double AddMemorySide(const Side& side, int32_t op, std::vector<Cell>& cells) {
  if (op == kNone) {
    cells.insert(cells.end(), {Cell(), Cell(), Cell(), Cell(), Cell(0.0)});
    return 0;
  }
  std::string details;
  int64_t bytes = 0;
  for (const int32_t below : Subtree(side, op)) {
    for (const uint32_t place : side.BlocksOf(below)) {
      details += BlockLine(side, side.blocks[place]);
      bytes += side.blocks[place].size_bytes;
    }
  }
  const Op& shown = side.OpAt(op);
  const double kb = static_cast<double>(bytes) / kKilobyte;
  cells.insert(cells.end(),
               {Cell(std::string(side.Name(shown.name))), Cell(LinesOf(side, shown.shapes)),
                Cell(LinesOf(side, shown.types)), Cell(std::move(details)), Cell(kb)});
  return kb;
}

}  // namespace

Sheet MemoryStatisticSheet(const Side& base, const Side& comparison,
                           std::span<const OpPair> pairs) {
  Sheet sheet{.info = &kMemoryStatistic, .rows = {}};
  for (const auto& [name, sums] : SumByName<Allocated>(base, comparison, pairs, AllocatedBy).rows) {
    Row& row = sheet.rows.emplace_back();
    row.cells = {Cell(), Cell(std::string(name))};
    for (const Allocated* sum : {&sums.first, &sums.second}) {
      row.cells.insert(row.cells.end(),
                       {Cell(Ms(sum->life_ns)), Cell(sum->Mb()), Cell(sum->count)});
    }
    const Difference difference = DifferenceOf(sums.first.Mb(), sums.second.Mb());
    row.cells.insert(row.cells.end(), {Cell(difference.diff), Cell(difference.ratio)});
  }
  SortByDifference(sheet);
  return sheet;
}

Sheet MemorySheet(const Side& base, const Side& comparison, std::span<const OpPair> pairs) {
  Sheet sheet{.info = &kMemoryInfo, .rows = {}};
  for (const auto& [op, other] : pairs) {
    Row& row = sheet.rows.emplace_back();
    row.cells.emplace_back();
    const double kb = AddMemorySide(base, op, row.cells);
    const double other_kb = AddMemorySide(comparison, other, row.cells);
    const Difference difference = DifferenceOf(kb, other_kb);
    row.cells.insert(row.cells.end(), {Cell(difference.diff), Cell(difference.ratio)});
  }
  NumberRows(sheet);
  return sheet;
}

}  // namespace sonde::compare
