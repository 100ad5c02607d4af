// Packs: the rows of several small traces in one DuckDB file.
//
// A store costs a megabyte and ten milliseconds before it holds a row; of a thousand ranks with a
// few hundred slices each that is nearly all. A pack has the tables of a store (Of::kSeveral in
// schema.h); texts are those of all its traces. Tables of a trace's files, kept cell by cell, are
// left out, and there is no zoom index: it is for statements and recipes. It is read by
// Store::OpenJoint and Store::OpenPack.
//
// The file appears under its name with Publish(), or not at all. One thread. Errors: Status.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "store/made_tables.h"
#include "store/name_pool.h"
#include "store/result_info.h"
#include "store/row_tables.h"

namespace sonde::store {

namespace internal {
class ChunkAppender;
struct Connection;
struct Database;
}  // namespace internal

class PackWriter {
 public:
  // `source_stamp`: identifies its sources, for Store::source_stamp().
  static Result<std::unique_ptr<PackWriter>> Create(const std::string& path, int64_t source_stamp);
  // Of results alone: without the tables of traces.
  static Result<std::unique_ptr<PackWriter>> CreateForResults(const std::string& path,
                                                              int64_t source_stamp);
  PackWriter(const PackWriter&) = delete;
  PackWriter& operator=(const PackWriter&) = delete;
  ~PackWriter();

  // All rows of one trace. `place`: its number in the pack.
  Status Add(int32_t place, const RowTables& tables);
  // Notes the reason why a trace has no rows, in the table pack_failure_(place, code, message).
  Status AddFailure(int32_t place, const Status& why);
  // A new table, to be closed before Publish().
  Result<std::unique_ptr<ResultAppender>> BeginResult(const ResultInfo& result,
                                                      const std::string& table,
                                                      std::span<const ResultColumnInfo> leading);
  // Instead of that of Create().
  Status SetStamp(int64_t source_stamp);
  Status Publish();

 private:
  PackWriter() = default;
  static Result<std::unique_ptr<PackWriter>> Attach(const std::string& path);
  template <class Row>
  Status AddTable(int32_t place, const RowTables& tables);
  Status WriteNames();
  Result<internal::ChunkAppender*> AppenderOf(const char* table, size_t columns, bool packed);

  std::string path_;
  std::string temporary_path_;  // empty once published
  std::unique_ptr<internal::Database> database_;
  std::unique_ptr<internal::Connection> connection_;
  std::map<std::string_view, std::unique_ptr<internal::ChunkAppender>> appenders_;  // by table
  NamePool names_;
  std::vector<int32_t> name_ids_;  // of the trace that is being added
};

}  // namespace sonde::store
