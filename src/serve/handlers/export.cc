// POST /api/export?trace=&format=csv|csv_raw|xlsx|parquet&id= with a statement as body: all its
// rows as a file. /api/cancel ends it. Format csv_raw: texts stay as they are, also those that a
// spreadsheet would run.
#include <cmath>

#include "base/files.h"
#include "base/host/private_folder.h"
#include "base/strings.h"
#include "report/streamed_book.h"
#include "serve/cells.h"
#include "serve/handlers.h"
#include "serve/statements.h"

namespace sonde::serve {
namespace {

using base::Concat;

constexpr size_t kMaxExportBytes = size_t{512} << 20U;

using File = std::shared_ptr<const AnswerFile>;

template <bool is_raw>
Result<File> WriteCsv(const store::UserStatements& statements, const std::string& sql,
                      store::Cancellation* cancellation) {
  SONDE_ASSIGN_OR_RETURN(const auto folder, base::PrivateFolder::Make("export"));
  const std::string path = base::JoinPath(folder->path(), "table.csv");
  constexpr size_t kBufferBytes = size_t{64} << 10U;
  SONDE_ASSIGN_OR_RETURN(auto file, base::AtomicFile::Create(path, {.buffer_bytes = kBufferBytes}));
  report::CsvWriter csv(&file, report::CsvWriter::LineEnd::kLf);
  SONDE_RETURN_IF_ERROR(statements.Scan(
      sql,
      [&](const std::vector<store::QueryColumn>& columns) -> Status {
        for (const store::QueryColumn& column : columns) {
          is_raw ? csv.RawText(column.name) : csv.Text(column.name);
        }
        csv.EndRow();
        return {};
      },
      [&](const store::Chunk& chunk) -> Status {
        for (size_t row = 0; row < chunk.rows(); ++row) {
          for (size_t i = 0; i < chunk.columns(); ++i) {
            const bool is_text = chunk.type(i) == store::ValueType::kText;
            if (is_raw && is_text && !chunk.IsNull(i, row)) {
              csv.RawText(chunk.Text(i, row));
            } else {
              WriteCell(csv, chunk, i, row);
            }
          }
          csv.EndRow();
        }
        if (file.bytes_written() <= kMaxExportBytes) return {};
        return base::OutOfRangeError("more than 512 MiB: use sonde query --format csv");
      },
      cancellation));
  SONDE_RETURN_IF_ERROR(csv.Finish());
  SONDE_RETURN_IF_ERROR(file.Commit());
  return AnswerFile::TakeOver(path, kMaxExportBytes);
}

// A workbook has doubles only: a moment of 19 digits stays exact as text.
void AddCell(report::XlsxTable& table, const store::Chunk& chunk, size_t column, size_t row,
             bool is_decimal) {
  if (chunk.IsNull(column, row)) return table.Empty();
  const bool is_text = chunk.type(column) == store::ValueType::kText;
  std::string text;
  if (is_text) {
    text = chunk.Text(column, row);
  } else {
    report::CsvWriter csv(nullptr);
    WriteCell(csv, chunk, column, row);
    csv.EndRow();
    text = std::string(base::Trim(csv.Take()));
  }
  constexpr size_t kExactDigits = 15;
  const auto number = !is_text || is_decimal ? base::ParseDouble(text) : std::nullopt;
  if (number && std::isfinite(*number) &&
      (text.size() <= kExactDigits || text.find('.') != std::string::npos)) {
    return table.Number(*number);
  }
  table.Text(text);
}

Result<File> WriteXlsx(const store::UserStatements& statements, const std::string& sql,
                       store::Cancellation* cancellation) {
  SONDE_ASSIGN_OR_RETURN(const auto folder, base::PrivateFolder::Make("export"));
  const std::string path = base::JoinPath(folder->path(), "table.xlsx");
  std::unique_ptr<report::XlsxTable> table;
  std::vector<bool> is_decimal;
  SONDE_RETURN_IF_ERROR(statements.Scan(
      sql,
      [&](const std::vector<store::QueryColumn>& columns) -> Status {
        std::vector<std::string> names;
        for (const store::QueryColumn& column : columns) {
          names.push_back(column.name);
          is_decimal.push_back(column.is_decimal);
        }
        table = std::make_unique<report::XlsxTable>(path, std::move(names));
        return {};
      },
      [&](const store::Chunk& chunk) -> Status {
        for (size_t row = 0; row < chunk.rows(); ++row) {
          for (size_t i = 0; i < chunk.columns(); ++i) {
            AddCell(*table, chunk, i, row, is_decimal[i]);
          }
          table->EndRow();
        }
        return {};
      },
      cancellation));
  SONDE_RETURN_IF_ERROR(table->Close());
  return AnswerFile::TakeOver(path, kMaxExportBytes);
}

Result<File> WriteParquet(const store::UserStatements& statements, const std::string& sql,
                          store::Cancellation* cancellation) {
  SONDE_ASSIGN_OR_RETURN(const std::string path, statements.WriteParquet(sql, cancellation));
  return AnswerFile::TakeOver(path, kMaxExportBytes);
}

struct Format {
  const char* name;
  const char* extension;
  const char* type;
  Result<File> (*write)(const store::UserStatements& statements, const std::string& sql,
                        store::Cancellation* cancellation);
};

constexpr std::array kFormats = {
    Format{"csv", "csv", "text/csv; charset=utf-8", &WriteCsv<false>},
    Format{"csv_raw", "csv", "text/csv; charset=utf-8", &WriteCsv<true>},
    Format{"xlsx", "xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
           &WriteXlsx},
    Format{"parquet", "parquet", "application/vnd.apache.parquet", &WriteParquet},
};

}  // namespace

Result<HttpAnswer> HandleExport(Session& session, const HttpRequest& request) {
  const std::string name = request.Text("format");
  for (const Format& format : kFormats) {
    if (name != format.name) continue;
    SONDE_ASSIGN_OR_RETURN(const auto store, StoreFor(session, request));
    const RunningStatement statement(session, request);
    HttpAnswer answer{.type = format.type};
    SONDE_ASSIGN_OR_RETURN(answer.file,
                           format.write(*store, request.body, statement.cancellation()));
    answer.headers.emplace_back("Content-Disposition",
                                Concat("attachment; filename=\"sonde.", format.extension, "\""));
    return answer;
  }
  return base::InvalidArgumentError("'format' must be csv, csv_raw, xlsx or parquet");
}

}  // namespace sonde::serve
