#include "cluster/output/chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "base/strings.h"
#include "cluster/frame/facts.h"

namespace sonde::cluster {
namespace {

using base::Concat;

constexpr size_t kMostChartRows = 24;
constexpr int kLabelWidth = 320;
constexpr int kWidth = 960;
constexpr int kRowHeight = 22;

std::optional<size_t> Find(const Table& table, std::string_view column) {
  const auto& columns = table.info().result.columns;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].name == column) return i;
  }
  return std::nullopt;
}

double NumberAt(const Table& table, size_t row, size_t column) {
  const Cell& cell = table.At(row, column);
  if (const auto* integer = std::get_if<int64_t>(&cell)) return static_cast<double>(*integer);
  const auto* real = std::get_if<double>(&cell);
  return real != nullptr ? *real : 0;
}

std::string TextAt(const Table& table, size_t row, size_t column) {
  const Cell& cell = table.At(row, column);
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  const auto* integer = std::get_if<int64_t>(&cell);
  return integer != nullptr ? std::to_string(*integer) : "";
}

// Label that distinguishes the row from the others.
std::string Label(const Table& table, size_t row) {
  constexpr size_t kMostBytes = 48;
  std::vector<std::string> parts;
  for (size_t i = 0; i < table.columns(); ++i) {
    const store::ResultColumnInfo& column = table.info().result.columns[i];
    if (column.role.role != "key") continue;
    const std::string text = TextAt(table, row, i);
    if (!text.empty()) parts.push_back(column.name == "rank" ? Concat("rank ", text) : text);
  }
  std::string label = base::Join(parts, ", ");
  if (label.size() <= kMostBytes) return label;
  size_t end = kMostBytes;
  while (end > 0 && (static_cast<unsigned char>(label[end]) & 0xC0U) == 0x80U) --end;
  return Concat(label.substr(0, end), "...");
}

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

std::string Boxes(const Table& table, size_t rows) {
  constexpr std::array<std::string_view, 5> kNames = {"min_ns", "q1_ns", "median_ns", "q3_ns",
                                                      "max_ns"};
  std::array<size_t, kNames.size()> at{};
  for (size_t i = 0; i < kNames.size(); ++i) {
    const auto found = Find(table, kNames[i]);
    if (!found) return {};
    at[i] = *found;
  }
  double most = 0;
  for (size_t row = 0; row < rows; ++row) most = std::max(most, NumberAt(table, row, at[4]));
  Drawing drawing(most, "ns", rows);
  for (size_t row = 0; row < rows; ++row) {
    std::array<double, kNames.size()> v{};
    std::string title;
    for (size_t i = 0; i < v.size(); ++i) {
      v[i] = NumberAt(table, row, at[i]);
      title += Concat(title.empty() ? "" : ", ", kNames[i].substr(0, kNames[i].size() - 3), " ",
                      Drawing::Shown(v[i], "ns"));
    }
    drawing.Label(row, Label(table, row));
    drawing.Line(row, v[0], v[4]);
    drawing.Bar(row, v[1], v[3], "box", title);
    drawing.Bar(row, v[2], v[2], "median", title);
  }
  return drawing.Take();
}

std::string Bars(const Table& table, size_t rows) {
  std::optional<size_t> measure;
  const auto& columns = table.info().result.columns;
  for (size_t i = 0; i < columns.size() && !measure; ++i) {
    const bool is_number = columns[i].type != store::ResultType::kText &&
                           columns[i].type != store::ResultType::kOptText;
    if (columns[i].role.role == "measure" && is_number) measure = i;
  }
  if (!measure) return {};
  double most = 0;
  for (size_t row = 0; row < rows; ++row) most = std::max(most, NumberAt(table, row, *measure));
  const std::string_view unit = columns[*measure].unit;
  Drawing drawing(most, unit, rows);
  for (size_t row = 0; row < rows; ++row) {
    const double value = NumberAt(table, row, *measure);
    drawing.Label(row, Label(table, row));
    drawing.Bar(row, 0, value, "box",
                Concat(columns[*measure].name, " ", Drawing::Shown(value, unit)));
  }
  return drawing.Take();
}

}  // namespace

std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string ChartSvg(const Table& table) {
  const size_t rows = std::min(table.rows(), kMostChartRows);
  if (rows == 0) return {};
  std::string boxes = Boxes(table, rows);
  return boxes.empty() ? Bars(table, rows) : boxes;
}

}  // namespace sonde::cluster
