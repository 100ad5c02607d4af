#include "precision/merge/table_file.h"

#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include "base/files.h"
#include "base/strings.h"

namespace sonde::precision {
namespace {

using base::Concat;
using base::CorruptDataError;

constexpr size_t kMaxFile = size_t{1} << 30U;
constexpr size_t kMaxUnpacked = size_t{4} << 30U;
constexpr size_t kMaxColumns = 16'384;  // of Excel

// Little-endian numbers at a place that may lie outside.
class Bytes {
 public:
  explicit Bytes(std::string_view text) : text_(text) {}
  uint32_t At(size_t offset, size_t size) const {
    uint32_t out = 0;
    for (size_t i = 0; i < size && offset + i < text_.size(); ++i) {
      out |= uint32_t{static_cast<uint8_t>(text_[offset + i])} << (8 * i);
    }
    return out;
  }
  bool Holds(size_t offset, size_t size) const {
    return offset <= text_.size() && size <= text_.size() - offset;
  }

 private:
  std::string_view text_;
};

Result<std::string> Inflate(std::string_view packed, size_t size) {
  if (size > kMaxUnpacked) return CorruptDataError("a part is larger than 4 GiB");
  std::string out(size, '\0');
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return base::InternalError("inflate failed");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int code = inflate(&stream, Z_FINISH);
  const size_t made = stream.total_out;
  inflateEnd(&stream);
  if (code != Z_STREAM_END || made != size) return CorruptDataError("a part cannot be unpacked");
  return out;
}

// A part of the package by name; nullopt when there is none.
Result<std::optional<std::string>> ReadPart(std::string_view file, std::string_view name) {
  constexpr std::string_view kEnd("PK\x05\x06", 4);
  const size_t end = file.rfind(kEnd);
  const Bytes bytes(file);
  if (end == std::string_view::npos || !bytes.Holds(end, 22)) {
    return CorruptDataError("is no workbook: it has no directory");
  }
  size_t at = bytes.At(end + 16, 4);
  for (uint32_t i = 0; i < bytes.At(end + 10, 2); ++i) {
    if (!bytes.Holds(at, 46) || file.substr(at, 4) != std::string_view("PK\x01\x02", 4)) {
      return CorruptDataError("its directory is broken");
    }
    const size_t name_size = bytes.At(at + 28, 2);
    if (bytes.Holds(at + 46, name_size) && file.substr(at + 46, name_size) == name) {
      const size_t packed_size = bytes.At(at + 20, 4);
      const size_t local = bytes.At(at + 42, 4);
      const size_t begin = local + 30 + bytes.At(local + 26, 2) + bytes.At(local + 28, 2);
      if (!bytes.Holds(local, 30) || !bytes.Holds(begin, packed_size)) {
        return CorruptDataError("a part reaches beyond the file");
      }
      const std::string_view packed = file.substr(begin, packed_size);
      if (bytes.At(at + 10, 2) == 0) return std::optional<std::string>(packed);
      SONDE_ASSIGN_OR_RETURN(std::string text, Inflate(packed, bytes.At(at + 24, 4)));
      return std::optional<std::string>(std::move(text));
    }
    at += 46 + name_size + bytes.At(at + 30, 2) + bytes.At(at + 32, 2);
  }
  return std::optional<std::string>();
}

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

Result<std::vector<std::string>> ParseRow(std::string_view xml,
                                          const std::vector<std::string>& shared) {
  std::vector<std::string> row;
  Elements cells(xml, "c");
  while (cells.Next()) {
    const size_t column = ColumnOf(cells.Attribute("r"), row.size());
    if (column >= kMaxColumns) return CorruptDataError("a row has too many columns");
    if (column >= row.size()) row.resize(column + 1);
    const std::string_view type = cells.Attribute("t");
    if (type == "inlineStr") {
      row[column] = TextOf(cells.inner());
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
  }
  return row;
}

}  // namespace

TableRows ParseCsvTable(std::string_view text) {
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
  SONDE_ASSIGN_OR_RETURN(const auto sheet, ReadPart(bytes, "xl/worksheets/sheet1.xml"));
  if (!sheet) return CorruptDataError("is no workbook: it has no sheet");
  SONDE_ASSIGN_OR_RETURN(const auto texts, ReadPart(bytes, "xl/sharedStrings.xml"));
  std::vector<std::string> shared;
  if (texts) {
    Elements items(*texts, "si");
    while (items.Next()) shared.push_back(TextOf(items.inner()));
  }
  TableRows rows;
  Elements elements(*sheet, "row");
  while (elements.Next()) {
    SONDE_ASSIGN_OR_RETURN(std::vector<std::string> row, ParseRow(elements.inner(), shared));
    rows.push_back(std::move(row));
  }
  return rows;
}

Result<TableRows> ReadTableFile(const std::string& path) {
  SONDE_ASSIGN_OR_RETURN(const std::string bytes, base::ReadFile(path, kMaxFile));
  if (!path.ends_with(".xlsx")) return ParseCsvTable(bytes);
  return ParseXlsx(bytes).Annotate(path);
}

}  // namespace sonde::precision
