#include "cli/query_output.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <vector>

#include "base/count_of.h"
#include "base/host/json_writer.h"
#include "base/host/terminal_text.h"
#include "base/strings.h"
#include "report/csv_writer.h"
#include "report/text_sheets.h"

namespace sonde::cli {
namespace {

using base::Concat;
using store::Chunk;
using store::QueryColumn;
using store::ValueType;

constexpr size_t kRowsForWidths = 4096;

std::string HugeIntText(store::HugeInt value) {
  auto number = static_cast<unsigned __int128>(value.lower) |
                (static_cast<unsigned __int128>(static_cast<uint64_t>(value.upper)) << 64U);
  const bool negative = value.upper < 0;
  if (negative) number = ~number + 1;
  std::string digits;
  do {
    digits += static_cast<char>('0' + static_cast<int>(number % 10));
    number /= 10;
  } while (number != 0);
  if (negative) digits += '-';
  std::reverse(digits.begin(), digits.end());
  return digits;
}

bool IsNumber(const QueryColumn& column) {
  return column.is_decimal || (column.type != ValueType::kText &&
                               column.type != ValueType::kOther && column.type != ValueType::kBool);
}

// Characters as a terminal shows them: continuation bytes of UTF-8 take no place.
size_t DisplayWidth(std::string_view text) {
  return static_cast<size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<uint8_t>(c) & 0xc0U) != 0x80U; }));
}

// Takes a result: its columns, its pieces, its end.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual Status Begin(const std::vector<QueryColumn>& columns) = 0;
  virtual Status Take(const Chunk& chunk) = 0;
  virtual Status End() = 0;
};

class FileSink : public Sink {
 protected:
  explicit FileSink(std::FILE* out) : out_(out) {}
  Status Put(std::string_view text) {
    if (std::fwrite(text.data(), 1, text.size(), out_) != text.size()) {
      return base::ErrnoStatus(errno, "write", "the result");
    }
    return {};
  }
  // Files get csv as it is.
  Status PutCsv(std::string_view text) {
    return Put(is_terminal_ ? base::ForTerminal(text) : std::string(text));
  }
  Status PutJson(std::string_view text) { return Put(base::JsonForTerminal(text)); }

 private:
  std::FILE* out_;
  const bool is_terminal_ = ::isatty(::fileno(out_)) == 1;
};

class TableSink final : public FileSink {
 public:
  explicit TableSink(std::FILE* out) : FileSink(out) {}

  Status Begin(const std::vector<QueryColumn>& columns) override {
    for (const QueryColumn& column : columns) {
      numeric_.push_back(IsNumber(column));
      header_.push_back(base::ForTerminalLine(column.name));
      widths_.push_back(DisplayWidth(header_.back()));
    }
    return {};
  }

  Status Take(const Chunk& chunk) override {
    for (size_t row = 0; row < chunk.rows(); ++row) {
      std::vector<std::string> cells(widths_.size());
      for (size_t i = 0; i < cells.size(); ++i) {
        cells[i] = chunk.IsNull(i, row) ? "NULL" : base::ForTerminalLine(CellText(chunk, i, row));
      }
      ++rows_;
      if (waiting_.size() < kRowsForWidths && !header_done_) {
        waiting_.push_back(std::move(cells));
        continue;
      }
      SONDE_RETURN_IF_ERROR(Release());
      SONDE_RETURN_IF_ERROR(Line(cells, false));
    }
    return {};
  }

  Status End() override {
    SONDE_RETURN_IF_ERROR(Release());
    return Put(Concat("(", base::CountOf(rows_, "row"), ")\n"));
  }

 private:
  // Header and the rows that waited for the widths.
  Status Release() {
    if (header_done_) return {};
    header_done_ = true;
    for (const auto& cells : waiting_) {
      for (size_t i = 0; i < cells.size(); ++i) {
        widths_[i] = std::max(widths_[i], DisplayWidth(cells[i]));
      }
    }
    SONDE_RETURN_IF_ERROR(Line(header_, true));
    std::string rule;
    for (size_t i = 0; i < widths_.size(); ++i) {
      rule += Concat(i > 0 ? "  " : "", std::string(widths_[i], '-'));
    }
    SONDE_RETURN_IF_ERROR(Put(rule + "\n"));
    for (const auto& cells : waiting_) SONDE_RETURN_IF_ERROR(Line(cells, false));
    waiting_.clear();
    return {};
  }

