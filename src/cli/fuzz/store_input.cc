#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/files.h"
#include "base/strings.h"
#include "cli/fuzz/analysed.h"
#include "cli/fuzz/inputs.h"
#include "importers/capture/testing/training_capture.h"
#include "importers/import_trace.h"
#include "importers/registry.h"
#include "store/testing/plain_database.h"
#include "store/zoom_index.h"

namespace {

using namespace sonde;  // NOLINT(google-build-using-namespace): one file
using base::Concat;

constexpr std::array<std::string_view, 16> kValues = {
    "NULL",
    "-1",
    "0",
    "1",
    "2147483647",
    "-2147483648",
    "9223372036854775807",
    "(-9223372036854775807-1)",
    "1e300",
    "'nan'::DOUBLE",
    "''",
    "repeat('x', 70000)",
    "chr(10)",
    "'[[1,2],[3]]'",
    "'{\"a\":'",
    "'=1+1'",
};
constexpr std::array<std::string_view, 5> kTypes = {"VARCHAR", "BIGINT", "DOUBLE", "INTEGER",
                                                    "BLOB"};

struct Good {
  std::string span;
  std::string store;
  int64_t store_id = 0;
  std::string store_bytes;
  std::string zoom_bytes;
  std::vector<std::pair<std::string, std::vector<std::string>>> tables;  // with their columns
};

void Must(const base::Status& status) {
  if (!status.ok()) std::abort();
}

// A small capture whose records are gone: its store stands for them.
const Good& GoodStore() {
  static const Good good = [] {
    Good made;
    made.span = cli::FuzzFolder() + "/input/host_1_20260101000000000_ascend_pt";
    Must(base::MakeDirectories(made.span));
    importers::testing::CaptureBuilder capture;
    importers::testing::MakeTrainingCapture(capture, 400, {.with_memory = true});
    Must(capture.Write(made.span));
    const auto sources = importers::FindTraces(made.span);
    if (!sources.ok() || sources->size() != 1) std::abort();
    made.store = importers::StorePath(sources->front());
    const auto imported = importers::ImportTrace(sources->front(), made.store, {.threads = 1});
    Must(imported.status());
    made.store_id = imported->store->store_id();
    Must(sources->front().importer->remove_records(sources->front().path));
    made.store_bytes = *base::ReadFile(made.store);
    made.zoom_bytes = *base::ReadFile(store::ZoomIndex::PathFor(made.store));
    store::PlainDatabase database(made.store);
    for (const auto& row :
         database.Run("SELECT table_name, string_agg(column_name, ',' ORDER BY column_index) FROM "
                      "duckdb_columns() WHERE NOT internal GROUP BY 1 ORDER BY 1")) {
      std::vector<std::string> columns;
      for (const std::string_view name : base::Split(row[1], ',')) columns.emplace_back(name);
      made.tables.emplace_back(row[0], std::move(columns));
    }
    if (made.tables.size() < 10) std::abort();
    return made;
  }();
  return good;
}

std::string Statement(base::ByteReader& reader) {
  const auto& tables = GoodStore().tables;
  const auto action = reader.Read<uint8_t>();
  const auto& [table, columns] = tables[reader.Read<uint8_t>() % tables.size()];
  const std::string& column = columns[reader.Read<uint8_t>() % columns.size()];
  const std::string_view value = kValues.at(reader.Read<uint8_t>() % kValues.size());
  const auto part = reader.Read<uint8_t>();
  const std::string some =
      Concat(" WHERE rowid % ", std::to_string(part % 16 + 1), " = ", std::to_string(part / 16));
  switch (action % 8) {
    case 0:
      return Concat("ALTER TABLE ", table, " DROP COLUMN ", column);
    case 1:
      return Concat("ALTER TABLE ", table, " ALTER ", column, " DROP NOT NULL");
    case 2:
    case 3:
      return Concat("UPDATE ", table, " SET ", column, " = ", value, some);
    case 4:
      return Concat("ALTER TABLE ", table, " ALTER ", column, " TYPE ",
                    kTypes.at(part % kTypes.size()));
    case 5:
      return Concat("DELETE FROM ", table, some);
    case 6:
      return Concat("DROP TABLE ", table);
    default:
      return Concat("INSERT INTO ", table, " SELECT * FROM ", table);
  }
}

// The file with bytes of it changed: pieces of a place (u32) and a value (u8).
void Change(std::string bytes, base::ByteReader& reader, const std::string& path) {
  while (reader.ok() && reader.remaining() >= 5) {
    const size_t place = reader.Read<uint32_t>() % bytes.size();
    bytes[place] = static_cast<char>(bytes[place] ^ reader.Read<uint8_t>());
  }
  Must(base::WriteFileAtomically(path, bytes));
}

// As the page asks for what it draws.
void AskZoomIndex(const std::string& path) {
  const auto index = store::ZoomIndex::Open(path, GoodStore().store_id);
  if (!index.ok()) return;
  std::vector<store::ZoomSlice> drawn;
  for (const store::ZoomFileLane& lane : index->lanes()) {
    const auto [begin, end] = index->ExtentOf(lane);
    for (int64_t pixel = 1; pixel < 100'000'000'000; pixel *= 100) {
      drawn.clear();
      index->Query(lane.track_id, lane.depth, {begin, begin + pixel * 1000, pixel}, drawn);
      index->Query(lane.track_id, lane.depth, {INT64_MIN, INT64_MAX, pixel * 1'000'000}, drawn);
      index->Query(lane.track_id, lane.depth, {end, begin, pixel}, drawn);
    }
  }
}

}  // namespace

namespace sonde::cli {

int FuzzStore(std::string_view input) {
  const Good& good = GoodStore();
  base::ByteReader reader(input);
  const std::string zoom = store::ZoomIndex::PathFor(good.store);
  Must(base::WriteFileAtomically(good.store, good.store_bytes));
  Must(base::WriteFileAtomically(zoom, good.zoom_bytes));
  const auto what = reader.Read<uint8_t>();
  if (what % 8 == 0) {
    Change(good.store_bytes, reader, good.store);
  } else if (what % 8 == 1) {
    Change(good.zoom_bytes, reader, zoom);
    AskZoomIndex(zoom);
    return 0;
  } else {
    store::PlainDatabase database(good.store);
    constexpr int kMostStatements = 12;
    for (int i = 0; i < kMostStatements && reader.remaining() >= 5; ++i) {
      database.Run(Statement(reader));
    }
  }
  return AnalyseAllOf(good.span, what / 8 % 2 == 0 ? "text" : "db");
}

}  // namespace sonde::cli
