// Tables of sampled values in databases of Ascend's profilers: names of their rows and series in
// the store, for reader and writer.
//
// Pure, any thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace sonde::importers {

// A series is named "<label> <number> <text> <module> <series>", with the key columns that the
// table has, followed by the database's unit.
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

// The place in a database of a counter, from the name of its track.
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

// How a timeline of the vendor shows a counter: an event of that name with the value under `key`.
// Read back, its track is called "<name> <key>", or as OfTimeline of the source says.
struct TimelineCounter {
  std::string_view process;  // that it lies in; empty: its own
  int64_t sort_index = -1;   // of that process, as the device tool has it
  bool is_device = true;
  std::string name;
  std::string key;
  double factor = 1;  // the value of the timeline is that of the track times this
  std::string more;   // further arguments: `,"acc_id":3`
};
TimelineCounter CounterOfTimeline(std::string_view track_name);

// The name that the track of a timeline's counter gets. Where only its process distinguishes it
// from others that is part of it: "NIC Port 0/Rx Rx Packets", "SIO/req_rx die 0".
std::string TrackOfTimeline(std::string_view process, std::string_view counter);

// The place that the device tool's timeline gives a process of counters; null where it has none of
// that name.
struct TimelineProcess {
  std::string_view table;
  std::string_view name;
  int64_t sort_index;
  bool is_device = true;
};
const TimelineProcess* FindTimelineProcess(std::string_view name);

}  // namespace sonde::importers
