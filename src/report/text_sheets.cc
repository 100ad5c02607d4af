#include "report/text_sheets.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/files.h"
#include "base/strings.h"
#include "report/cell_text.h"
#include "report/workbook.h"

namespace sonde::report {
namespace {

using base::Concat;

constexpr lxw_color_t kRed = 0xFF0000;
constexpr lxw_color_t kYellow = 0xFFFF00;

// A number that Excel should see as one: everything that Python's int() or float() writes, without
// percent signs, words and leading blanks.
bool IsPlainNumber(std::string_view text, double* number) {
  if (text.empty() || text.size() > 25) return false;
  const char first = text[0];
  if (first != '-' && (first < '0' || first > '9')) return false;
  const auto value = base::ParseDouble(text);
  if (!value || !std::isfinite(*value)) return false;
  *number = *value;
  return true;
}

// Names, dtypes, shapes and checksums stay texts even where they look like numbers.
bool MayBeNumber(const std::string& column) {
  return !column.ends_with("Name") && !column.ends_with("MD5") && !column.ends_with("Dtype");
}

class SheetWriter {
 public:
  SheetWriter(const RowSource& table, Workbook* book) : table_(table) {
    fills_[static_cast<size_t>(RowColour::kYellow)] = book->AddFill(kYellow);
    fills_[static_cast<size_t>(RowColour::kRed)] = book->AddFill(kRed);
    for (const std::string& column : table.columns()) numeric_.push_back(MayBeNumber(column));
  }

  void Header(lxw_worksheet* sheet) const {
    for (size_t c = 0; c < table_.columns().size(); ++c) {
      worksheet_write_string(sheet, 0, static_cast<lxw_col_t>(c), table_.columns()[c].c_str(),
                             nullptr);
    }
  }

  void Row(lxw_worksheet* sheet, size_t sheet_row, size_t row, RowColour colour) {
    table_.Fill(row, &cells_);
    lxw_format* const fill = fills_[static_cast<size_t>(colour)];
    const auto at = static_cast<lxw_row_t>(sheet_row);
    for (size_t c = 0; c < cells_.size(); ++c) {
      const auto column = static_cast<lxw_col_t>(c);
      double number = 0;
      if (numeric_[c] && IsPlainNumber(cells_.cell(c), &number)) {
        worksheet_write_number(sheet, at, column, number, fill);
        continue;
      }
      text_ = CellText(cells_.cell(c));
      worksheet_write_string(sheet, at, column, text_.c_str(), fill);
    }
  }

 private:
  const RowSource& table_;
  lxw_format* fills_[3] = {};
  std::vector<bool> numeric_;
  RowText cells_;
  std::string text_;
};

}  // namespace

Status WriteXlsx(const RowSource& table, const std::string& path, size_t max_rows) {
  // libxlsxwriter would report a missing folder only when it closes.
  SONDE_RETURN_IF_ERROR(base::CheckWritableDirectory(std::string(base::DirName(path))));
  const std::vector<RowColour> colours = table.Colours();
  Workbook book(path);
  SONDE_RETURN_IF_ERROR(book.made());
  SheetWriter writer(table, &book);
  const bool split = table.row_count() > max_rows;
  size_t begin = 0;
  int part = 0;
  do {
    const size_t end = std::min(begin + max_rows, table.row_count());
    lxw_worksheet* const sheet =
        book.AddSheet(split ? Concat("part_", std::to_string(++part)) : std::string("Sheet1"));
    writer.Header(sheet);
    for (size_t row = begin; row < end; ++row) {
      writer.Row(sheet, row - begin + 1, row, colours[row]);
    }
    begin = end;
  } while (begin < table.row_count());
  return book.Close();
}

namespace {

// Longer integers, moments in nanoseconds among them, a double does not hold.
constexpr size_t kExactDigits = 15;

struct CellLook {
  bool may_be_number = false;
  lxw_format* format = nullptr;
};

void WriteCell(lxw_worksheet* out, size_t row, size_t column, const std::string& text,
               const CellLook& look) {
  const std::string cell = CellText(text);
  const auto at = static_cast<lxw_row_t>(row);
  const auto in = static_cast<lxw_col_t>(column);
  double number = 0;
  const bool is_exact =
      cell.size() <= kExactDigits || cell.find_first_of(".eE") != std::string::npos;
  if (look.may_be_number && is_exact && IsPlainNumber(cell, &number)) {
    worksheet_write_number(out, at, in, number, look.format);
  } else if (cell.empty() && look.format != nullptr) {
    worksheet_write_blank(out, at, in, look.format);
  } else {
    worksheet_write_string(out, at, in, cell.c_str(), look.format);
  }
}

void WritePlain(const XlsxSheet& sheet, lxw_worksheet* out) {
  for (size_t r = 0; r < sheet.rows.size(); ++r) {
    for (size_t c = 0; c < sheet.rows[r].size(); ++c) {
      WriteCell(out, r, c, sheet.rows[r][c], {.may_be_number = r > 0 && c > 0});
    }
  }
}

// Equal neighbours of a column; what the library merges it writes again.
void MergeColumn(const XlsxSheet& sheet, size_t column, lxw_format* format, lxw_worksheet* out) {
  for (size_t begin = 1; begin < sheet.rows.size();) {
    const std::string& text = sheet.rows[begin][column];
    size_t end = begin + 1;
    while (end < sheet.rows.size() && sheet.rows[end][column] == text) ++end;
    if (end > begin + 1) {
      worksheet_merge_range(out, static_cast<lxw_row_t>(begin), static_cast<lxw_col_t>(column),
                            static_cast<lxw_row_t>(end - 1), static_cast<lxw_col_t>(column),
                            CellText(text).c_str(), format);
    }
    begin = end;
  }
}

void WriteFramed(const XlsxSheet& sheet, Workbook& book, lxw_worksheet* out) {
  const XlsxFrame& frame = *sheet.frame;
  lxw_format* const header = book.AddFrame(true);
  lxw_format* const body = book.AddFrame(false);
  for (size_t r = 0; r < sheet.rows.size(); ++r) {
    for (size_t c = 0; c < sheet.rows[r].size(); ++c) {
      WriteCell(out, r, c, sheet.rows[r][c],
                {.may_be_number = r > 0, .format = r == 0 ? header : body});
    }
  }
  for (const size_t column : frame.merged) MergeColumn(sheet, column, body, out);
  for (size_t c = 0; c < frame.widths.size(); ++c) {
    const auto column = static_cast<lxw_col_t>(c);
    worksheet_set_column(out, column, column, frame.widths[c], nullptr);
  }
  if (frame.header_height > 0) worksheet_set_row(out, 0, frame.header_height, nullptr);
}

}  // namespace

Status WriteXlsxSheets(const std::vector<XlsxSheet>& sheets, const std::string& path) {
  SONDE_RETURN_IF_ERROR(base::CheckWritableDirectory(std::string(base::DirName(path))));
  const bool is_framed = std::any_of(
      sheets.begin(), sheets.end(), [](const XlsxSheet& sheet) { return sheet.frame.has_value(); });
  Workbook book(path, is_framed);
  SONDE_RETURN_IF_ERROR(book.made());
  for (const XlsxSheet& sheet : sheets) {
    lxw_worksheet* const out = book.AddSheet(sheet.name);
    sheet.frame ? WriteFramed(sheet, book, out) : WritePlain(sheet, out);
  }
  return book.Close();
}

}  // namespace sonde::report
