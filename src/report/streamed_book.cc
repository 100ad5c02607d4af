#include "report/streamed_book.h"

#include <xlsxwriter.h>

#include "base/files.h"
#include "base/strings.h"
#include "report/cell_text.h"

namespace sonde::report {
namespace {

constexpr lxw_row_t kRowsOfASheet = 1'048'576;

}  // namespace

struct XlsxTable::Impl {
  std::string folder;
  std::vector<std::string> columns;
  lxw_workbook* book = nullptr;
  lxw_worksheet* sheet = nullptr;
  lxw_row_t row = 0;
  lxw_col_t column = 0;

  void AddSheet() {
    sheet = workbook_add_worksheet(book, nullptr);
    for (size_t i = 0; i < columns.size(); ++i) {
      worksheet_write_string(sheet, 0, static_cast<lxw_col_t>(i), columns[i].c_str(), nullptr);
    }
    row = 1;
  }
};

XlsxTable::XlsxTable(const std::string& path, std::vector<std::string> columns)
    : impl_(std::make_unique<Impl>()) {
  impl_->folder = std::string(base::DirName(path));
  impl_->columns = std::move(columns);
  lxw_workbook_options options = {};
  options.constant_memory = LXW_TRUE;
  options.tmpdir = impl_->folder.data();
  impl_->book = workbook_new_opt(path.c_str(), &options);
  impl_->AddSheet();
}

XlsxTable::~XlsxTable() {
  if (impl_->book != nullptr) workbook_close(impl_->book);
}

void XlsxTable::Text(std::string_view text) {
  const std::string shown = CellText(text);
  worksheet_write_string(impl_->sheet, impl_->row, impl_->column++, shown.c_str(), nullptr);
}

void XlsxTable::Number(double value) {
  worksheet_write_number(impl_->sheet, impl_->row, impl_->column++, value, nullptr);
}

void XlsxTable::Empty() { ++impl_->column; }

void XlsxTable::EndRow() {
  impl_->column = 0;
  if (++impl_->row == kRowsOfASheet) impl_->AddSheet();
}

Status XlsxTable::Close() {
  const lxw_error error = workbook_close(impl_->book);
  impl_->book = nullptr;
  if (error == LXW_NO_ERROR) return {};
  return base::ResourceExhaustedError(
      base::Concat("cannot write the workbook: ", lxw_strerror(error)));
}

}  // namespace sonde::report
