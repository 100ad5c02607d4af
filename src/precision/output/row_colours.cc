#include "precision/output/row_colours.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace sonde::precision {
namespace {

using report::RowColour;

constexpr double kHugeDifference = 1e10;

std::optional<double> Number(const Cell& cell) {
  switch (cell.kind) {
    case Cell::Kind::kNumber:
      return std::isfinite(cell.value) ? std::optional<double>(cell.value) : std::nullopt;
    case Cell::Kind::kPercent:
      return cell.value / 100;
    case Cell::Kind::kSame:
      return 0;
    default:
      return std::nullopt;
  }
}

bool Overflows(const DumpRow& row) {
  return row.stats[kMax].IsNanOrInfinite() || row.stats[kMin].IsNanOrInfinite();
}

size_t MaxDifferenceCell(Mode mode) { return mode == Mode::kTensor ? size_t{kMaxAbsErr} : 0; }

RowColour OwnColour(const Comparison& comparison, const ComparedRow& row) {
  if (Overflows(*row.target)) return RowColour::kRed;
  if (row.golden == nullptr || comparison.mode == Mode::kMd5) return RowColour::kNone;
  const auto difference = Number(row.cells[MaxDifferenceCell(comparison.mode)]);
  if (difference && std::fabs(*difference) > kHugeDifference) return RowColour::kRed;
  if (comparison.mode == Mode::kStatistics && row.target->IsOutput()) {
    const auto relative = Number(row.cells[kStatisticCount]);
    if (relative && *relative > 0.5) return RowColour::kRed;
  }
  const bool grad_differs =
      !comparison.cross_framework && row.target->requires_grad != row.golden->requires_grad;
  return grad_differs ? RowColour::kYellow : RowColour::kNone;
}

// What an input implies for an output of the same call.
RowColour PairColour(Mode mode, const ComparedRow& input, const ComparedRow& output) {
  const size_t difference = MaxDifferenceCell(mode);
  const auto in = Number(input.cells[difference]);
  const auto out = Number(output.cells[difference]);
  RowColour colour = RowColour::kNone;
  if (in && out && std::fabs(*in) > 1 && std::fabs(*out) > 1 &&
      std::fabs(*out) >= 10 * std::fabs(*in)) {
    colour = RowColour::kYellow;
  }
  if (mode == Mode::kStatistics) {
    const auto in_relative = Number(input.cells[kStatisticCount]);
    const auto out_relative = Number(output.cells[kStatisticCount]);
    if (in_relative && out_relative && *out_relative > 0.1 && *in_relative < 0.01) {
      colour = RowColour::kYellow;
    }
    return colour;
  }
  const auto in_share = Number(input.cells[kOneThousandth]);
  const auto out_share = Number(output.cells[kOneThousandth]);
  if (in_share && out_share) {
    if (*in_share > 0.9 && *out_share < 0.6) return RowColour::kRed;
    if (*in_share - *out_share > 0.1) colour = RowColour::kYellow;
  }
  const auto in_cosine = Number(input.cells[kCosine]);
  const auto out_cosine = Number(output.cells[kCosine]);
  if (in_cosine && out_cosine && *in_cosine - *out_cosine > 0.1) colour = RowColour::kYellow;
  return colour;
}

}  // namespace

std::vector<RowColour> ColourRows(const Comparison& comparison) {
  std::vector<RowColour> colours(comparison.rows.size(), RowColour::kNone);
  for (const ComparedGroup& group : comparison.groups) {
    const size_t end = group.first_row + group.row_count;
    for (size_t o = group.first_row; o < end; ++o) {
      const ComparedRow& row = comparison.rows[o];
      colours[o] = OwnColour(comparison, row);
      if (!row.target->IsOutput() || comparison.mode == Mode::kMd5) continue;
      for (size_t i = group.first_row; i < end && colours[o] != RowColour::kRed; ++i) {
        if (comparison.rows[i].target->IsOutput()) continue;
        colours[o] = std::max(colours[o], PairColour(comparison.mode, comparison.rows[i], row));
      }
    }
  }
  return colours;
}

}  // namespace sonde::precision
