#include "cluster/output/chart.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "base/strings.h"
#include "report/chart.h"

namespace sonde::cluster {
namespace {

using base::Concat;

constexpr size_t kMostChartRows = 24;

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

using report::ChartRow;

std::string Boxes(const Table& table, size_t rows) {
  constexpr std::array<std::string_view, 5> kNames = {"min_ns", "q1_ns", "median_ns", "q3_ns",
                                                      "max_ns"};
  std::array<size_t, kNames.size()> at{};
  for (size_t i = 0; i < kNames.size(); ++i) {
    const auto found = Find(table, kNames[i]);
    if (!found) return {};
    at[i] = *found;
  }
  std::vector<ChartRow> shown(rows);
  for (size_t row = 0; row < rows; ++row) {
    shown[row].label = Label(table, row);
    for (size_t i = 0; i < at.size(); ++i) shown[row].values[i] = NumberAt(table, row, at[i]);
  }
  return report::BoxChart(shown, "ns");
}

std::string Bars(const Table& table, size_t rows) {
  for (size_t i = 0; i < table.columns(); ++i) {
    const store::ResultColumnInfo& column = table.info().result.columns[i];
    const bool is_text =
        column.type == store::ResultType::kText || column.type == store::ResultType::kOptText;
    if (column.role.role != "measure" || is_text) continue;
    std::vector<ChartRow> shown;
    for (size_t row = 0; row < rows; ++row) {
      shown.push_back({Label(table, row), {NumberAt(table, row, i)}});
    }
    return report::BarChart(shown, column.name, column.unit);
  }
  return {};
}

}  // namespace

std::string ChartSvg(const Table& table) {
  const size_t rows = std::min(table.rows(), kMostChartRows);
  if (rows == 0) return {};
  std::string boxes = Boxes(table, rows);
  return boxes.empty() ? Bars(table, rows) : boxes;
}

}  // namespace sonde::cluster
