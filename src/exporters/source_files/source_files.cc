#include "exporters/source_files/source_files.h"

#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/host/json.h"
#include "base/strings.h"
#include "report/sqlite_file.h"
#include "store/source_tables.h"

namespace sonde::exporters {
namespace {

using base::Concat;
using report::SqliteFile;
using report::SqliteTable;
using store::CellType;
using store::SourceTable;

constexpr std::string_view kOutput = "ASCEND_PROFILER_OUTPUT/";

// Tables there are records (MindSpore's of a CPU), from which nobody has made deliverables yet.
constexpr std::string_view kRecords = "FRAMEWORK/";

// The device tool's own form: tables there are none of the framework's.
constexpr std::string_view kOfTool = "mindstudio_profiler_output/";

// Where a file goes; its folders are made.
Result<std::string> PathOf(const ExportContext& context, const std::string& file) {
  const bool in_output = file.starts_with(kOutput) && !context.output_folder.empty();
  std::string path = in_output ? base::JoinPath(context.output_folder, file.substr(kOutput.size()))
                               : base::JoinPath(context.span_folder, file);
  if (file.starts_with('/') || Concat("/", file, "/").find("/../") != std::string::npos) {
    return base::CorruptDataError(Concat("the store names a file outside its folder: ", file));
  }
  SONDE_RETURN_IF_ERROR(base::MakeDirectories(std::string(base::DirName(path))));
  return path;
}

// Tables by file, in the order in which they were read.
using TablesByFile = std::vector<std::pair<std::string, std::vector<SourceTable>>>;
Result<TablesByFile> TablesOf(const store::Store& store, std::string_view suffix) {
  SONDE_ASSIGN_OR_RETURN(std::vector<SourceTable> tables, store::SourceTables(store));
  TablesByFile files;
  for (SourceTable& table : tables) {
    if (!table.file.ends_with(suffix)) continue;
    if (files.empty() || files.back().first != table.file) files.push_back({table.file, {}});
    files.back().second.push_back(std::move(table));
  }
  return files;
}

// --- Databases ---------------------------------------------------------------------------------

std::string Unescaped(std::string_view literal) {
  return base::ReplaceAll(literal.substr(1, literal.size() - 2), "''", "'");
}

std::string BytesOf(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    unsigned value = 0;
    std::from_chars(hex.data() + i, hex.data() + i + 2, value, 16);
    bytes += static_cast<char>(value);
  }
  return bytes;
}

void PutLiteral(std::string_view literal, SqliteTable& table) {
  if (literal.starts_with('\'')) {
    table.Text(Unescaped(literal));
  } else if (literal.starts_with("X'")) {
    table.Blob(BytesOf(literal.substr(2, literal.size() - 3)));
  } else if (const auto integer = base::ParseInt64(literal)) {
    table.Int(*integer);
  } else {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (literal == "9e999" || literal == "-9e999") {
      table.Double(literal.starts_with('-') ? -kInfinity : kInfinity);
    } else {
      table.Double(base::ParseDouble(literal).value_or(0));
    }
  }
}

void PutCell(const store::Chunk& chunk, size_t column, size_t row, CellType type,
             SqliteTable& table) {
  if (chunk.IsNull(column, row)) {
    table.Null();
  } else if (type == CellType::kInteger) {
    table.Int(chunk.Values<int64_t>(column)[row]);
  } else if (type == CellType::kReal) {
    table.Double(chunk.Values<double>(column)[row]);
  } else if (type == CellType::kText) {
    table.Text(chunk.Text(column, row));
  } else {
    PutLiteral(chunk.Text(column, row), table);
  }
}

Status FillTable(const store::Store& store, const SourceTable& source, SqliteFile& file) {
  SONDE_ASSIGN_OR_RETURN(SqliteTable table,
                         SqliteTable::Open(file, source.name, source.columns.size()));
  SONDE_RETURN_IF_ERROR(
      store::ScanSourceTable(store, source, [&](const store::Chunk& chunk) -> Status {
        for (size_t row = 0; row < chunk.rows(); ++row) {
          for (size_t column = 0; column < source.columns.size(); ++column) {
            PutCell(chunk, column, row, source.columns[column].type, table);
          }
          table.End();
        }
        return {};
      }));
  return table.Close();
}

Status WriteDatabase(const store::Store& store, const std::vector<SourceTable>& tables,
                     const std::string& path) {
  // One of an earlier export lies there where the output is not replaced as a whole.
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
    return base::ErrnoStatus(errno, "replace", path);
  }
  SONDE_ASSIGN_OR_RETURN(SqliteFile file, SqliteFile::Create(path));
  const SourceTable* sequence = nullptr;
  for (const SourceTable& table : tables) {
    // SQLite's own tables cannot be made; the one with the last automatic numbers can be filled.
    if (table.name == "sqlite_sequence") sequence = &table;
    if (table.name.starts_with("sqlite_")) continue;
    SONDE_RETURN_IF_ERROR(file.Execute(table.definition));
    SONDE_RETURN_IF_ERROR(FillTable(store, table, file));
  }
  if (sequence != nullptr) {
    // It comes with the first table of automatic numbers, and stays when that is gone.
    SONDE_RETURN_IF_ERROR(
        file.Execute("CREATE TABLE sonde_numbers (id INTEGER PRIMARY KEY AUTOINCREMENT);"
                     "DROP TABLE sonde_numbers; DELETE FROM sqlite_sequence"));
    SONDE_RETURN_IF_ERROR(FillTable(store, *sequence, file));
  }
  return file.Close();
}

