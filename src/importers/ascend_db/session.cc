// Texts, enumerations, and the facts about the session.
#include <algorithm>

#include "base/host/json.h"
#include "base/strings.h"
#include "importers/ascend/groups.h"
#include "importers/ascend_db/db_trace.h"
#include "importers/ascend_db/issues.h"

namespace sonde::importers::db_import {
namespace {

using base::Concat;
using base::SqliteColumn;
using base::SqliteRow;

void ReadStrings(DbTrace& trace) {
  if (!trace.reader.HasTable("STRING_IDS")) {
    trace.rows.issues.Add(kDbMissingTable, Concat(trace.file, ": STRING_IDS"));
    return;
  }
  trace.Read("STRING_IDS", {"id", "value"}, [&](const SqliteRow& row) {
    if (const auto id = row.Int(0)) {
      trace.strings.Insert(*id, trace.rows.names.Intern(row.Text(1)));
    } else {
      trace.WrongType("STRING_IDS");
    }
  });
}

// The most frequent value of a table; none where the table is missing. Unreadable rows are counted
// when the table is read.
std::optional<int64_t> MostOften(const base::SqliteReader& reader, std::string_view value,
                                 std::string_view table) {
  if (!reader.HasTable(table)) return std::nullopt;
  std::optional<int64_t> first;
  const auto take = [&](const SqliteRow& row) { first = row.Int(0); };
  // Nearly always there is one: to look for another takes a fifth of counting.
  reader
      .Query(Concat("SELECT ", value, " FROM ", table, " WHERE ", value, " NOTNULL LIMIT 1"), take)
      .IgnoreError();
  if (first) {
    bool has_another = false;
    const Status looked = reader.Query(Concat("SELECT 1 FROM ", table, " WHERE ", value, " <> ",
                                              std::to_string(*first), " LIMIT 1"),
                                       [&](const SqliteRow&) { has_another = true; });
    if (looked.ok() && !has_another) return first;
  }
  reader
      .Query(Concat("SELECT ", value, ", count(*) FROM ", table,
                    " GROUP BY 1 ORDER BY 2 DESC LIMIT 1"),
             take)
      .IgnoreError();
  return first;
}

// The process that the trace is about: most rows of the framework, else of the device.
void FindMainProcess(DbTrace& trace) {
  constexpr std::pair<std::string_view, std::string_view> kAsked[] = {
      {"globalTid >> 32", "PYTORCH_API"}, {"globalTid >> 32", "CANN_API"}, {"globalPid", "TASK"}};
  for (const auto& [value, table] : kAsked) {
    const auto pid = MostOften(trace.reader, value, table);
    if (pid && *pid > 0) {
      trace.main_pid = *pid;
      return;
    }
  }
}

void ReadDevices(DbTrace& trace) {
  int64_t count = 0;
  trace.Read("NPU_INFO", {"id", "name"}, [&](const SqliteRow& row) {
    ++count;
    const auto id = row.Int(0);
    if (id && *id >= 0 && *id <= INT32_MAX) trace.only_device = static_cast<int32_t>(*id);
    trace.rows.AddText(Concat("npu_name_", std::to_string(id.value_or(-1))), row.Text(1));
  });
  if (count != 1) trace.only_device = -1;
  trace.Read("RANK_DEVICE_MAP", {"rankId", "deviceId"}, [&](const SqliteRow& row) {
    const auto rank = row.Int(0);
    const auto device = row.Int(1);
    if (rank && *rank >= 0 && *rank < INT32_MAX && trace.rows.rank < 0) {
      trace.rows.rank = static_cast<int32_t>(*rank);
    }
    if (device && *device >= 0 && *device <= INT32_MAX && trace.only_device < 0) {
      trace.only_device = static_cast<int32_t>(*device);
    }
  });
}

void ReadMetadata(DbTrace& trace) {
  trace.Read("META_DATA", {"name", "value"}, [&](const SqliteRow& row) {
    const std::string_view value = row.Text(1);
    const bool is_json = base::JsonDocument::Parse(value, "META_DATA").ok();
    if (is_json) {
      trace.rows.AddJson(row.Text(0), value);
    } else {
      trace.rows.AddText(row.Text(0), value);
    }
    if (row.Text(0) == "parallel_group_info") AddGroups(value, trace.rows);
  });
  trace.Read("SESSION_TIME_INFO", {"startTimeNs", "endTimeNs"}, [&](const SqliteRow& row) {
    if (const auto begin = row.Int(0)) {
      trace.rows.AddJson("session_begin_ns", std::to_string(*begin));
    }
    if (const auto end = row.Int(1)) trace.rows.AddJson("session_end_ns", std::to_string(*end));
  });
}

void NameHost(DbTrace& trace) {
  const int32_t process = trace.MainProcess();
  trace.Read("HOST_INFO", {"hostUid", "hostName"}, [&](const SqliteRow& row) {
    trace.rows.processes[static_cast<size_t>(process)].host = trace.rows.names.Intern(row.Text(1));
    trace.rows.AddText("host_uid", row.Text(0));
  });
}

bool IsPresent(const std::vector<SqliteColumn>& columns, std::string_view name) {
  return std::any_of(columns.begin(), columns.end(), [&](const SqliteColumn& column) {
    return base::EqualSqlNames(column.name, name);
  });
}

// Columns of a later schema, and the device of the host's rows.
bool MayLack(std::string_view table, std::string_view column) {
  if (table == "COMPUTE_TASK_INFO") return column == "opState" || column == "hf32Eligible";
  if (table == "COMMUNICATION_OP") return column == "deviceId" || column == "rankSize";
  if (table == "MSTX_EVENTS") return column == "domainId" || column == "endGlobalTid";
  const bool is_host = table == "CPU_USAGE" || table.starts_with("HOST_");
  return column == "dieId" || (is_host && column == "deviceId");
}

}  // namespace

int32_t DbTrace::Text(const SqliteRow& row, int column) {
  if (row.IsNull(column)) return store::kNone;
  const auto id = row.Int(column);
  const int32_t* found = id ? strings.Find(*id) : nullptr;
  if (found != nullptr) return *found;
  constexpr int64_t kNoText = 4294967295;
  if (id != kNoText) UnknownId();
  return store::kNone;
}

std::string_view DbTrace::TextView(const SqliteRow& row, int column) {
  const int32_t id = Text(row, column);
  return id == store::kNone ? std::string_view() : rows.names.Text(id);
}

int32_t DbTrace::Enum(std::string_view table, std::optional<int64_t> id) {
  if (!id) return store::kNone;
  auto names = enums.find(table);
  if (names == enums.end()) {
    if (!reader.HasTable(table)) {
      rows.issues.Add(kDbMissingTable, Concat(file, ": ", table));
      return store::kNone;
    }
    names = enums.try_emplace(std::string(table)).first;
    const bool was_reported = reported;
    Read(table, {"id", "name"}, [&](const SqliteRow& row) {
      if (const auto key = row.Int(0)) names->second.emplace(*key, rows.names.Intern(row.Text(1)));
    });
    reported = was_reported;
  }
  const auto found = names->second.find(*id);
  if (found != names->second.end()) return found->second;
  UnknownId();
  return store::kNone;
}

bool DbTrace::Has(std::string_view table, std::initializer_list<std::string_view> columns) {
  if (!reader.HasTable(table)) return false;
  const std::vector<SqliteColumn>& present = reader.Columns(table);
  for (const std::string_view column : columns) {
    if (IsPresent(present, column)) continue;
    rows.issues.Add(kDbMissingColumn, Concat(file, ": ", table, ".", column));
    return false;
  }
  return true;
}

void DbTrace::Read(std::string_view table, const std::vector<std::string_view>& columns,
                   const base::SqliteTake& take) {
  if (!reader.HasTable(table)) return;
  const std::vector<SqliteColumn>& present = reader.Columns(table);
  for (const std::string_view column : columns) {
    if (column.empty() || IsPresent(present, column) || MayLack(table, column)) continue;
    rows.issues.Add(kDbLessColumns, Concat(file, ": ", table, ".", column));
  }
  const Status status = reader.Read(table, columns, [&](const SqliteRow& row) {
    reported = false;
    take(row);
    if (row.had_wrong_type() && !reported) BadValue(table);
  });
  if (!status.ok()) rows.issues.Add(kDbDamaged, Concat(file, ": ", table));
}

void DbTrace::WrongType(std::string_view table) {
  rows.issues.Add(kDbWrongType, Concat(file, ": ", table));
  reported = true;
}

void DbTrace::BadValue(std::string_view table) {
  rows.issues.Add(kDbBadValue, Concat(file, ": ", table));
  reported = true;
}

void DbTrace::UnknownId() {
  rows.issues.Add(kDbUnknownId, file);
  reported = true;
}

int64_t DbTrace::Size(const SqliteRow& row, int column, std::string_view table) {
  const auto size = row.Int(column);
  if (size && *size >= 0) return *size;
  if (!row.IsNull(column)) BadValue(table);
  return -1;
}

int32_t DbTrace::Thread(int64_t global_tid) {
  if (last_thread == store::kNone || global_tid != last_global_tid) {
    const int64_t pid = global_tid >> 32;
    last_thread = rows.Thread(rows.Process(pid), global_tid & 0xffffffff);
    last_global_tid = global_tid;
  }
  return last_thread;
}

StepIndex DbTrace::HostSteps() const {
  std::vector<StepIndex::Span> spans;
  for (const StepSpan& step : steps)
    spans.push_back({step.host_begin, step.host_end, step.step_id});
  return StepIndex(spans);
}

StepIndex DbTrace::DeviceSteps() const {
  std::vector<StepIndex::Span> spans;
  for (const StepSpan& step : steps) {
    const bool has_work = step.begin < step.end;
    spans.push_back({step.begin, has_work ? step.end - 1 : INT64_MIN, step.step_id});
  }
  return StepIndex(spans);
}

void ReadSession(DbTrace& trace) {
  ReadStrings(trace);
  FindMainProcess(trace);
  ReadDevices(trace);
  NameHost(trace);
  ReadMetadata(trace);
}

void ReadSteps(DbTrace& trace) {
  if (!trace.Has("STEP_TIME", {"id", "startNs", "endNs"})) return;
  trace.Read("STEP_TIME", {"id", "startNs", "endNs"}, [&](const SqliteRow& row) {
    const auto id = row.Int(0);
    const auto begin = row.Int(1);
    const auto end = row.Int(2);
    if (!id || !begin || !end) {
      trace.WrongType("STEP_TIME");
      return;
    }
    if (*end < *begin) trace.BadValue("STEP_TIME");
    trace.steps.push_back({*id, *begin, *end, INT64_MAX, INT64_MIN});
  });
}

void WriteSteps(DbTrace& trace) {
  for (const StepSpan& span : trace.steps) {
    store::StepRow step;
    step.step_id = span.step_id;
    step.rank = trace.rows.rank;
    step.process_id = trace.MainProcess();
    step.ts = span.host_begin;
    step.dur = std::max<int64_t>(0, SpanNs(span.host_begin, span.host_end));
    const auto slice = trace.step_slices.find(span.step_id);
    if (slice != trace.step_slices.end()) step.slice_id = slice->second;
    trace.rows.steps.push_back(step);
  }
}

}  // namespace sonde::importers::db_import