  Status Line(const std::vector<std::string>& cells, bool is_header) {
    std::string line;
    for (size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) line += "  ";
      const size_t width = DisplayWidth(cells[i]);
      const std::string padding(widths_[i] > width ? widths_[i] - width : 0, ' ');
      line += numeric_[i] && !is_header ? padding + cells[i] : cells[i] + padding;
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    return Put(line + "\n");
  }

  std::vector<bool> numeric_;
  std::vector<size_t> widths_;
  std::vector<std::string> header_;
  std::vector<std::vector<std::string>> waiting_;
  bool header_done_ = false;
  int64_t rows_ = 0;
};

class CsvSink final : public FileSink {
 public:
  CsvSink(std::FILE* out, bool is_raw)
      : FileSink(out), csv_(nullptr, report::CsvWriter::LineEnd::kLf), is_raw_(is_raw) {}

  Status Begin(const std::vector<QueryColumn>& columns) override {
    for (const QueryColumn& column : columns) Text(column.name);
    csv_.EndRow();
    return PutCsv(csv_.Take());
  }
  Status Take(const Chunk& chunk) override {
    for (size_t row = 0; row < chunk.rows(); ++row) {
      for (size_t i = 0; i < chunk.columns(); ++i) {
        Text(chunk.IsNull(i, row) ? std::string() : CellText(chunk, i, row));
      }
      csv_.EndRow();
    }
    return PutCsv(csv_.Take());
  }
  Status End() override { return {}; }

 private:
  void Text(std::string_view text) { is_raw_ ? csv_.RawText(text) : csv_.Text(text); }

  report::CsvWriter csv_;
  bool is_raw_;
};

// JSON has no word for numbers that are none: they are null, as those that are cells are.
std::string WithoutNan(std::string_view json) {
  const bool has_any = json.find("NaN") != json.npos || json.find("Infinity") != json.npos;
  if (!has_any) return std::string(json);
  std::string result;
  bool in_text = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const std::string_view rest = json.substr(i);
    if (in_text && json[i] == '\\') {
      result += rest.substr(0, 2);
      ++i;
      continue;
    }
    if (json[i] == '"') in_text = !in_text;
    size_t word = 0;
    for (const std::string_view nan : {"NaN", "-NaN", "Infinity", "-Infinity"}) {
      if (!in_text && rest.starts_with(nan)) word = nan.size();
    }
    result += word > 0 ? "null" : rest.substr(0, 1);
    if (word > 0) i += word - 1;
  }
  return result;
}

class JsonSink final : public FileSink {
 public:
  explicit JsonSink(std::FILE* out) : FileSink(out), json_(nullptr) {}

  Status Begin(const std::vector<QueryColumn>& columns) override {
    columns_ = columns;
    return Put("[");
  }
  Status Take(const Chunk& chunk) override {
    std::string text;
    for (size_t row = 0; row < chunk.rows(); ++row) {
      json_.BeginObject();
      for (size_t i = 0; i < chunk.columns(); ++i) {
        json_.Key(columns_[i].name);
        Value(chunk, i, row);
      }
      json_.EndObject();
      text += any_row_ ? ",\n" : "\n";
      text += json_.Take();
      any_row_ = true;
    }
    return PutJson(text);
  }
  Status End() override { return Put(any_row_ ? "\n]\n" : "]\n"); }

 private:
  void Value(const Chunk& chunk, size_t column, size_t row) {
    if (chunk.IsNull(column, row)) return json_.Null();
    switch (chunk.type(column)) {
      case ValueType::kBool:
        return json_.Bool(chunk.Values<bool>(column)[row]);
      case ValueType::kFloat:
        return json_.Double(chunk.Values<float>(column)[row]);
      case ValueType::kDouble:
        return json_.Double(chunk.Values<double>(column)[row]);
      case ValueType::kText: {
        const std::string_view text = chunk.Text(column, row);
        if (columns_[column].is_json) return json_.Raw(WithoutNan(text));
        return columns_[column].is_decimal ? json_.Raw(text) : json_.String(text);
      }
      default:
        return json_.Raw(CellText(chunk, column, row));
    }
  }

