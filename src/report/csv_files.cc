#include "report/csv_files.h"

#include <algorithm>

#include "base/files.h"
#include "base/host/parallel.h"
#include "base/strings.h"
#include "report/character_set.h"
#include "report/csv_writer.h"

namespace sonde::report {
namespace {

constexpr size_t kRowsAtATime = 1024;

void AppendRows(const RowSource& table, size_t begin, size_t end, std::string* out) {
  RowText row;
  for (size_t i = begin; i < end; ++i) {
    table.Fill(i, &row);
    for (size_t c = 0; c < row.size(); ++c) {
      if (c > 0) out->push_back(',');
      AppendCsvCell(row.cell(c), out);
    }
    out->push_back('\n');
  }
}

Status WriteRows(const RowSource& table, size_t begin, size_t end, base::AtomicFile* file) {
  std::string header;
  for (const std::string& column : table.columns()) {
    if (!header.empty()) header.push_back(',');
    AppendCsvCell(column, &header);
  }
  header.push_back('\n');
  SONDE_RETURN_IF_ERROR(file->Append(header));
  std::vector<std::string> pieces(static_cast<size_t>(base::AvailableThreads()) * 4);
  while (begin < end) {
    const size_t count = std::min(pieces.size(), (end - begin + kRowsAtATime - 1) / kRowsAtATime);
    base::ParallelFor(count, [&](size_t from, size_t to) {
      for (size_t p = from; p < to; ++p) {
        pieces[p].clear();
        const size_t first = begin + p * kRowsAtATime;
        AppendRows(table, first, std::min(first + kRowsAtATime, end), &pieces[p]);
      }
    });
    for (size_t p = 0; p < count; ++p) SONDE_RETURN_IF_ERROR(file->Append(pieces[p]));
    begin = std::min(begin + count * kRowsAtATime, end);
  }
  return file->Commit();
}

// Whether CsvCell leaves it as it is; false also where only CsvCell knows.
bool IsPlain(std::string_view cell) {
  static constexpr CharacterSet kSpecial = CharacterSet(",;\"").AndUnprintable();
  if (cell.empty()) return true;
  if (kSpecial.IsIn(cell)) return false;
  const char front = cell.front();
  if (front == '=' || front == '@' || front == ' ') return false;
  const bool is_signed = front == '+' || front == '-';
  return !is_signed || cell.find_first_not_of("0123456789.eE%+-") == std::string_view::npos;
}

}  // namespace

// Most cells are numbers or names: no text of their own for these.
void AppendCsvCell(std::string_view cell, std::string* out) {
  IsPlain(cell) ? out->append(cell) : out->append(CsvCell(cell));
}

Result<std::vector<std::string>> WriteCsv(const RowSource& table,
                                          const std::string& path_without_extension,
                                          size_t max_rows) {
  std::vector<std::string> paths;
  const bool split = table.row_count() > max_rows;
  size_t begin = 0;
  do {
    const size_t end = std::min(begin + max_rows, table.row_count());
    const std::string part =
        split ? base::Concat("_part_", std::to_string(paths.size() + 1)) : std::string();
    const std::string path = base::Concat(path_without_extension, part, ".csv");
    SONDE_ASSIGN_OR_RETURN(base::AtomicFile file, base::AtomicFile::Create(path));
    SONDE_RETURN_IF_ERROR(WriteRows(table, begin, end, &file));
    paths.push_back(path);
    begin = end;
  } while (begin < table.row_count());
  return paths;
}

}  // namespace sonde::report
