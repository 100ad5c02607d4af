// The counters of the frequency of a device's cores: by the names of their tracks, and as a part of
// the table of counters that can be asked for by itself. An importer that reads by table may leave
// out the other counters then, which are many. Pure, any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "store/table_set.h"

namespace sonde::store {

// Behind it may follow the number of a die and the unit.
inline constexpr std::string_view kCoreFrequencyName = "AI Core Freq";

inline bool IsCoreFrequency(std::string_view track_name) {
  return track_name.starts_with(kCoreFrequencyName);
}

// In a set of tables (table_set.h).
inline constexpr uint64_t kCoreFrequency = uint64_t{1} << 63U;
#define SONDE_TABLE_ONE(Row, table, columns, meaning) +1  // NOLINT(bugprone-macro-parentheses)
static_assert(0 SONDE_TABLES(SONDE_TABLE_ONE) < 63, "the bit is that of a table");
#undef SONDE_TABLE_ONE

// The table, or a part of it.
template <class Row>
inline constexpr uint64_t kAnyOf = kTableBit<Row>;
template <>
inline constexpr uint64_t kAnyOf<CounterRow> = kTableBit<CounterRow> | kCoreFrequency;

}  // namespace sonde::store
