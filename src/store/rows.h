// Row structs of the trace store, made from the declarations in tables.h.
//
// SliceRow{.slice_id = 0, .ts = ...}: members carry the columns' names and order; a member that is
// not set holds the column's empty value: -1 for Ref, Opt, Name and Lookup, else 0 or empty text.
// Text members are views that need to live until TableWriter::Append returns.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "store/tables.h"

namespace sonde::store {

enum class ColumnType : uint8_t {
  kInt16,
  kInt32,
  kInt64,
  kDouble,
  kText,
  kRef,
  kOpt,
  kName,
  kLookup,
};

// Id of "no text" in Name columns, and "none" in Ref, Opt and Lookup columns.
inline constexpr int32_t kNone = -1;

template <ColumnType type>
struct ColumnTraits {
  using Type = int32_t;  // kRef, kName, kLookup
  static constexpr Type kDefault = kNone;
};
template <>
struct ColumnTraits<ColumnType::kInt16> {
  using Type = int16_t;
  static constexpr Type kDefault = 0;
};
template <>
struct ColumnTraits<ColumnType::kInt32> {
  using Type = int32_t;
  static constexpr Type kDefault = 0;
};
template <>
struct ColumnTraits<ColumnType::kInt64> {
  using Type = int64_t;
  static constexpr Type kDefault = 0;
};
template <>
struct ColumnTraits<ColumnType::kOpt> {
  using Type = int64_t;
  static constexpr Type kDefault = kNone;
};
template <>
struct ColumnTraits<ColumnType::kDouble> {
  using Type = double;
  static constexpr Type kDefault = 0;
};
template <>
struct ColumnTraits<ColumnType::kText> {
  using Type = std::string_view;
  static constexpr Type kDefault = {};
};

#define SONDE_STORE_FIELD(column, type, unit, meaning, source) \
  ColumnTraits<ColumnType::k##type>::Type column = ColumnTraits<ColumnType::k##type>::kDefault;
#define SONDE_STORE_ROW(Row, table, columns, meaning) \
  struct Row {                                        \
    columns(SONDE_STORE_FIELD)                        \
  };
SONDE_TABLES(SONDE_STORE_ROW)
#undef SONDE_STORE_ROW
#undef SONDE_STORE_FIELD

// RowTraits<SliceRow>: table name in the file, column types, and the visit of every member.
//
// A table without columns of texts is packed: stored as one column of type STRUCT, with a view of
// plain columns as its base table. The database then keeps no statistics of distinct values, which
// took a fifth of the time of writing many rows and a tenth of that of opening a store with few; it
// reads as fast.
template <class Row>
struct RowTraits;

namespace internal {
template <size_t n>
constexpr bool HasTexts(const std::array<ColumnType, n>& types) {
  for (const ColumnType type : types) {
    if (type == ColumnType::kText) return true;
  }
  return false;
}
template <size_t n>
constexpr bool NeedsView(const std::array<ColumnType, n>& types) {
  for (const ColumnType type : types) {
    if (type >= ColumnType::kRef) return true;
  }
  return false;
}
}  // namespace internal

#define SONDE_STORE_TYPE(column, type, unit, meaning, source) ColumnType::k##type,
#define SONDE_STORE_VISIT(column, type, unit, meaning, source) visitor(row.column);
#define SONDE_STORE_TRAITS(Row, table, columns, meaning)                                     \
  template <>                                                                                \
  struct RowTraits<Row> {                                                                    \
    static constexpr auto kTypes = std::to_array({columns(SONDE_STORE_TYPE)});               \
    static constexpr size_t kColumns = kTypes.size();                                        \
    static constexpr bool kHasTexts = internal::HasTexts(kTypes);                            \
    static constexpr bool kPacked = !kHasTexts;                                              \
    static constexpr const char* kTable = internal::NeedsView(kTypes) ? #table "_" : #table; \
    static constexpr const char* kStored = kPacked ? #table "_packed" : kTable;              \
    template <class Visitor>                                                                 \
    static void Visit(const Row& row, Visitor&& visitor) {                                   \
      columns(SONDE_STORE_VISIT)                                                             \
    }                                                                                        \
  };
SONDE_TABLES(SONDE_STORE_TRAITS)
#undef SONDE_STORE_TRAITS
#undef SONDE_STORE_VISIT
#undef SONDE_STORE_TYPE

}  // namespace sonde::store
