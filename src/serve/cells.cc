#include "serve/cells.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/strings.h"

namespace sonde::serve {
namespace {

using store::Chunk;
using store::ValueType;

constexpr int64_t kExact = int64_t{1} << 53U;

template <class T>
__int128 Widen(const Chunk& chunk, size_t column, size_t row) {
  return static_cast<__int128>(chunk.Values<T>(column)[row]);
}

__int128 WidenHuge(const store::HugeInt& value) {
  return (static_cast<__int128>(value.upper) << 64U) + static_cast<__int128>(value.lower);
}

std::optional<__int128> Integer(const Chunk& chunk, size_t column, size_t row) {
  switch (chunk.type(column)) {
    case ValueType::kInt8:
      return Widen<int8_t>(chunk, column, row);
    case ValueType::kInt16:
      return Widen<int16_t>(chunk, column, row);
    case ValueType::kInt32:
      return Widen<int32_t>(chunk, column, row);
    case ValueType::kInt64:
      return Widen<int64_t>(chunk, column, row);
    case ValueType::kUint8:
      return Widen<uint8_t>(chunk, column, row);
    case ValueType::kUint16:
      return Widen<uint16_t>(chunk, column, row);
    case ValueType::kUint32:
      return Widen<uint32_t>(chunk, column, row);
    case ValueType::kUint64:
      return Widen<uint64_t>(chunk, column, row);
    case ValueType::kHugeInt:
      return WidenHuge(chunk.Values<store::HugeInt>(column)[row]);
    default:
      return std::nullopt;
  }
}

std::string Decimal(__int128 value) {
  const bool negative = value < 0;
  // Digits of the negative: its range is larger by one.
  __int128 rest = negative ? value : -value;
  std::string digits;
  do {
    digits += static_cast<char>('0' - static_cast<int>(rest % 10));
    rest /= 10;
  } while (rest != 0);
  if (negative) digits += '-';
  std::reverse(digits.begin(), digits.end());
  return digits;
}

double Real(const Chunk& chunk, size_t column, size_t row) {
  return chunk.type(column) == ValueType::kFloat
             ? static_cast<double>(chunk.Values<float>(column)[row])
             : chunk.Values<double>(column)[row];
}

void WriteInteger(base::JsonWriter& json, __int128 value) {
  if (value > -kExact && value < kExact) {
    json.Int(static_cast<int64_t>(value));
  } else {
    json.String(Decimal(value));
  }
}

void WriteReal(base::JsonWriter& json, double value) {
  if (!std::isfinite(value)) return json.String(base::PythonDoubleText(value));
  json.Double(value);
}

}  // namespace

void WriteCell(base::JsonWriter& json, const Chunk& chunk, size_t column, size_t row) {
  if (chunk.IsNull(column, row)) return json.Null();
  if (chunk.type(column) == ValueType::kText) return json.String(chunk.Text(column, row));
  if (chunk.type(column) == ValueType::kBool) return json.Bool(chunk.Values<bool>(column)[row]);
  if (const auto value = Integer(chunk, column, row)) return WriteInteger(json, *value);
  WriteReal(json, Real(chunk, column, row));
}

void WriteCell(report::CsvWriter& csv, const Chunk& chunk, size_t column, size_t row) {
  if (chunk.IsNull(column, row)) return csv.Empty();
  if (chunk.type(column) == ValueType::kText) return csv.Text(chunk.Text(column, row));
  if (chunk.type(column) == ValueType::kBool) {
    return csv.Text(chunk.Values<bool>(column)[row] ? "true" : "false");
  }
  if (const auto value = Integer(chunk, column, row)) return csv.Text(Decimal(*value));
  csv.Double(Real(chunk, column, row));
}

std::string CellType(ValueType type) {
  switch (type) {
    case ValueType::kBool:
      return "boolean";
    case ValueType::kText:
    case ValueType::kOther:
      return "text";
    case ValueType::kFloat:
    case ValueType::kDouble:
      return "real";
    default:
      return "integer";
  }
}

CellSink::CellSink(int64_t max_rows) : json_(nullptr), max_rows_(max_rows) { json_.BeginArray(); }

bool CellSink::Cell() {
  if (rows_ >= max_rows_) return false;
  if (!is_begun_) json_.BeginArray();
  is_begun_ = true;
  return true;
}

void CellSink::Int(int64_t value) {
  if (Cell()) WriteInteger(json_, value);
}
void CellSink::Double(double value) {
  if (Cell()) WriteReal(json_, value);
}
void CellSink::Text(std::string_view value) {
  if (Cell()) json_.String(value);
}
void CellSink::Null() {
  if (Cell()) json_.Null();
}
void CellSink::EndRow() {
  if (is_begun_) json_.EndArray();
  is_begun_ = false;
  ++rows_;
}

std::string CellSink::Take() {
  json_.EndArray();
  return json_.Take();
}

}  // namespace sonde::serve
