// A piece of a query's result: up to 2 048 rows, by columns, as DuckDB made it.
//
// Valid only inside the call that gets it. One thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/check.h"

namespace sonde::store {

// Layout of the values of a result column in memory.
enum class ValueType : uint8_t {
  kBool,  // bool
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUint8,
  kUint16,
  kUint32,
  kUint64,
  kFloat,
  kDouble,
  kHugeInt,  // HugeInt
  kText,     // use Text()
  kOther,    // dates, lists, ...: cast to VARCHAR in the query
};

// 128 bits as DuckDB lays them out; sums of integers have this type unless cast.
struct HugeInt {
  uint64_t lower;
  int64_t upper;
};

template <class T>
constexpr ValueType ValueTypeOf() {
  if constexpr (std::is_same_v<T, bool>) return ValueType::kBool;
  if constexpr (std::is_same_v<T, int8_t>) return ValueType::kInt8;
  if constexpr (std::is_same_v<T, int16_t>) return ValueType::kInt16;
  if constexpr (std::is_same_v<T, int32_t>) return ValueType::kInt32;
  if constexpr (std::is_same_v<T, int64_t>) return ValueType::kInt64;
  if constexpr (std::is_same_v<T, uint8_t>) return ValueType::kUint8;
  if constexpr (std::is_same_v<T, uint16_t>) return ValueType::kUint16;
  if constexpr (std::is_same_v<T, uint32_t>) return ValueType::kUint32;
  if constexpr (std::is_same_v<T, uint64_t>) return ValueType::kUint64;
  if constexpr (std::is_same_v<T, float>) return ValueType::kFloat;
  if constexpr (std::is_same_v<T, double>) return ValueType::kDouble;
  if constexpr (std::is_same_v<T, HugeInt>) return ValueType::kHugeInt;
  return ValueType::kOther;
}

class Chunk {
 public:
  struct Column {
    ValueType type = ValueType::kOther;
    void* data = nullptr;
    const uint64_t* validity = nullptr;  // null: no NULL in the column
  };
  Chunk(size_t rows, std::vector<Column> columns) : rows_(rows), columns_(std::move(columns)) {}

  size_t rows() const { return rows_; }
  size_t columns() const { return columns_.size(); }
  ValueType type(size_t column) const { return columns_[column].type; }

  // Values of a column of exactly this type; a value whose IsNull is true is arbitrary.
  template <class T>
  std::span<const T> Values(size_t column) const {
    CHECK(columns_[column].type == ValueTypeOf<T>(), "column has another type: cast in the query");
    return {static_cast<const T*>(columns_[column].data), rows_};
  }
  bool IsNull(size_t column, size_t row) const {
    const uint64_t* validity = columns_[column].validity;
    return validity != nullptr && ((validity[row / 64] >> (row % 64)) & 1U) == 0;
  }
  // Of a kText column; valid as long as the chunk.
  std::string_view Text(size_t column, size_t row) const;

 private:
  size_t rows_;
  std::vector<Column> columns_;
};

}  // namespace sonde::store
