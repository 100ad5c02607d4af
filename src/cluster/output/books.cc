#include "cluster/output/books.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/files.h"
#include "base/strings.h"
#include "cluster/output/cells.h"
#include "report/text_sheets.h"

namespace sonde::cluster {
namespace {

using base::Concat;

report::XlsxSheet EmptySheet(const BookInfo& book, const std::vector<Shown>& columns) {
  constexpr double kHighHeader = 27;
  report::XlsxSheet sheet{.name = "Sheet1", .rows = {{}}};
  for (const Shown& shown : columns) sheet.rows[0].push_back(shown.text.heading);
  sheet.frame = report::XlsxFrame{.widths = {book.widths.begin(), book.widths.end()},
                                  .merged = {book.merged.begin(), book.merged.end()},
                                  .header_height = book.is_header_high ? kHighHeader : 0};
  return sheet;
}

std::map<int64_t, report::XlsxSheet> SheetsOf(const BookInfo& book, const Table& table) {
  std::vector<Shown> columns = ShownColumns(table.info());
  if (!book.shows_rank) {
    std::erase_if(columns, [&](const Shown& shown) { return shown.column == book.rank_column; });
  }
  std::map<int64_t, report::XlsxSheet> sheets;
  for (size_t row = 0; row < table.rows(); ++row) {
    const auto rank = std::get<int64_t>(table.At(row, book.rank_column));
    auto [sheet, is_new] = sheets.try_emplace(rank);
    if (is_new) sheet->second = EmptySheet(book, columns);
    std::vector<std::string>& cells = sheet->second.rows.emplace_back();
    for (const Shown& shown : columns) {
      cells.push_back(CellText(table.At(row, shown.column), shown.text.divisor));
    }
  }
  return sheets;
}

// Those of ranks that are no more.
Status RemoveOld(const BookInfo& book, const std::string& folder) {
  const std::string_view before = book.file.substr(0, book.file.find("{rank}"));
  SONDE_ASSIGN_OR_RETURN(const auto entries, base::ListDirectory(folder));
  for (const base::DirectoryEntry& entry : entries) {
    if (!entry.name.starts_with(before) || !entry.name.ends_with(".xlsx")) continue;
    SONDE_RETURN_IF_ERROR(base::RemoveTree(base::JoinPath(folder, entry.name)));
  }
  return {};
}

}  // namespace

Status WriteBooks(const Mode& mode, const Outcome& outcome, const std::string& folder,
                  std::vector<std::string>& files) {
  for (const BookInfo& book : mode.books) {
    SONDE_RETURN_IF_ERROR(RemoveOld(book, folder));
    for (const Table& table : outcome.tables) {
      if (&table.info() != book.table) continue;
      for (const auto& [rank, sheet] : SheetsOf(book, table)) {
        if (sheet.rows.size() > report::kMaxSheetRows) {
          return base::OutOfRangeError(Concat("rank ", std::to_string(rank),
                                              " has more rows than a sheet holds: use "
                                              "--export_type db"));
        }
        const std::string name = base::ReplaceAll(book.file, "{rank}", std::to_string(rank));
        files.push_back(base::JoinPath(folder, Concat(name, ".xlsx")));
        SONDE_RETURN_IF_ERROR(report::WriteXlsxSheets({sheet}, files.back()));
      }
    }
  }
  return {};
}

}  // namespace sonde::cluster
