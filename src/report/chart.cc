#include "report/chart.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/host/fixed.h"
#include "base/strings.h"
#include "report/html.h"

namespace sonde::report {
namespace {

using base::Concat;
using base::Fixed;

constexpr int kLabelWidth = 320;
constexpr int kWidth = 960;
constexpr int kRowHeight = 22;

class Drawing {
 public:
  Drawing(double most, std::string_view unit, size_t rows)
      : most_(most), height_(static_cast<int>(rows) * kRowHeight + 30) {
    svg_ = Concat("<svg role=\"img\" viewBox=\"0 0 ", std::to_string(kWidth), " ",
                  std::to_string(height_), "\">");
    for (int tick = 0; tick <= 4; ++tick) {
      const double value = most * tick / 4;
      const std::string x = Fixed(X(value), 1);
      svg_ += Concat("<line class=\"grid\" x1=\"", x, "\" x2=\"", x, "\" y1=\"0\" y2=\"",
                     std::to_string(height_ - 22), "\"/><text class=\"tick\" x=\"", x, "\" y=\"",
                     std::to_string(height_ - 6), "\">", Escaped(Shown(value, unit)), "</text>");
    }
  }

  void Label(size_t row, const std::string& label) {
    svg_ += Concat("<text class=\"label\" x=\"", std::to_string(kLabelWidth - 8), "\" y=\"",
                   Fixed(Y(row) + 15, 1), "\">", Escaped(label), "</text>");
  }
  void Bar(size_t row, double from, double to, std::string_view css, const std::string& title) {
    svg_ += Concat("<rect class=\"", css, "\" x=\"", Fixed(X(from), 1), "\" y=\"",
                   Fixed(Y(row) + 4, 1), "\" width=\"", Fixed(std::max(1.0, X(to) - X(from)), 1),
                   "\" height=\"14\"><title>", Escaped(title), "</title></rect>");
  }
  // Behind the end of a bar.
  void Value(size_t row, double to, const std::string& text) {
    svg_ += Concat("<text class=\"value\" x=\"", Fixed(X(to) + 6, 1), "\" y=\"",
                   Fixed(Y(row) + 15, 1), "\">", Escaped(text), "</text>");
  }
  void Line(size_t row, double from, double to) {
    svg_ += Concat("<line class=\"whisker\" x1=\"", Fixed(X(from), 1), "\" x2=\"", Fixed(X(to), 1),
                   "\" y1=\"", Fixed(Y(row) + 11, 1), "\" y2=\"", Fixed(Y(row) + 11, 1), "\"/>");
  }
  static std::string Shown(double value, std::string_view unit) {
    if (unit == "ns") return base::FormatDuration(static_cast<int64_t>(value));
    return Concat(Fixed(value, value == std::floor(value) ? 0 : 2), unit.empty() ? "" : " ", unit);
  }
  std::string Take() { return svg_ + "</svg>"; }

 private:
  double X(double value) const {
    const double share = most_ > 0 ? std::clamp(value / most_, 0.0, 1.0) : 0;
    return kLabelWidth + share * (kWidth - kLabelWidth - 60);
  }
  static double Y(size_t row) { return static_cast<double>(row) * kRowHeight; }

  double most_;
  int height_;
  std::string svg_;
};

double Greatest(const std::vector<ChartRow>& rows, size_t value) {
  double most = 0;
  for (const ChartRow& row : rows) most = std::max(most, row.values[value]);
  return most;
}

}  // namespace

const std::string_view kChartStyle = R"(
svg { width: 100%; height: auto; margin: .5em 0; } svg text { font-size: 12px; }
.label { fill: var(--text); text-anchor: end; } .tick { fill: var(--soft); text-anchor: middle; }
.value { fill: var(--soft); }
.grid { stroke: var(--line); } .whisker { stroke: var(--soft); }
.box { fill: var(--fill); } .median { fill: var(--mark); }
)";

std::string BarChart(const std::vector<ChartRow>& rows, std::string_view name,
                     std::string_view unit) {
  Drawing drawing(Greatest(rows, 0), unit, rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const double value = rows[i].values[0];
    drawing.Label(i, rows[i].label);
    const std::string shown = Drawing::Shown(value, unit);
    drawing.Bar(i, 0, value, "box", Concat(name, " ", shown));
    drawing.Value(i, value, shown);
  }
  return drawing.Take();
}

std::string BoxChart(const std::vector<ChartRow>& rows, std::string_view unit) {
  constexpr std::array<std::string_view, 5> kNames = {"min", "q1", "median", "q3", "max"};
  Drawing drawing(Greatest(rows, 4), unit, rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto& v = rows[i].values;
    std::string title;
    for (size_t n = 0; n < v.size(); ++n) {
      title += Concat(n == 0 ? "" : ", ", kNames[n], " ", Drawing::Shown(v[n], unit));
    }
    drawing.Label(i, rows[i].label);
    drawing.Line(i, v[0], v[4]);
    drawing.Bar(i, v[1], v[3], "box", title);
    drawing.Bar(i, v[2], v[2], "median", title);
  }
  return drawing.Take();
}

}  // namespace sonde::report