// --- Texts -------------------------------------------------------------------------------------

// How a CSV file was written.
struct CsvForm {
  std::vector<std::string> header;
  std::string line_end = "\r\n";
  bool ends_with_line_end = true;
  bool has_byte_order_mark = false;
};

Result<CsvForm> FormOf(const SourceTable& table) {
  SONDE_ASSIGN_OR_RETURN(const auto document,
                         base::JsonDocument::Parse(table.definition, table.name));
  const base::JsonValue root = document.root();
  CsvForm form;
  for (const base::JsonValue& name : root["header"].Elements()) {
    SONDE_ASSIGN_OR_RETURN(std::string text, name.AsString());
    form.header.push_back(std::move(text));
  }
  SONDE_ASSIGN_OR_RETURN(form.line_end, root.GetString("line_end", "\r\n"));
  SONDE_ASSIGN_OR_RETURN(form.ends_with_line_end, root.GetBool("ends_with_line_end", true));
  SONDE_ASSIGN_OR_RETURN(form.has_byte_order_mark, root.GetBool("byte_order_mark", false));
  return form;
}

// Quotes where a cell needs them, as Python's csv does.
void AppendCell(std::string_view cell, std::string& line) {
  if (cell.find_first_of(",\"\r\n") == std::string_view::npos) {
    line += cell;
    return;
  }
  line += '"';
  line += base::ReplaceAll(cell, "\"", "\"\"");
  line += '"';
}

Status WriteCsv(const store::Store& store, const SourceTable& table, const std::string& path) {
  SONDE_ASSIGN_OR_RETURN(const CsvForm form, FormOf(table));
  SONDE_ASSIGN_OR_RETURN(base::AtomicFile file, base::AtomicFile::Create(path));
  std::string line = form.has_byte_order_mark ? "\xEF\xBB\xBF" : "";
  for (size_t i = 0; i < form.header.size(); ++i) {
    if (i > 0) line += ',';
    AppendCell(form.header[i], line);
  }
  int64_t written = 0;
  const auto end_line = [&](bool is_last) -> Status {
    if (!is_last || form.ends_with_line_end) line += form.line_end;
    Status status = file.Append(line);
    line.clear();
    return status;
  };
  SONDE_RETURN_IF_ERROR(end_line(table.row_count == 0));
  Status status = store::ScanSourceTable(store, table, [&](const store::Chunk& chunk) -> Status {
    for (size_t row = 0; row < chunk.rows(); ++row) {
      for (size_t column = 0; column < chunk.columns(); ++column) {
        if (chunk.IsNull(column, row)) break;  // the line was shorter
        if (column > 0) line += ',';
        AppendCell(chunk.Text(column, row), line);
      }
      SONDE_RETURN_IF_ERROR(end_line(++written == table.row_count));
    }
    return {};
  });
  SONDE_RETURN_IF_ERROR(status);
  return file.Commit();
}

