#include "compare/output/write.h"

#include <cmath>

#include "base/files.h"
#include "base/strings.h"
#include "report/csv_writer.h"
#include "report/sqlite_file.h"
#include "report/time_stamp.h"

namespace sonde::compare {
namespace {

using base::Concat;

std::string CellText(const Cell& cell) {
  if (const auto* integer = std::get_if<int64_t>(&cell)) return std::to_string(*integer);
  if (const auto* real = std::get_if<double>(&cell)) {
    return std::isinf(*real) ? "INF" : NumberText(*real);
  }
  if (const auto* text = std::get_if<std::string>(&cell)) return *text;
  return {};
}

// A column is a number where no row has a text in it.
std::string_view SqliteType(const Sheet& sheet, size_t column) {
  std::string_view type = "INTEGER";
  for (const Row& row : sheet.rows) {
    if (std::holds_alternative<std::string>(row.cells[column])) return "TEXT";
    if (std::holds_alternative<double>(row.cells[column])) type = "REAL";
  }
  return type;
}

Status WriteTable(const Sheet& sheet, report::SqliteFile& file) {
  std::vector<std::string> columns;
  for (size_t i = 0; i < sheet.info->columns.size(); ++i) {
    columns.push_back(Concat(FullName(sheet.info->columns[i]), " ", SqliteType(sheet, i)));
  }
  SONDE_ASSIGN_OR_RETURN(
      auto table, report::SqliteTable::Create(file, sheet.info->name, base::Join(columns, ", ")));
  for (const Row& row : sheet.rows) {
    for (const Cell& cell : row.cells) {
      if (const auto* integer = std::get_if<int64_t>(&cell)) {
        table.Int(*integer);
      } else if (const auto* real = std::get_if<double>(&cell)) {
        table.Double(*real);
      } else if (const auto* text = std::get_if<std::string>(&cell)) {
        table.Text(*text);
      } else {
        table.Null();
      }
    }
    table.End();
  }
  return table.Close();
}

Status WriteCsv(const Sheet& sheet, const std::string& path) {
  SONDE_ASSIGN_OR_RETURN(auto file, base::AtomicFile::Create(path));
  report::CsvWriter csv(&file, report::CsvWriter::LineEnd::kLf);
  for (const Column& column : sheet.info->columns) csv.Text(FullName(column));
  csv.EndRow();
  for (const Row& row : sheet.rows) {
    for (const Cell& cell : row.cells) csv.Text(CellText(cell));
    csv.EndRow();
  }
  SONDE_RETURN_IF_ERROR(csv.Finish());
  return file.Commit();
}

}  // namespace

Status WriteDatabase(const Report& report, const std::string& path) {
  return report::WriteSqliteFile(path, report::Before::kReplace,
                                 [&](report::SqliteFile& file) -> Status {
                                   for (const auto* sheets : {&report.more, &report.sheets}) {
                                     for (const Sheet& sheet : *sheets)
                                       SONDE_RETURN_IF_ERROR(WriteTable(sheet, file));
                                   }
                                   return {};
                                 });
}

Status WriteCsvFiles(const Report& report, const std::string& path,
                     std::vector<std::string>& files) {
  SONDE_RETURN_IF_ERROR(base::MakeDirectories(path, 0750));
  for (const auto* sheets : {&report.more, &report.sheets}) {
    for (const Sheet& sheet : *sheets) {
      files.push_back(base::JoinPath(path, Concat(sheet.info->name, ".csv")));
      SONDE_RETURN_IF_ERROR(WriteCsv(sheet, files.back()));
    }
  }
  return {};
}

Result<std::vector<std::string>> Write(const Report& report, Form form, const std::string& folder) {
  SONDE_RETURN_IF_ERROR(base::MakeDirectories(folder, 0750));
  std::vector<std::string> files;
  const std::string name = base::JoinPath(
      folder, Concat("performance_comparison_result_", report::TimeStamp(report::Zone::kUtc)));
  if (form == Form::kCsv) {
    SONDE_RETURN_IF_ERROR(WriteCsvFiles(report, name, files));
    return files;
  }
  if (form == Form::kHtml) {
    files.push_back(Concat(name, ".html"));
    SONDE_RETURN_IF_ERROR(base::WriteFileAtomically(files.front(), HtmlOf(report)));
    return files;
  }
  files.push_back(Concat(name, form == Form::kDb ? ".db" : ".xlsx"));
  SONDE_RETURN_IF_ERROR(form == Form::kDb ? WriteDatabase(report, files.front())
                                          : WriteWorkbook(report, files.front()));
  return files;
}

}  // namespace sonde::compare
