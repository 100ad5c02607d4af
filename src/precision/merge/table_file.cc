#include "precision/merge/table_file.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/files.h"
#include "base/strings.h"
#include "precision/archive/zip_file.h"

namespace sonde::precision {
namespace {

using base::Concat;
using base::CorruptDataError;

constexpr size_t kMaxFile = size_t{1} << 30U;
constexpr size_t kMaxColumns = 16'384;  // of Excel

void AppendUtf8(uint32_t code, std::string* out) {
  if (code < 0x80) {
    *out += static_cast<char>(code);
  } else if (code < 0x800) {
    *out += static_cast<char>(0xC0U | (code >> 6U));
    *out += static_cast<char>(0x80U | (code & 0x3FU));
  } else if (code < 0x10000) {
    *out += static_cast<char>(0xE0U | (code >> 12U));
    *out += static_cast<char>(0x80U | ((code >> 6U) & 0x3FU));
    *out += static_cast<char>(0x80U | (code & 0x3FU));
  } else {
    *out += static_cast<char>(0xF0U | ((code >> 18U) & 0x7U));
    *out += static_cast<char>(0x80U | ((code >> 12U) & 0x3FU));
    *out += static_cast<char>(0x80U | ((code >> 6U) & 0x3FU));
    *out += static_cast<char>(0x80U | (code & 0x3FU));
  }
}

std::string Unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const size_t end = text[i] == '&' ? text.find(';', i) : std::string_view::npos;
    if (end == std::string_view::npos) {
      out += text[i];
      continue;
    }
    const std::string_view name = text.substr(i + 1, end - i - 1);
    if (name == "lt") out += '<';
    if (name == "gt") out += '>';
    if (name == "amp") out += '&';
    if (name == "quot") out += '"';
    if (name == "apos") out += '\'';
    if (name.starts_with('#') && !name.starts_with("#x")) {
      AppendUtf8(static_cast<uint32_t>(base::ParseUint64(name.substr(1)).value_or(0xFFFD)), &out);
    }
    i = end;
  }
  return out;
}

// Walks over elements of one name: `<name ...>inner</name>` or `<name .../>`.
class Elements {
 public:
  Elements(std::string_view xml, std::string_view name) : xml_(xml), open_(Concat("<", name)) {
    close_ = Concat("</", name, ">");
  }

  bool Next() {
    while (true) {
      const size_t begin = xml_.find(open_, at_);
      if (begin == std::string_view::npos) return false;
      const size_t behind = begin + open_.size();
      const size_t end = xml_.find('>', behind);
      if (end == std::string_view::npos) return false;
      at_ = end + 1;
      const char next = xml_[behind];
      if (next != ' ' && next != '>' && next != '/') continue;  // a longer name
      attributes_ = xml_.substr(behind, end - behind);
      inner_ = {};
      if (attributes_.ends_with('/')) return true;
      const size_t close = xml_.find(close_, at_);
      if (close == std::string_view::npos) return false;
      inner_ = xml_.substr(at_, close - at_);
      at_ = close + close_.size();
      return true;
    }
  }
  std::string_view inner() const { return inner_; }
  std::string_view Attribute(std::string_view name) const {
    const std::string key = Concat(" ", name, "=\"");
    const size_t begin = attributes_.find(key);
    if (begin == std::string_view::npos) return {};
    const std::string_view rest = attributes_.substr(begin + key.size());
    return rest.substr(0, rest.find('"'));
  }

 private:
  std::string_view xml_;
  std::string open_;
  std::string close_;
  std::string_view attributes_;
  std::string_view inner_;
  size_t at_ = 0;
};

// All <t> of a rich text, one behind the other.
std::string TextOf(std::string_view xml) {
  std::string out;
  Elements texts(xml, "t");
  while (texts.Next()) out += Unescaped(texts.inner());
  return out;
}

// "BC12" -> 54; the next column where the cell has no reference.
size_t ColumnOf(std::string_view reference, size_t next) {
  size_t column = 0;
  for (const char c : reference) {
    if (c < 'A' || c > 'Z') break;
    column = column * 26 + static_cast<size_t>(c - 'A' + 1);
    if (column > kMaxColumns) return kMaxColumns;
  }
  return column == 0 ? next : column - 1;
}

// What the cells of a sheet take in memory, and the most that they may.
class CellBudget {
 public:
  Status Take(size_t bytes) {
    constexpr size_t kMostBytes = size_t{192} << 20U;
    bytes_ += bytes;
    if (bytes_ <= kMostBytes) return {};
    return base::OutOfRangeError("the sheet holds more than 192 MB of cells: save it as csv");
  }
  Status TakeText(std::string_view text) {
    constexpr size_t kInside = 15;  // of a string, without memory of its own
    return text.size() > kInside ? Take(text.size()) : Status();
  }

 private:
  size_t bytes_ = 0;
};