bool IsMetadata(std::string_view file) {
  const std::string_view name = base::BaseName(file);
  return name.starts_with("profiler_info") || name == "profiler_metadata.json";
}

// Tables whose rows are nowhere else in the trace, in addition to those that are computed again.
bool IsTable(std::string_view file) { return file.ends_with(".csv"); }

template <class IsWanted>
Result<bool> WriteKept(const ExportContext& context, const IsWanted& is_wanted) {
  SONDE_ASSIGN_OR_RETURN(const store::ResultTable texts,
                         context.store->Query("SELECT file, content FROM source_text"));
  bool any = false;
  for (size_t row = 0; row < texts.rows(); ++row) {
    if (!is_wanted(texts.Text(0, row))) continue;
    SONDE_ASSIGN_OR_RETURN(const std::string path, PathOf(context, texts.Text(0, row)));
    SONDE_RETURN_IF_ERROR(base::WriteFileAtomically(path, texts.Text(1, row)));
    any = true;
  }
  return any;
}

}  // namespace

Result<bool> WriteSourceDatabases(const ExportContext& context) {
  if (context.store == nullptr) return false;
  SONDE_ASSIGN_OR_RETURN(const TablesByFile files, TablesOf(*context.store, ".db"));
  bool has_profile = false;
  for (const auto& [file, tables] : files) has_profile |= base::BaseName(file) != "analysis.db";
  if (!has_profile) return false;
  for (const auto& [file, tables] : files) {
    SONDE_ASSIGN_OR_RETURN(const std::string path, PathOf(context, file));
    SONDE_RETURN_IF_ERROR(WriteDatabase(*context.store, tables, path));
  }
  return true;
}

// Where both forms are asked for, each writes the same file.
Result<bool> WriteSourceAnalysis(const ExportContext& context) {
  if (context.store == nullptr) return false;
  SONDE_ASSIGN_OR_RETURN(const TablesByFile files, TablesOf(*context.store, "analysis.db"));
  for (const auto& [file, tables] : files) {
    SONDE_ASSIGN_OR_RETURN(const std::string path, PathOf(context, file));
    ::unlink(path.c_str());
    SONDE_RETURN_IF_ERROR(WriteDatabase(*context.store, tables, path));
  }
  return !files.empty();
}

Result<bool> WriteSourceTexts(const ExportContext& context) {
  if (context.store == nullptr) return false;
  SONDE_ASSIGN_OR_RETURN(const TablesByFile files, TablesOf(*context.store, ".csv"));
  bool any_deliverable = false;
  for (const auto& [file, tables] : files) {
    SONDE_ASSIGN_OR_RETURN(const std::string path, PathOf(context, file));
    SONDE_RETURN_IF_ERROR(WriteCsv(*context.store, tables.front(), path));
    any_deliverable |= !file.starts_with(kRecords) && file.find(kOfTool) == std::string::npos;
  }
  if (!any_deliverable) {
    const auto is_kept = [](std::string_view file) {
      return IsTable(file) || file.starts_with("PROF_") || file.find(kOfTool) != file.npos;
    };
    SONDE_RETURN_IF_ERROR(WriteKept(context, is_kept).status());
    return false;
  }
  SONDE_RETURN_IF_ERROR(WriteSourceAnalysis(context).status());
  const auto is_deliverable = [](std::string_view file) { return !IsMetadata(file); };
  SONDE_RETURN_IF_ERROR(WriteKept(context, is_deliverable).status());
  return true;
}

Result<bool> WriteSourceMetadata(const ExportContext& context) {
  if (context.store == nullptr) return false;
  return WriteKept(context, &IsMetadata);
}

}  // namespace sonde::exporters
