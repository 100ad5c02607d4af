// Tables of sampled values in databases of Ascend's profilers: how their rows and series are named
// in the store, for who reads and who writes them.
//
// Pure, any thread.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

namespace sonde::importers {

// A series is named "<label> <number> <text> <module> <series>", of the key columns those that the
// table has; the unit is that of the database, written behind it.
struct CounterSeries {
  std::string_view column;
  std::string_view name;
};
struct CounterTable {
  std::string_view table;
  std::string_view label;
  std::string_view number_key;  // column with a number of the unit, "" none
  std::string_view text_key;    // column with a text id, "" none
  std::array<CounterSeries, 21> series;
  std::string_view module_key = {};  // column with a number of ENUM_MODULE
};

std::span<const CounterTable> CounterTables();

// What the name of a counter's track says of its place in a database.
struct CounterPlace {
  const CounterTable* table = nullptr;
  size_t series = 0;
  std::string number;  // of the key columns, "" where there is none
  std::string text;
  std::string module;
  double factor = 1;  // the value of the database is that of the track times this
};

// Knows names of databases, and those of timelines with the unit behind them ("HBM 0/Read
// Read(MB/s)"). False where no table has such a series.
bool FindCounterPlace(std::string_view track_name, CounterPlace& place);

}  // namespace sonde::importers
