// One profiler database on its way into rows: data shared by its tables, and a function for each
// group of tables. They run in the order in which they are declared. Rows that cannot be used are
// counted in rows.issues and left out. One thread.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/host/sqlite_reader.h"
#include "importers/common/step_index.h"
#include "importers/rows/number_table.h"
#include "importers/rows/trace_rows.h"

namespace sonde::importers::db_import {

struct ApiCall {
  int32_t slice = store::kNone;  // index
  int64_t ts = 0;
  bool is_launch = false;  // node level, or a launch of a GPU's runtime
};

struct StepSpan {
  int64_t step_id = 0;
  int64_t host_begin = 0;
  int64_t host_end = 0;
  int64_t begin = 0;  // of its work on the device; begin > end: none
  int64_t end = 0;
};

struct DbTrace {
  const base::SqliteReader& reader;
  TraceRows& rows;
  std::string file;                     // named in issues
  uint64_t tables = store::kAllTables;  // that are wanted

  NumberTable<int32_t> strings{rows.pool()};  // STRING_IDS -> name
  // Of the tables ENUM_... that were needed.
  std::map<std::string, std::unordered_map<int64_t, int32_t>, std::less<>> enums = {};
  int64_t main_pid = 0;
  int32_t only_device = -1;  // where the database knows one
  NumberTable<ApiCall> api_of_connection{rows.pool()};
  NumberTable<int32_t> op_of_connection{rows.pool()};  // index of the op's slice
  NumberTable<int32_t> task_of_global{rows.pool()};    // index into rows.tasks
  NumberTable<int32_t> device_of_connection{rows.pool()};
  NumberTable<int32_t> op_of_id{rows.pool()};  // COMMUNICATION_OP.opId -> index
  std::vector<StepSpan> steps = {};
  std::map<int64_t, int32_t> step_slices = {};  // by step_id
  bool reported = false;                        // an issue of the current row was counted
  int64_t last_global_tid = 0;                  // of the thread that was asked for last
  int32_t last_thread = store::kNone;

  // The text of an id; counted where there is none. store::kNone for NULL.
  int32_t Text(const base::SqliteRow& row, int column);
  std::string_view TextView(const base::SqliteRow& row, int column);
  int32_t Enum(std::string_view table, std::optional<int64_t> id);  // counted likewise
  // False, and counted, where the table lacks one of the columns.
  bool Has(std::string_view table, std::initializer_list<std::string_view> columns);
  // Reads a table; damage is counted, and so are columns that it lacks and cells that should hold
  // a number, unless `take` has counted an issue of the row.
  void Read(std::string_view table, const std::vector<std::string_view>& columns,
            const base::SqliteTake& take);
  void WrongType(std::string_view table);  // the row was left out
  void BadValue(std::string_view table);   // a cell counts as unknown
  void UnknownId();
  // Of a cell that may be empty; other values than sizes are counted, and unknown (-1), too.
  int64_t Size(const base::SqliteRow& row, int column, std::string_view table);
  // Thread of (pid << 32 | tid).
  int32_t Thread(int64_t global_tid);
  int32_t MainProcess() { return rows.Process(main_pid); }
  // By moments of the host, places being those in `steps`; and by those of the device, once the
  // tasks have been read.
  StepIndex HostSteps() const;
  StepIndex DeviceSteps() const;
};

void ReadSession(DbTrace& trace);    // texts, rank, host, metadata
void ReadSteps(DbTrace& trace);      // STEP_TIME
void ReadFramework(DbTrace& trace);  // PYTORCH_API, CONNECTION_IDS, PYTORCH_CALLCHAINS, ...
void WriteSteps(DbTrace& trace);     // with their slices, where those are read
void ReadHostCalls(DbTrace& trace);  // CANN_API, OSRT_API
void ReadTasks(DbTrace& trace);  // TASK, COMPUTE_TASK_INFO, COMMUNICATION_SCHEDULE_TASK_INFO, ...
void ReadDeviceLayers(DbTrace& trace);   // CCU, DPU_TASK, MEMCPY_INFO
void ReadCommunication(DbTrace& trace);  // COMMUNICATION_OP, COMMUNICATION_TASK_INFO
void ReadMarks(DbTrace& trace);          // MSTX_EVENTS
void ReadMemory(DbTrace& trace);         // OP_MEMORY, MEMORY_RECORD, NPU_OP_MEM
void ReadCounters(DbTrace& trace);       // HBM, LLC, NPU_MEM, AICORE_FREQ, ...

// Times of communication operations from analysis.db, by name and group.
void ReadAnalysis(const base::SqliteReader& reader, const std::string& file, TraceRows& rows);

}  // namespace sonde::importers::db_import