Result<std::vector<std::string>> ParseRow(std::string_view xml,
                                          const std::vector<std::string>& shared,
                                          CellBudget& budget) {
  std::vector<std::string> row;
  Elements cells(xml, "c");
  while (cells.Next()) {
    const size_t column = ColumnOf(cells.Attribute("r"), row.size());
    if (column >= kMaxColumns) return CorruptDataError("a row has too many columns");
    if (column >= row.size()) {
      SONDE_RETURN_IF_ERROR(budget.Take((column + 1 - row.size()) * sizeof(std::string)));
      row.resize(column + 1);
    }
    const std::string_view type = cells.Attribute("t");
    if (type == "inlineStr") {
      row[column] = TextOf(cells.inner());
      SONDE_RETURN_IF_ERROR(budget.TakeText(row[column]));
      continue;
    }
    Elements values(cells.inner(), "v");
    if (!values.Next()) continue;
    row[column] = Unescaped(values.inner());
    if (type == "b") row[column] = row[column] == "1" ? "True" : "False";
    if (type == "s") {
      const auto index = base::ParseUint64(row[column]);
      if (!index || *index >= shared.size()) return CorruptDataError("a cell names no text");
      row[column] = shared[*index];
    }
    SONDE_RETURN_IF_ERROR(budget.TakeText(row[column]));
  }
  return row;
}

// Rows of a sheet whose text comes in pieces. A workbook may unpack to far more than its size, and
// its cells may name one long text a million times.
class SheetReader {
 public:
  Status ReadShared(std::string_view workbook) {
    constexpr size_t kMostBytes = size_t{64} << 20U;
    SONDE_ASSIGN_OR_RETURN(const auto texts,
                           ReadZipMember(workbook, "xl/sharedStrings.xml", kMostBytes));
    if (!texts) return {};
    Elements items(*texts, "si");
    while (items.Next()) shared_.push_back(TextOf(items.inner()));
    return {};
  }
  Status Take(std::string_view piece) {
    constexpr size_t kMostRow = size_t{16} << 20U;
    constexpr std::string_view kRowEnd = "</row>";
    const size_t seen = waiting_.size() - std::min(waiting_.size(), kRowEnd.size());
    waiting_ += piece;
    const size_t last = waiting_.rfind(kRowEnd);
    if (last == std::string::npos || last < seen) {
      if (waiting_.size() <= kMostRow) return {};
      return base::OutOfRangeError("a row of the sheet is larger than 16 MB");
    }
    const std::string_view whole = std::string_view(waiting_).substr(0, last + kRowEnd.size());
    Elements elements(whole, "row");
    while (elements.Next()) {
      SONDE_ASSIGN_OR_RETURN(std::vector<std::string> row,
                             ParseRow(elements.inner(), shared_, budget_));
      SONDE_RETURN_IF_ERROR(budget_.Take(sizeof(std::vector<std::string>)));
      rows_.push_back(std::move(row));
    }
    waiting_.erase(0, whole.size());
    return {};
  }
  TableRows TakeRows() { return std::move(rows_); }

 private:
  std::vector<std::string> shared_;
  std::string waiting_;  // behind the last whole row
  TableRows rows_;
  CellBudget budget_;
};

}  // namespace

TableRows ParseCsvTable(std::string_view text) {
  // The byte order mark that Excel writes in front of a csv file.
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  TableRows rows;
  std::vector<std::string> row;
  std::string cell;
  bool quoted = false;
  const auto end_row = [&] {
    row.push_back(std::exchange(cell, {}));
    rows.push_back(std::exchange(row, {}));
  };
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
      cell += c;
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && c == ',') {
      row.push_back(std::exchange(cell, {}));
    } else if (!quoted && c == '\n') {
      end_row();
    } else if (quoted || c != '\r') {
      cell += c;
    }
  }
  if (!cell.empty() || !row.empty()) end_row();
  return rows;
}

Result<TableRows> ParseXlsx(std::string_view bytes) {
  SheetReader reader;
  SONDE_RETURN_IF_ERROR(reader.ReadShared(bytes));
  SONDE_ASSIGN_OR_RETURN(const bool has_sheet, StreamZipMember(bytes, "xl/worksheets/sheet1.xml",
                                                               [&](std::string_view piece) {
                                                                 return reader.Take(piece);
                                                               }));
  if (!has_sheet) return CorruptDataError("is no workbook: it has no sheet");
  return reader.TakeRows();
}

Result<TableRows> ReadTableFile(const std::string& path) {
  if (!path.ends_with(".xlsx")) {
    SONDE_ASSIGN_OR_RETURN(const std::string bytes, base::ReadFile(path, kMaxFile));
    return ParseCsvTable(bytes);
  }
  SONDE_ASSIGN_OR_RETURN(const base::MappedFile file, base::MappedFile::Open(path));
  return ParseXlsx(file.text()).Annotate(path);
}

}  // namespace sonde::precision
