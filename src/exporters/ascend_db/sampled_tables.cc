// Sampled values: one table a kind of unit, a row a moment and unit.
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/strings.h"
#include "exporters/ascend_db/db_tables.h"
#include "importers/ascend/counter_tables.h"

namespace sonde::exporters {
namespace {

using base::Concat;
using importers::CounterPlace;
using importers::CounterTable;
using recipes::TraceData;
using report::SqliteTable;

constexpr std::string_view kNumber = " NUMERIC";
constexpr std::string_view kWhole = " INTEGER";

// A row: who (device, key columns) and when; those of one who and moment are distinguished by
// `turn`.
struct RowKey {
  int64_t ts = 0;
  int64_t device = 0;
  std::string number;
  std::string text;
  std::string module;
  size_t turn = 0;
  auto operator<=>(const RowKey&) const = default;
};
using Values = std::vector<std::optional<double>>;

size_t SeriesOf(const CounterTable& table) {
  size_t count = 0;
  while (count < table.series.size() && !table.series[count].column.empty()) ++count;
  return count;
}

class Rows {
 public:
  explicit Rows(const CounterTable& table) : table_(table), series_(SeriesOf(table)) {}

  void Add(RowKey key, const CounterPlace& place, double value) {
    for (;; ++key.turn) {
      Values& values = rows_.try_emplace(key, series_).first->second;
      if (values[place.series]) continue;
      values[place.series] = value * place.factor;
      return;
    }
  }

  Status Write(DbContext& context, std::map<std::string, int64_t>& modules) const {
    std::string columns = "deviceId INTEGER,timestampNs INTEGER";
    for (const std::string_view key : {table_.number_key, table_.text_key, table_.module_key}) {
      if (!key.empty()) columns += Concat(",", key, kWhole);
    }
    for (size_t i = 0; i < series_; ++i) columns += Concat(",", table_.series[i].column, kNumber);
    SONDE_ASSIGN_OR_RETURN(SqliteTable table,
                           SqliteTable::Create(context.file, table_.table, columns));
    for (const auto& [key, values] : rows_) {
      table.KnownInt(key.device).Int(key.ts);
      if (!table_.number_key.empty()) table.OptionalInt(base::ParseInt64(key.number));
      if (!table_.text_key.empty()) table.Int(context.ids.Id(StringRange::kDevice, key.text));
      if (!table_.module_key.empty()) {
        const auto next = static_cast<int64_t>(modules.size());
        table.Int(modules.try_emplace(key.module, next).first->second);
      }
      for (const std::optional<double>& value : values) Cell(value, table);
      table.End();
    }
    return table.Close();
  }

 private:
  // Whole numbers stay whole.
  static void Cell(const std::optional<double>& value, SqliteTable& table) {
    constexpr double kExact = 9007199254740992.0;  // 2^53
    if (!value) {
      table.Null();
    } else if (*value > -kExact && *value < kExact &&
               static_cast<double>(static_cast<int64_t>(*value)) == *value) {
      table.Int(static_cast<int64_t>(*value));
    } else {
      table.Double(*value);
    }
  }

  const CounterTable& table_;
  size_t series_;
  std::map<RowKey, Values> rows_;
};

struct Track {
  std::optional<CounterPlace> place;
  int64_t device = -1;
};

// Timelines give no device: where the trace has one, it is that.
std::vector<Track> PlacesOf(const DbContext& context) {
  const TraceData& data = context.data();
  const auto& devices = context.view.devices;
  const int64_t only = devices.size() == 1 ? devices.front().device_id : -1;
  std::vector<Track> places(data.tracks.size());
  for (size_t i = 0; i < places.size(); ++i) {
    const store::TrackRow& track = data.tracks[i];
    if (!data.IsOfKind(track, recipes::TrackKind::kCounter)) continue;
    CounterPlace place;
    if (importers::FindCounterPlace(data.Name(track.name), place)) places[i].place = place;
    places[i].device = track.device_id >= 0 ? track.device_id : only;
  }
  return places;
}

Status WriteModules(DbContext& context, const std::map<std::string, int64_t>& modules) {
  if (modules.empty()) return {};
  SONDE_ASSIGN_OR_RETURN(
      SqliteTable table,
      SqliteTable::Create(context.file, "ENUM_MODULE", "id INTEGER PRIMARY KEY,name TEXT"));
  for (const auto& [name, id] : modules) table.Int(id).Text(name).End();
  return table.Close();
}

}  // namespace

Status WriteSampledTables(DbContext& context) {
  const TraceData& data = context.data();
  const std::vector<Track> tracks = PlacesOf(context);
  std::map<std::string_view, Rows> tables;
  std::map<std::string_view, int64_t> without_table;
  for (const store::CounterRow& counter : data.counters) {
    const auto index = static_cast<size_t>(counter.track_id);
    const Track& track = tracks[index];
    if (!track.place) {
      ++without_table[data.Name(data.tracks[index].name)];
      continue;
    }
    const CounterPlace& place = *track.place;
    RowKey key{counter.ts, track.device, place.number, place.text, place.module, 0};
    tables.try_emplace(place.table->table, *place.table)
        .first->second.Add(std::move(key), place, counter.value);
  }
  std::map<std::string, int64_t> modules;
  for (const auto& [name, rows] : tables) {
    SONDE_RETURN_IF_ERROR(rows.Write(context, modules));
  }
  for (const auto& [name, count] : without_table) {
    context.LeaveOut(Concat("values of the counter '", name, "'"), count);
  }
  return WriteModules(context, modules);
}

}  // namespace sonde::exporters
