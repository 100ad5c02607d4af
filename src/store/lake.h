// A lake: the tables of many traces as Parquet files, partitioned by run and rank, with one
// catalogue that other programs read (DuckLake 1.0 in a DuckDB file).
//
//   FOLDER/catalog.ducklake
//   FOLDER/<table>/run=<number>/rank=<number>/<key of the trace>.parquet
//
// Tables and columns are those of several traces (joint.h), without `name_` and `args_shared`,
// whose content is in the others, and results of recipes, each a table. A trace counts once the
// catalogue names its files, all of them at once. Files of a writer that was killed count for
// nothing, and are written again. The catalogue is replaced as a whole under a lock on the folder,
// so that readers never wait. Threads: a LakeWriter takes Write() from any. Errors: Status with the
// path; a lake of another version is kFailedPrecondition.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "store/joint.h"
#include "store/made_tables.h"
#include "store/store.h"

namespace sonde::store {

namespace internal {
struct Connection;
struct Database;
struct LakeTable;
}  // namespace internal

// A trace that is to be added.
struct LakeTrace {
  std::string key;     // of its content; names its files
  std::string run;     // name of its run
  int32_t rank = -1;   // -1 unknown
  std::string path;    // of the recording
  int32_t number = 0;  // in the lake, by Register(), as the rest
  int32_t run_number = 0;
  bool is_there = false;  // nothing is left to do
};

struct LakeRun {
  int32_t number = 0;
  std::string name;
  int64_t traces = 0;
  int64_t ranks = 0;  // distinct ones
  int64_t rows = 0;
  int64_t bytes = 0;
  int64_t faulty = 0;  // traces whose data has faults (table import_issue)
};

// Whether the folder has a catalogue.
bool IsLake(const std::string& path);
// In the order of their numbers.
Result<std::vector<LakeRun>> ListLake(const std::string& folder);
// For statements on the tables of all traces. Besides the lake they reach no file.
Result<std::unique_ptr<JointStore>> OpenLake(const std::string& folder,
                                             const JointOptions& options);

// A data file, for lakes whose files have to be brought here first.
struct LakeFile {
  std::string path;  // in the folder of the lake
  int64_t bytes = 0;
};
// Those of the tables that the statement names and whose run and rank fulfil `condition` ("": all).
// For "" the first one of each table, which OpenLake needs.
Result<std::vector<LakeFile>> LakeFiles(const std::string& folder, const std::string& sql,
                                        const std::string& condition);

// A trace that counts, whose run and rank are known.
struct LakeMember {
  int32_t run = 0;
  int32_t rank = 0;
  std::string path;  // of one of its files; the name is its key
};
// In the order of runs and ranks.
Result<std::vector<LakeMember>> LakeMembers(const std::string& folder);
// The tables of one trace, named by the path of any of its files, into an empty store.
Status FillFromLake(const std::string& path, Store& store);

class LakeWriter {
 public:
  // Makes the folder and an empty catalogue where there is none. `place`: where other programs
  // will find the files, "": in the folder. `results`: that a new lake has of each trace.
  static Result<std::unique_ptr<LakeWriter>> Open(const std::string& folder,
                                                  const std::string& place = {},
                                                  std::span<const ResultInfo> results = {});

  // Gives numbers to traces and runs. A rank that the run has already with other content is
  // kAlreadyExists.
  Status Register(std::span<LakeTrace> traces);
  // Writes the rows of a store or pack. Its labels are the numbers in the lake; `keys`: of its
  // traces, in their order. `made`: the results, with trace, run and rank in front; may be null.
  Status Write(const StoreFile& file, std::span<const std::string> keys,
               std::shared_ptr<const MadeTables> made = nullptr);
  // What was written counts from here on; its files, by their path in the folder.
  Result<std::vector<std::string>> Commit();

 private:
  struct Written {  // a file
    std::string table;
    int32_t trace = 0;
    int32_t run = 0;
    int32_t rank = -1;
    std::string path;  // in the folder of the table
  };
  Status WriteTable(
      const internal::Database& database, internal::Connection& connection,
      const internal::LakeTable& table, std::vector<Written>& written,
      const std::function<std::pair<int32_t, std::string>(int64_t)>& run_and_key) const;
  explicit LakeWriter(std::string folder) : folder_(std::move(folder)) {}

  const std::string folder_;
  std::mutex mutex_;
  std::vector<Written> files_;         // since the last Commit()
  std::map<int32_t, int64_t> faults_;  // by trace, for all that were written since
};

}  // namespace sonde::store
