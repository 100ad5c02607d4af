#include <algorithm>
#include <cmath>

#include "base/count_of.h"
#include "base/strings.h"
#include "compare/output/write.h"
#include "report/styled_sheets.h"

namespace sonde::compare {
namespace {

using base::Concat;
using report::XlsxCell;
using report::XlsxStyle;

constexpr uint32_t kGreen = 0x00FF00;
constexpr uint32_t kYellow = 0xFFFF00;
constexpr uint32_t kRed = 0xFF0000;
constexpr uint32_t kBlue = 0x00BFFF;
constexpr uint32_t kLightBlue = 0x87CEFA;
constexpr size_t kHeadingRow = 2;
constexpr size_t kMaxRows = 1'048'576 - kHeadingRow - 1;

uint32_t ColourOf(Fill fill) {
  if (fill == Fill::kBlue) return kBlue;
  return fill == Fill::kLightBlue ? kLightBlue : 0;
}

std::string_view NumberFormat(Format format) {
  switch (format) {
    case Format::kPlain:
      return "#,##0";
    case Format::kFloat:
      return "#,##0.00";
    case Format::kRatio:
      return "0.00%";
    case Format::kBold:
      return "";
  }
  return "";
}

XlsxCell CellOf(const Column& column, const Cell& cell, Fill fill, bool is_first) {
  XlsxCell out;
  out.style = {.number_format = NumberFormat(column.format),
               .fill = ColourOf(fill),
               .is_bold = column.format == Format::kBold,
               .indent = 0};
  if (const auto* integer = std::get_if<int64_t>(&cell)) out.value = *integer;
  if (const auto* text = std::get_if<std::string>(&cell)) {
    out.value = *text;
    if (is_first) {
      out.style.indent = static_cast<int>(std::count(text->begin(), text->end(), '\t'));
    }
  }
  if (const auto* real = std::get_if<double>(&cell)) {
    if (column.warns && *real > 1) out.style = {"0.00%", kRed, false, 0};
    if (std::isinf(*real)) {
      out.value = std::string("INF");
    } else {
      out.value = *real;
    }
  }
  return out;
}

report::XlsxMerge MergeOf(const SheetInfo& info, Of of, const std::string& text) {
  report::XlsxMerge merge{.row = 0,
                          .first = info.columns.size(),
                          .last = 0,
                          .text = text,
                          .style = {"", of == Of::kBase ? kGreen : kYellow, true, 0}};
  for (size_t i = 0; i < info.columns.size(); ++i) {
    if (info.columns[i].of != of) continue;
    merge.first = std::min(merge.first, i);
    merge.last = i;
  }
  return merge;
}

report::StyledSheet StyledOf(const Report& report, const Sheet& sheet) {
  const SheetInfo& info = *sheet.info;
  report::StyledSheet out;
  out.name = std::string(info.name);
  out.first_row = kHeadingRow;
  out.merges = {
      MergeOf(info, Of::kBase, Concat("Base Profiling: ", report.base_path)),
      MergeOf(info, Of::kComparison, Concat("Comparison Profiling: ", report.comparison_path))};
  auto& headings = out.rows.emplace_back();
  for (const Column& column : info.columns) {
    out.widths.push_back(column.width);
    headings.push_back({std::string(column.heading),
                        {"", column.of == Of::kComparison ? kYellow : kGreen, true, 0}});
  }
  for (const Row& row : sheet.rows) {
    auto& cells = out.rows.emplace_back();
    for (size_t i = 0; i < row.cells.size(); ++i) {
      cells.push_back(CellOf(info.columns[i], row.cells[i], row.fill, i == 0));
    }
  }
  return out;
}

}  // namespace

Status WriteWorkbook(const Report& report, const std::string& path) {
  std::vector<report::StyledSheet> sheets;
  for (const Sheet& sheet : report.sheets) {
    if (sheet.rows.size() > kMaxRows) {
      return base::OutOfRangeError(Concat("the sheet ", sheet.info->name, " has ",
                                          base::CountOf(sheet.rows.size(), "row"),
                                          ", more than a workbook holds: use "
                                          "--export_type db or csv"));
    }
    sheets.push_back(StyledOf(report, sheet));
  }
  return report::WriteStyledSheets(sheets, path);
}

}  // namespace sonde::compare
