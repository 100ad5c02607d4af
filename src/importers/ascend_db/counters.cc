// Sampled values of devices and host, one description a table.
#include <cmath>
#include <optional>

#include "base/strings.h"
#include "importers/ascend/counter_tables.h"
#include "importers/ascend_db/db_trace.h"
#include "importers/ascend_db/issues.h"
#include "store/core_frequency.h"

namespace sonde::importers::db_import {
namespace {

using base::Concat;
using base::SqliteRow;

constexpr int kFirstSeries = 5;

// Whether a double cannot hold the whole number of a cell.
bool IsRounded(const SqliteRow& row, int column, double value) {
  constexpr double kExact = 9007199254740992.0;   // 2^53
  constexpr double kEnd = 9223372036854775808.0;  // 2^63
  constexpr int kReal = 2;
  if (std::fabs(value) < kExact || row.Type(column) == kReal) return false;
  const auto whole = row.Int(column);
  return !whole || value >= kEnd || static_cast<int64_t>(value) != *whole;
}

// The value of a series; nullopt for none, and counted where the cell is not empty.
std::optional<double> ValueOf(DbTrace& trace, const SqliteRow& row, int column,
                              const CounterTable& source) {
  const auto value = row.Double(column);
  const std::string_view name = source.series[static_cast<size_t>(column - kFirstSeries)].name;
  const bool is_size = name == "B" || name.ends_with(" B");
  if (value && std::isfinite(*value) && !(is_size && *value < 0)) {
    if (IsRounded(row, column, *value)) {
      trace.rows.issues.Add(kDbRoundedCounter, Concat(trace.file, ": ", source.table));
    }
    return value;
  }
  if (!row.IsNull(column)) trace.BadValue(source.table);
  return std::nullopt;
}

void ReadSource(DbTrace& trace, const CounterTable& source) {
  if (!trace.reader.HasTable(source.table)) return;
  std::vector<std::string_view> columns = {"timestampNs", "deviceId", source.number_key,
                                           source.text_key, source.module_key};
  for (const CounterSeries& series : source.series) {
    if (!series.column.empty()) columns.push_back(series.column);
  }
  trace.Read(source.table, columns, [&](const SqliteRow& row) {
    const auto ts = row.Int(0);
    if (!ts) return trace.WrongType(source.table);
    const int64_t device = row.Int(1).value_or(-1);
    std::string label(source.label);
    if (const auto number = row.Int(2)) label += Concat(" ", std::to_string(*number));
    if (!row.IsNull(3)) label += Concat(" ", trace.TextView(row, 3));
    if (const auto module = row.Int(4)) {
      const int32_t name = trace.Enum("ENUM_MODULE", module);
      label += Concat(" ", name == store::kNone ? std::to_string(*module)
                                                : std::string(trace.rows.names.Text(name)));
    }
    for (int i = kFirstSeries; i < static_cast<int>(columns.size()); ++i) {
      const auto value = ValueOf(trace, row, i, source);
      if (!value) continue;
      const CounterSeries& series = source.series[static_cast<size_t>(i - kFirstSeries)];
      const int32_t track = trace.rows.Track(
          {.kind = capture::TrackKind::kCounter,
           .name = Concat(label, " ", series.name),
           .process_id = trace.MainProcess(),
           .device_id = device >= 0 && device <= INT32_MAX ? static_cast<int32_t>(device) : -1});
      trace.rows.counters.push_back({.ts = *ts, .track_id = track, .value = *value});
    }
  });
}

}  // namespace

void ReadCounters(DbTrace& trace) {
  const bool reads_all = (trace.tables & store::kTableBit<store::CounterRow>) != 0;
  for (const CounterTable& source : CounterTables()) {
    if (reads_all || store::IsCoreFrequency(source.label)) ReadSource(trace, source);
  }
}

}  // namespace sonde::importers::db_import
