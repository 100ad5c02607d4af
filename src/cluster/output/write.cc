#include "cluster/output/write.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/count_of.h"
#include "base/files.h"
#include "base/host/sqlite_reader.h"
#include "base/strings.h"
#include "cluster/output/books.h"
#include "cluster/output/cells.h"
#include "cluster/output/report.h"
#include "report/csv_writer.h"
#include "report/sqlite_file.h"
#include "report/text_sheets.h"
#include "report/time_stamp.h"

namespace sonde::cluster {
namespace {

using base::Concat;
using store::ResultType;

constexpr std::string_view kDatabase = "cluster_analysis.db";

std::string_view SqliteType(ResultType type) {
  if (type == ResultType::kInt || type == ResultType::kOpt) return "INTEGER";
  return type == ResultType::kDouble ? "REAL" : "TEXT";
}

void PutCell(const Cell& cell, report::SqliteTable& rows) {
  if (const auto* integer = std::get_if<int64_t>(&cell)) {
    rows.Int(*integer);
  } else if (const auto* real = std::get_if<double>(&cell)) {
    rows.Double(*real);
  } else if (const auto* text = std::get_if<std::string>(&cell)) {
    rows.Text(*text);
  } else {
    rows.Null();
  }
}

// A table of the database: some rows of a mode's table, all columns but one.
struct Piece {
  std::string name;
  std::vector<size_t> rows;
};

Status WritePiece(const Table& table, const Piece& piece, size_t left_out,
                  report::SqliteFile& file) {
  const TableInfo& info = table.info();
  std::vector<std::string> columns;
  for (size_t i = 0; i < info.names.size(); ++i) {
    if (i == left_out) continue;
    columns.push_back(
        Concat(base::SqlName(info.names[i].db), " ", SqliteType(info.result.columns[i].type)));
  }
  SONDE_RETURN_IF_ERROR(file.Execute(
      Concat("CREATE TABLE ", base::SqlName(piece.name), " (", base::Join(columns, ", "), ")")));
  SONDE_ASSIGN_OR_RETURN(auto rows, report::SqliteTable::Open(file, piece.name, columns.size()));
  for (const size_t row : piece.rows) {
    for (size_t column = 0; column < table.columns(); ++column) {
      if (column != left_out) PutCell(table.At(row, column), rows);
    }
    rows.End();
  }
  return rows.Close();
}

// Null where the table is one for all ranks.
const BookInfo* SplitOf(const Mode& mode, const TableInfo& info) {
  for (const BookInfo& book : mode.books) {
    if (book.table == &info && book.splits_tables) return &book;
  }
  return nullptr;
}

std::vector<Piece> PiecesOf(const Table& table, const BookInfo* split) {
  const std::string name(table.info().reference_name);
  std::map<int64_t, Piece> pieces;
  for (size_t row = 0; row < table.rows(); ++row) {
    const int64_t rank =
        split == nullptr ? 0 : std::get<int64_t>(table.At(row, split->rank_column));
    Piece& piece = pieces[rank];
    piece.name = split == nullptr ? name : Concat(name, std::to_string(rank));
    piece.rows.push_back(row);
  }
  std::vector<Piece> list;
  for (auto& [rank, piece] : pieces) list.push_back(std::move(piece));
  return list;
}

// As a run leaves a database whose tables all had no rows.
bool IsEmpty(const std::string& path) {
  const auto size = base::FileSize(path);
  return size.ok() && *size == 0;
}

// Tables of ranks that the database has so far.
Status DropPieces(const TableInfo& info, const std::string& path, report::SqliteFile& file) {
  if (!base::IsRegularFile(path) || IsEmpty(path)) return {};
  SONDE_ASSIGN_OR_RETURN(const auto before, base::SqliteReader::Open(path));
  for (const base::SqliteObject& object : before.objects()) {
    const std::string_view name = object.name;
    const bool is_piece = object.type == "table" && name.starts_with(info.reference_name) &&
                          base::ParseInt64(name.substr(info.reference_name.size()));
    if (!is_piece) continue;
    SONDE_RETURN_IF_ERROR(file.Execute(Concat("DROP TABLE IF EXISTS ", base::SqlName(name))));
  }
  return {};
}

// Those of an earlier run go, those of other modes stay. `path`: what is in the database so far.
Status DropTables(const Mode& mode, const std::string& path, report::SqliteFile& file) {
  for (const TableInfo* info : mode.tables) {
    SONDE_RETURN_IF_ERROR(
        file.Execute(Concat("DROP TABLE IF EXISTS ", base::SqlName(info->reference_name))));
    if (SplitOf(mode, *info) != nullptr) SONDE_RETURN_IF_ERROR(DropPieces(*info, path, file));
  }
  return {};
}

Status FillDatabase(const Mode& mode, const Outcome& outcome, report::SqliteFile& file,
                    Written& written) {
  SONDE_RETURN_IF_ERROR(DropTables(mode, written.db, file));
  for (const Table& table : outcome.tables) {
    const BookInfo* split = SplitOf(mode, table.info());
    for (const Piece& piece : PiecesOf(table, split)) {
      const size_t left_out = split == nullptr ? table.columns() : split->rank_column;
      SONDE_RETURN_IF_ERROR(WritePiece(table, piece, left_out, file));
      written.tables.push_back(piece.name);
    }
  }
  return {};
}

Status WriteDatabase(const Mode& mode, const Outcome& outcome, const std::string& folder,
                     Written& written) {
  written.db = base::JoinPath(folder, kDatabase);
  // It holds the tables of other modes, too.
  return report::WriteSqliteFile(written.db, report::Before::kKeep, [&](report::SqliteFile& file) {
    return FillDatabase(mode, outcome, file, written);
  });
}

std::string FileName(const TableInfo& info) {
  return base::ReplaceAll(info.file, "{time}", report::TimeStamp(report::Zone::kUtc));
}

Status WriteCsv(const Table& table, const std::string& path) {
  SONDE_ASSIGN_OR_RETURN(auto file, base::AtomicFile::Create(path));
  report::CsvWriter csv(&file);
  const std::vector<Shown> columns = ShownColumns(table.info());
  for (const Shown& shown : columns) csv.Text(shown.text.heading);
  csv.EndRow();
  for (size_t row = 0; row < table.rows(); ++row) {
    for (const Shown& shown : columns) {
      csv.Text(CellText(table.At(row, shown.column), shown.text.divisor));
    }
    csv.EndRow();
  }
  SONDE_RETURN_IF_ERROR(csv.Finish());
  return file.Commit();
}

// Those that this run does not make are of an earlier one.
Status WriteTexts(const Mode& mode, const Outcome& outcome, const std::string& folder,
                  Written& written) {
  for (const std::string_view name : mode.texts) {
    SONDE_RETURN_IF_ERROR(base::RemoveTree(base::JoinPath(folder, name)));
  }
  for (const TextFile& text : outcome.texts) {
    written.files.push_back(base::JoinPath(folder, text.name));
    SONDE_RETURN_IF_ERROR(base::WriteFileAtomically(written.files.back(), text.content()));
  }
  return {};
}

Status WriteText(const Mode& mode, const Outcome& outcome, const std::string& folder,
                 Written& written) {
  if (!mode.texts.empty()) return WriteTexts(mode, outcome, folder, written);
  const std::string own = base::JoinPath(folder, mode.folder);
  SONDE_RETURN_IF_ERROR(base::MakeDirectories(own, 0750));
  for (const TableInfo* info : mode.tables) {
    SONDE_RETURN_IF_ERROR(base::RemoveTree(base::JoinPath(own, Concat(info->file, ".csv"))));
  }
  for (const Table& table : outcome.tables) {
    if (table.rows() == 0) continue;
    written.files.push_back(base::JoinPath(own, Concat(FileName(table.info()), ".csv")));
    SONDE_RETURN_IF_ERROR(WriteCsv(table, written.files.back()));
  }
  return {};
}

Status WriteBooksOf(const Mode& mode, const Outcome& outcome, const std::string& folder,
                    Written& written) {
  const std::string own = base::JoinPath(folder, mode.folder);
  SONDE_RETURN_IF_ERROR(base::MakeDirectories(own, 0750));
  return WriteBooks(mode, outcome, own, written.files);
}

report::XlsxSheet SheetOf(const Table& table) {
  constexpr size_t kLongestName = 31;
  report::XlsxSheet sheet{.name = std::string(table.info().result.name.substr(0, kLongestName)),
                          .rows = {{}}};
  const std::vector<Shown> columns = ShownColumns(table.info());
  for (const Shown& shown : columns) sheet.rows[0].push_back(shown.text.heading);
  for (size_t row = 0; row < table.rows(); ++row) {
    std::vector<std::string>& cells = sheet.rows.emplace_back();
    for (const Shown& shown : columns) {
      cells.push_back(CellText(table.At(row, shown.column), shown.text.divisor));
    }
  }
  return sheet;
}

Status WriteExcel(const Mode& mode, const Outcome& outcome, const std::string& folder,
                  Written& written) {
  std::vector<report::XlsxSheet> sheets;
  for (const Table& table : outcome.tables) {
    if (table.rows() == 0) continue;
    if (table.rows() >= report::kMaxSheetRows) {
      return base::OutOfRangeError(Concat(table.info().reference_name, " has ",
                                          base::CountOf(table.rows(), "row"),
                                          ", more than a sheet holds: use --export_type db"));
    }
    sheets.push_back(SheetOf(table));
  }
  const std::string own = base::JoinPath(folder, mode.folder);
  SONDE_RETURN_IF_ERROR(base::MakeDirectories(own, 0750));
  const std::string path = base::JoinPath(own, Concat(mode.name, ".xlsx"));
  written.files.push_back(path);
  return report::WriteXlsxSheets(sheets, path);
}

}  // namespace

Form FormOf(std::string_view name, const Outcome& outcome) {
  if (name.empty() && outcome.prefers_text) return Form::kText;
  if (name == "text") return Form::kText;
  if (name == "excel") return Form::kExcel;
  return name == "notebook" ? Form::kNotebook : Form::kDb;
}

Result<Written> Write(const Mode& mode, const Outcome& outcome, Form form,
                      const std::string& folder) {
  Written written;
  if (mode.writes_files) {
    written.files = outcome.files;
    return written;
  }
  SONDE_RETURN_IF_ERROR(base::MakeDirectories(folder, 0750));
  Status done;
  switch (form) {
    case Form::kDb:
      done = WriteDatabase(mode, outcome, folder, written);
      break;
    case Form::kExcel:
      done = WriteExcel(mode, outcome, folder, written);
      break;
    case Form::kNotebook:
      done = WriteText(mode, outcome, folder, written);
      if (done.ok()) done = WriteReport(mode, outcome, folder, written);
      break;
    case Form::kText:
      done = mode.books.empty() ? WriteText(mode, outcome, folder, written)
                                : WriteBooksOf(mode, outcome, folder, written);
      break;
  }
  if (!done.ok()) return done;
  return written;
}

}  // namespace sonde::cluster
