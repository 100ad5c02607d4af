#include "report/text_table.h"

#include "base/files.h"
#include "report/csv_files.h"
#include "report/text_sheets.h"

namespace sonde::report {
namespace {

void AppendLine(const std::vector<std::string>& cells, std::string* out) {
  for (size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) out->push_back(',');
    AppendCsvCell(cells[i], out);
  }
  out->push_back('\n');
}

}  // namespace

Result<std::string> WriteTextTable(const TextTable& table,
                                   const std::string& path_without_extension, bool xlsx) {
  const std::string path = path_without_extension + (xlsx ? ".xlsx" : ".csv");
  if (xlsx) {
    XlsxSheet sheet = {"Sheet1", {table.columns}};
    sheet.rows.insert(sheet.rows.end(), table.rows.begin(), table.rows.end());
    SONDE_RETURN_IF_ERROR(WriteXlsxSheets({sheet}, path));
    return path;
  }
  std::string text;
  AppendLine(table.columns, &text);
  for (const std::vector<std::string>& row : table.rows) AppendLine(row, &text);
  SONDE_RETURN_IF_ERROR(base::WriteFileAtomically(path, text));
  return path;
}

}  // namespace sonde::report
