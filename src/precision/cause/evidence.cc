#include "precision/cause/evidence.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "base/strings.h"
#include "precision/output/result_table.h"

namespace sonde::precision {
namespace {

using base::Concat;

constexpr std::array<std::string_view, kStatisticCount> kStatisticNames = {"Max", "Min", "Mean",
                                                                           "Norm"};

double StatisticOf(const DumpRow& row, Statistic which) {
  return row.stats[which].IsNumber() ? row.stats[which].AsDouble() : std::nan("");
}

}  // namespace

std::string ShortNumber(double value) {
  std::array<char, 32> text = {};
  std::snprintf(text.data(), text.size(), "%.6g", value);
  return text.data();
}

std::string ValueText(const DumpRow* row, Mode mode) {
  if (row == nullptr) return "N/A";
  if (row->kind == LeafKind::kNone) return "None";
  if (row->kind != LeafKind::kTensor) return row->stats[kMax].PythonText();
  std::string out = Concat(row->shape, " ", row->dtype);
  if (mode == Mode::kMd5 && !row->md5.empty()) return Concat(out, "  md5 ", row->md5);
  for (size_t i = 0; i < kStatisticCount; ++i) {
    std::string text;
    AppendStatistic(row->stats[i], &text);
    out += Concat("  ", kStatisticNames[i], " ", base::Trim(text));
  }
  return out;
}

double FactorBetween(const DumpRow& target, const DumpRow& golden) {
  const Operand ours = OperandOf(target);
  const Operand theirs = OperandOf(golden);
  if (!ours.is_finite || !theirs.is_finite || ours.norm == 0 || theirs.norm == 0) return 1;
  // Of one number, or of many that are the same, every other value is a multiple.
  if (StatisticOf(golden, kMax) == StatisticOf(golden, kMin)) return 1;
  const double factor = ours.norm / theirs.norm;
  const double rounding = std::max(1e-5, 2 * ours.unit);
  for (const Statistic which : {kMax, kMin, kMean}) {
    const double apart = StatisticOf(target, which) - StatisticOf(golden, which) * factor;
    if (std::fabs(apart) > rounding * theirs.max_abs * factor) return 1;
  }
  return std::fabs(factor - 1) > rounding ? factor : 1;
}

std::string ChangeText(const DumpRow& target, const DumpRow& golden) {
  const Operand ours = OperandOf(target);
  const Operand theirs = OperandOf(golden);
  if (!ours.has_numbers || !theirs.has_numbers) return "the checksums differ";
  if (ours.has_nan && !theirs.has_nan) return "it holds NaN in the target";
  if (theirs.has_nan && !ours.has_nan) return "it holds NaN in the golden run";
  if (ours.has_infinity != theirs.has_infinity) return "one of them holds an infinity";
  if (ours.norm == 0) return "all zeros in the target";
  if (theirs.norm == 0) return "all zeros in the golden run";
  const double factor = ours.norm / theirs.norm;
  bool scaled = factor != 1;
  for (const Statistic which : {kMax, kMin, kMean}) {
    const double a = StatisticOf(target, which);
    const double b = StatisticOf(golden, which) * factor;
    scaled = scaled && std::fabs(a - b) <= 1e-5 * theirs.max_abs * std::fabs(factor);
  }
  if (scaled && ShortNumber(factor) != "1")
    return Concat(ShortNumber(factor), " times as large as in the golden run");
  const double shift = ours.mean - theirs.mean;
  if (std::fabs(StatisticOf(target, kMax) - StatisticOf(golden, kMax) - shift) <=
          1e-5 * theirs.max_abs &&
      std::fabs(StatisticOf(target, kMin) - StatisticOf(golden, kMin) - shift) <=
          1e-5 * theirs.max_abs &&
      shift != 0) {
    return Concat("shifted by ", ShortNumber(shift));
  }
  const bool ends = SameText(target.stats[kMax], golden.stats[kMax]) &&
                    SameText(target.stats[kMin], golden.stats[kMin]);
  return ends ? "largest and smallest element are equal, others differ" : "other values";
}

std::string NotFiniteText(const DumpRow& target, const DumpRow& golden, bool mask) {
  const Operand ours = OperandOf(target);
  const Operand theirs = OperandOf(golden);
  const bool in_target = (ours.has_nan && !theirs.has_nan) ||
                         (ours.has_infinity && !theirs.has_infinity && !theirs.has_nan);
  const std::string_view side = in_target ? "the target" : "the golden run";
  const bool nan = in_target ? ours.has_nan : theirs.has_nan;
  std::string out = Concat(nan ? "NaN" : "an infinity", " first appears here in ", side,
                           ": the inputs of the call are equal in both runs");
  if (mask) out += " (infinities in them are a mask of both runs)";
  return out;
}

}  // namespace sonde::precision
