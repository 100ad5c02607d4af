// Several store files as one database: how they are attached, and the tables of all.
//
// Each public table holds the rows of all traces, with columns `trace` (its number, the key), `run`
// and, where the table has none, `rank` in front. Numbers of slices and the like are a trace's own,
// so that joins go by `trace` too. The table `trace` has a row for each. A store of one trace is
// also reachable by itself, as r<number of the trace>. Threads: a JointStore answers from any, each
// call on a connection of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "store/queryable.h"
#include "store/store.h"

namespace sonde::store {

class Cancellation;
class MadeTables;
namespace internal {
class StatementProcesses;
}

// The labels of a trace in the tables of several.
struct TraceLabel {
  int32_t trace = 0;
  int32_t run = 0;
  int32_t rank = -1;      // -1 unknown
  std::string path = {};  // path that was opened
  int32_t place = 0;      // in a pack
};

// The file of a trace's store, or of a pack of several (pack.h) with those of its traces that are
// wanted.
struct StoreFile {
  std::string path;
  std::vector<TraceLabel> traces;
  bool is_pack = false;
};

// Limits of one statement of a user.
struct StatementLimits {
  int64_t memory_bytes = 0;  // 0: half of the limit of this process
  int64_t max_seconds = 0;   // then it is cancelled; 0: any
  // The program that runs each in a process of its own (statement_server.h); empty: they run in
  // this process, where a crash ends it and a function may exceed the limits for a while.
  std::string program = {};
};

struct JointOptions {
  int threads = 1;
  StatementLimits limits = {};
  bool reads_files = false;  // statements may read other files, as FROM 'table.parquet' does
};

// Files attached to one database, for statements that read.
class JointStore final : public Queryable {
 public:
  enum class Columns : uint8_t {
    kOwn,     // those of the only store, which is all there is
    kLeading  // with trace, run and rank in front
  };
  static Result<std::unique_ptr<JointStore>> Open(const std::vector<StoreFile>& files,
                                                  Columns columns,
                                                  const JointOptions& options = {});
  // A pack by itself, for statements on its own tables, whose rows have the place of their trace.
  static Result<std::unique_ptr<JointStore>> OpenPack(const std::string& path,
                                                      const StoreOptions& options = {});
  JointStore(const JointStore&) = delete;
  JointStore& operator=(const JointStore&) = delete;
  ~JointStore() override;

  int64_t source_stamp() const { return source_stamp_; }  // of a pack

  // As Store::Offer.
  Status Offer(std::shared_ptr<const MadeTables> made) const;

  Result<ResultTable> Query(const std::string& sql) const override;
  Status Scan(const std::string& sql,
              const std::function<Status(const Chunk&)>& consume) const override;
  // As those of Store.
  Status ScanWithColumns(const std::string& sql,
                         const std::function<Status(const std::vector<QueryColumn>&)>& begin,
                         const std::function<Status(const Chunk&)>& consume) const;
  Status WriteParquet(const std::string& sql, const std::string& path) const;

 private:
  explicit JointStore(std::unique_ptr<internal::Database> database);
  std::unique_ptr<internal::Database> database_;  // null: processes have it open
  std::unique_ptr<internal::StatementProcesses> processes_;
  StatementLimits limits_;
  int64_t source_stamp_ = 0;
};

namespace internal {

// Attaches the files, checks that they are of this version, and makes the tables. `is_single`: the
// only store is r0, and the tables are its own, without columns in front. Tables that only some
// stores have (own_tables.h) are there, too.
Status JoinStores(Database& database, Connection& connection, const std::vector<StoreFile>& files,
                  bool is_single);

}  // namespace internal

// Lines for `sonde query --schema`, and the section of docs/reference/store.md.
std::string JointSchemaText();
std::string JointSchemaMarkdown();

}  // namespace sonde::store