  std::vector<QueryColumn> columns_;
  base::JsonWriter json_;  // of one row
  bool any_row_ = false;
};

std::unique_ptr<Sink> MakeSink(QueryFormat format, std::FILE* out) {
  if (format == QueryFormat::kCsv || format == QueryFormat::kRawCsv) {
    return std::make_unique<CsvSink>(out, format == QueryFormat::kRawCsv);
  }
  if (format == QueryFormat::kJson) return std::make_unique<JsonSink>(out);
  return std::make_unique<TableSink>(out);
}

}  // namespace

std::string CellText(const Chunk& chunk, size_t column, size_t row) {
  switch (chunk.type(column)) {
    case ValueType::kBool:
      return chunk.Values<bool>(column)[row] ? "true" : "false";
    case ValueType::kInt8:
      return std::to_string(chunk.Values<int8_t>(column)[row]);
    case ValueType::kInt16:
      return std::to_string(chunk.Values<int16_t>(column)[row]);
    case ValueType::kInt32:
      return std::to_string(chunk.Values<int32_t>(column)[row]);
    case ValueType::kInt64:
      return std::to_string(chunk.Values<int64_t>(column)[row]);
    case ValueType::kUint8:
      return std::to_string(chunk.Values<uint8_t>(column)[row]);
    case ValueType::kUint16:
      return std::to_string(chunk.Values<uint16_t>(column)[row]);
    case ValueType::kUint32:
      return std::to_string(chunk.Values<uint32_t>(column)[row]);
    case ValueType::kUint64:
      return std::to_string(chunk.Values<uint64_t>(column)[row]);
    case ValueType::kFloat:
      return base::PythonDoubleText(chunk.Values<float>(column)[row]);
    case ValueType::kDouble:
      return base::PythonDoubleText(chunk.Values<double>(column)[row]);
    case ValueType::kHugeInt:
      return HugeIntText(chunk.Values<store::HugeInt>(column)[row]);
    case ValueType::kText:
      return std::string(chunk.Text(column, row));
    case ValueType::kOther:
      break;
  }
  return "";
}

Status WriteQuery(const store::JointStore& store, const std::string& sql, QueryFormat format,
                  std::FILE* out) {
  const std::unique_ptr<Sink> sink = MakeSink(format, out);
  SONDE_RETURN_IF_ERROR(store.ScanWithColumns(
      sql, [&](const std::vector<QueryColumn>& columns) { return sink->Begin(columns); },
      [&](const Chunk& chunk) { return sink->Take(chunk); }));
  return sink->End();
}

Status WriteWorkbook(const store::JointStore& store, const std::string& sql,
                     const std::string& path) {
  report::XlsxSheet sheet{.name = "result", .rows = {{}}};
  SONDE_RETURN_IF_ERROR(store.ScanWithColumns(
      sql,
      [&](const std::vector<QueryColumn>& columns) -> Status {
        for (const QueryColumn& column : columns) sheet.rows[0].push_back(column.name);
        return {};
      },
      [&](const Chunk& chunk) -> Status {
        if (sheet.rows.size() + chunk.rows() > report::kMaxSheetRows) {
          return base::OutOfRangeError(
              Concat("a sheet holds ", std::to_string(report::kMaxSheetRows),
                     " rows, the result has more: add a LIMIT, or write csv or parquet"));
        }
        for (size_t row = 0; row < chunk.rows(); ++row) {
          std::vector<std::string>& cells = sheet.rows.emplace_back();
          for (size_t i = 0; i < chunk.columns(); ++i) {
            cells.push_back(chunk.IsNull(i, row) ? std::string() : CellText(chunk, i, row));
          }
        }
        return {};
      }));
  return report::WriteXlsxSheets({std::move(sheet)}, path);
}

}  // namespace sonde::cli
