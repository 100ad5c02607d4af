#include "compare/frame/sheet.h"

#include <charconv>
#include <cmath>

#include "base/strings.h"

namespace sonde::compare {

double Round(double value, int digits) {
  if (!std::isfinite(value)) return value;
  constexpr size_t kLongest = 400;  // of any double
  char text[kLongest];
  const auto written =
      std::to_chars(text, text + kLongest, value, std::chars_format::fixed, digits);
  double rounded = value;
  std::from_chars(text, written.ptr, rounded);
  return rounded;
}

Difference DifferenceOf(double base, double comparison) {
  constexpr int kDiffDigits = 2;
  constexpr int kRatioDigits = 4;
  Difference difference{.diff = Round(comparison - base, kDiffDigits), .ratio = 1};
  if (base != 0) {
    difference.ratio = Round(comparison / base, kRatioDigits);
  } else if (comparison != 0) {
    difference.ratio = kInfinite;
  }
  return difference;
}

std::string NumberText(double value) { return base::PythonDoubleText(value); }

std::string FullName(const Column& column) {
  const std::string_view prefix = column.of == Of::kBase         ? "base_"
                                  : column.of == Of::kComparison ? "comparison_"
                                                                 : "";
  return base::Concat(prefix, column.name);
}

void NumberRows(Sheet& sheet) {
  for (size_t i = 0; i < sheet.rows.size(); ++i) {
    sheet.rows[i].cells[0] = static_cast<int64_t>(i + 1);
  }
}

}  // namespace sonde::compare
