// Sets of the tables of a store: one bit each.
//
//   constexpr uint64_t kWanted = store::TablesOf<store::DeviceTaskRow, store::TaskKindRow>();
//
// Pure, any thread.
#pragma once

#include <cstdint>

#include "store/rows.h"

namespace sonde::store {

#define SONDE_TABLE_NUMBER(Row, table, columns, meaning) k##Row,
enum class TableNumber : uint8_t { SONDE_TABLES(SONDE_TABLE_NUMBER) };
#undef SONDE_TABLE_NUMBER

template <class Row>
inline constexpr uint64_t kTableBit = 0;
#define SONDE_TABLE_BIT(Row, table, columns, meaning) \
  template <>                                         \
  inline constexpr uint64_t kTableBit<Row> =          \
      uint64_t{1} << static_cast<unsigned>(TableNumber::k##Row);
SONDE_TABLES(SONDE_TABLE_BIT)
#undef SONDE_TABLE_BIT

inline constexpr uint64_t kAllTables = ~uint64_t{0};

template <class... Rows>
constexpr uint64_t TablesOf() {
  return (uint64_t{0} | ... | kTableBit<Rows>);
}

}  // namespace sonde::store
