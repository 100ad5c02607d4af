#include "report/styled_sheets.h"

#include <map>

#include "report/cell_text.h"
#include "report/workbook.h"

namespace sonde::report {
namespace {

constexpr double kFontSize = 11;

class SheetsWriter {
 public:
  explicit SheetsWriter(Workbook* book) : book_(book) {}

  void Write(const StyledSheet& sheet) {
    out_ = book_->AddSheet(sheet.name);
    for (size_t i = 0; i < sheet.widths.size(); ++i) {
      const auto column = static_cast<lxw_col_t>(i);
      worksheet_set_column(out_, column, column, sheet.widths[i], nullptr);
    }
    for (const XlsxMerge& merge : sheet.merges) {
      const auto row = static_cast<lxw_row_t>(merge.row);
      worksheet_merge_range(out_, row, static_cast<lxw_col_t>(merge.first), row,
                            static_cast<lxw_col_t>(merge.last), Short(merge.text),
                            FormatOf(merge.style));
    }
    for (size_t i = 0; i < sheet.rows.size(); ++i) {
      for (size_t j = 0; j < sheet.rows[i].size(); ++j) {
        WriteCell(static_cast<lxw_row_t>(sheet.first_row + i), static_cast<lxw_col_t>(j),
                  sheet.rows[i][j]);
      }
    }
  }

 private:
  const char* Short(const std::string& text) {
    text_ = CellText(text);
    return text_.c_str();
  }

  void WriteCell(lxw_row_t row, lxw_col_t column, const XlsxCell& cell) {
    lxw_format* const format = FormatOf(cell.style);
    if (const auto* integer = std::get_if<int64_t>(&cell.value)) {
      worksheet_write_number(out_, row, column, static_cast<double>(*integer), format);
    } else if (const auto* real = std::get_if<double>(&cell.value)) {
      worksheet_write_number(out_, row, column, *real, format);
    } else if (const auto* text = std::get_if<std::string>(&cell.value); text && !text->empty()) {
      worksheet_write_string(out_, row, column, Short(*text), format);
    } else {
      worksheet_write_blank(out_, row, column, format);
    }
  }

  lxw_format* FormatOf(const XlsxStyle& style) {
    lxw_format*& format = formats_[style];
    if (format != nullptr) return format;
    format = book_->AddFormat();
    format_set_font_name(format, "Arial");
    format_set_font_size(format, kFontSize);
    format_set_align(format, LXW_ALIGN_LEFT);
    format_set_align(format, style.is_wrapped ? LXW_ALIGN_VERTICAL_TOP : LXW_ALIGN_VERTICAL_CENTER);
    if (style.is_wrapped) format_set_text_wrap(format);
    if (style.is_white) format_set_font_color(format, LXW_COLOR_WHITE);
    format_set_border(format, LXW_BORDER_THIN);
    if (!style.number_format.empty()) {
      format_set_num_format(format, std::string(style.number_format).c_str());
    }
    if (style.fill != 0) {
      format_set_pattern(format, LXW_PATTERN_SOLID);
      format_set_fg_color(format, style.fill);
    }
    if (style.is_bold) format_set_bold(format);
    if (style.indent > 0) format_set_indent(format, static_cast<uint8_t>(style.indent));
    return format;
  }

  Workbook* book_;
  lxw_worksheet* out_ = nullptr;
  std::map<XlsxStyle, lxw_format*> formats_;  // of the workbook
  std::string text_;
};

}  // namespace

Status WriteStyledSheets(const std::vector<StyledSheet>& sheets, const std::string& path) {
  // libxlsxwriter would report a missing folder only when it closes.
  SONDE_RETURN_IF_ERROR(base::CheckWritableDirectory(std::string(base::DirName(path))));
  Workbook book(path);
  SONDE_RETURN_IF_ERROR(book.made());
  SheetsWriter writer(&book);
  for (const StyledSheet& sheet : sheets) writer.Write(sheet);
  return book.Close();
}

}  // namespace sonde::report
