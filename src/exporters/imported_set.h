// A set of files of other tools, imported for a test, and the cells of its tables as they were read
// (store/source_tables.h). Real data: SONDE_SHARED_DATA; is_there() is false where it is absent.
// For tests; one thread. Errors fail the test.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/strings.h"
#include "base/test_folder.h"
#include "importers/import_trace.h"
#include "recipes/trace/device_view.h"
#include "recipes/trace/trace_data.h"
#include "store/source_tables.h"
#include "store/store.h"

namespace sonde::exporters {

using Rows = std::vector<std::map<std::string, std::string>>;

// One imported set.
class Imported {
 public:
  explicit Imported(const std::string& relative) {
    const char* shared = std::getenv("SONDE_SHARED_DATA");  // NOLINT(concurrency-mt-unsafe)
    const std::string path =
        base::JoinPath(shared != nullptr ? shared : SONDE_SHARED_DATA_DEFAULT, relative);
    is_there_ = base::IsDirectory(path);
    if (!is_there_) return;
    const importers::Importer* importer = importers::FindImporter(path);
    EXPECT_NE(importer, nullptr) << path;
    if (importer == nullptr) return;
    auto imported = importers::ImportTrace({path, importer}, folder_.File("trace.duckdb"), {});
    EXPECT_TRUE(imported.ok()) << imported.status().message();
    if (!imported.ok()) return;
    store_ = std::move(imported->store);
    auto data = recipes::TraceData::Load(*store_, 1);
    EXPECT_TRUE(data.ok()) << data.status().message();
    data_ = std::move(*data);
    view_ = recipes::DeviceView::Make(data_);
  }
  bool is_there() const { return is_there_; }
  const recipes::DeviceView& view() const { return view_; }
  const recipes::TraceData& data() const { return data_; }

  // A table of the files; empty where they have none. Cells are texts, a TAB behind them taken off.
  Rows Table(std::string_view name) const {
    Rows rows;
    if (store_ == nullptr) return rows;
    const std::vector<store::SourceTable> tables = store::SourceTables(*store_).value();
    for (const store::SourceTable& table : tables) {
      if (table.name != name) continue;
      std::string list;
      for (const store::SourceColumn& column : table.columns) {
        list += base::Concat(list.empty() ? "" : ", ", "\"", column.name, "\"::VARCHAR");
      }
      const auto cells =
          store_->Query(base::Concat("SELECT ", list, " FROM source.\"", table.stored, "\""))
              .value();
      for (size_t row = 0; row < cells.rows(); ++row) {
        auto& out = rows.emplace_back();
        for (size_t i = 0; i < table.columns.size(); ++i) {
          out[table.columns[i].name] =
              cells.IsNull(i, row) ? "" : std::string(base::Trim(cells.Text(i, row)));
        }
      }
    }
    return rows;
  }

 private:
  base::TestFolder folder_;
  bool is_there_ = false;
  std::unique_ptr<store::Store> store_;
  recipes::TraceData data_;
  recipes::DeviceView view_;
};

// Nanoseconds of a cell in microseconds; what is no number is a value that no file holds.
inline int64_t Us(const std::string& cell) {
  return base::ParseMicrosecondsToNs(cell).value_or(INT64_MIN);
}
inline int64_t Int(const std::string& cell) { return base::ParseInt64(cell).value_or(INT64_MIN); }
inline double Double(const std::string& cell) { return base::ParseDouble(cell).value_or(NAN); }

inline std::string Get(const std::map<std::string, std::string>& row, const char* key) {
  const auto found = row.find(key);
  return found == row.end() ? std::string() : found->second;
}

}  // namespace sonde::exporters
