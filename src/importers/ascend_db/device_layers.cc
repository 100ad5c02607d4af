// Units besides the NPU's cores in schema 1.2: collective communication units and DPUs; and the
// sizes of copies.
#include <optional>

#include "base/host/json.h"
#include "base/strings.h"
#include "importers/ascend_db/db_trace.h"
#include "importers/ascend_db/issues.h"

namespace sonde::importers::db_import {
namespace {

using base::Concat;
using base::SqliteRow;

int32_t DeviceOf(const SqliteRow& row, int column) {
  const auto device = row.Int(column);
  return device && *device >= 0 && *device <= INT32_MAX ? static_cast<int32_t>(*device) : -1;
}

// The argument set of the slice with that index.
int32_t ArgsOf(int32_t slice, TraceRows& rows) {
  int32_t& args = rows.slices[static_cast<size_t>(slice)].args_id;
  if (args == store::kNone) args = rows.next_args_id++;
  return args;
}

// The text in the file's column of arguments, for a slice that was just added.
void AddArguments(const SqliteRow& row, int column, int32_t slice, DbTrace& trace) {
  const std::string_view text = trace.TextView(row, column);
  if (text.empty()) return;
  constexpr int16_t kText = 0;
  constexpr int16_t kJson = 1;
  const bool is_json = base::JsonDocument::Parse(text, "args").ok();
  trace.rows.args_text.push_back({.args_id = ArgsOf(slice, trace.rows),
                                  .key = trace.rows.names.Intern("args"),
                                  .form = is_json ? kJson : kText,
                                  .value = trace.rows.names.Intern(text)});
}

void ReadCommunicationUnits(DbTrace& trace) {
  if (!trace.reader.HasTable("CCU") || !trace.Has("CCU", {"name", "startNs", "endNs"})) return;
  const int32_t category = trace.rows.names.Intern("ccu");
  trace.Read("CCU", {"name", "startNs", "endNs", "deviceId", "args"}, [&](const SqliteRow& row) {
    const auto begin = row.Int(1);
    const auto end = row.Int(2);
    if (!begin || !end) return trace.WrongType("CCU");
    const int32_t track = trace.rows.Track({.kind = capture::TrackKind::kDeviceLayer,
                                            .name = "CCU",
                                            .process_id = trace.MainProcess(),
                                            .device_id = DeviceOf(row, 3)});
    const int32_t slice =
        trace.rows.AddSlice(track, *begin, SpanNs(*begin, *end), trace.Text(row, 0), category);
    AddArguments(row, 4, slice, trace);
  });
}

void ReadDpuTasks(DbTrace& trace) {
  if (!trace.reader.HasTable("DPU_TASK") ||
      !trace.Has("DPU_TASK", {"opName", "startNs", "endNs"})) {
    return;
  }
  const int32_t category = trace.rows.names.Intern("dpu_task");
  trace.Read(
      "DPU_TASK", {"opName", "startNs", "endNs", "dpuDeviceId", "args", "globalTid", "streamId"},
      [&](const SqliteRow& row) {
        const auto begin = row.Int(1);
        const auto end = row.Int(2);
        if (!begin || !end) return trace.WrongType("DPU_TASK");
        const int64_t pid = row.Int(5).value_or(0) >> 32;
        std::string name = Concat("DPU ", row.Text(3));
        if (!row.IsNull(6)) name += Concat(" Stream ", row.Text(6));
        const int32_t track = trace.rows.Track(
            {.kind = capture::TrackKind::kDeviceLayer,
             .name = name,
             .process_id = pid > 0 ? trace.rows.Process(pid) : trace.MainProcess()});
        const int32_t slice =
            trace.rows.AddSlice(track, *begin, SpanNs(*begin, *end), trace.Text(row, 0), category);
        AddArguments(row, 4, slice, trace);
      });
}

// As arguments of the copy's slice, under the names that timelines have for them.
void ReadCopies(DbTrace& trace) {
  if (!trace.reader.HasTable("MEMCPY_INFO") || !trace.Has("MEMCPY_INFO", {"globalTaskId", "size"}))
    return;
  const int32_t size_key = trace.rows.names.Intern("size(B)");
  const int32_t operation_key = trace.rows.names.Intern("operation");
  trace.Read("MEMCPY_INFO", {"globalTaskId", "size", "memcpyOperation"}, [&](const SqliteRow& row) {
    const auto id = row.Int(0);
    if (!id) return trace.WrongType("MEMCPY_INFO");
    const int32_t* task = trace.task_of_global.Find(*id);
    if (task == nullptr) {
      trace.rows.issues.Add(kDbOrphan, Concat(trace.file, ": MEMCPY_INFO"));
      return;
    }
    const int32_t slice = trace.rows.tasks[static_cast<size_t>(*task)].slice_id;
    const int64_t size = trace.Size(row, 1, "MEMCPY_INFO");
    if (size >= 0) {
      trace.rows.args_int.push_back(
          {.args_id = ArgsOf(slice, trace.rows), .key = size_key, .value = size});
    }
    const int32_t operation = trace.Enum("ENUM_MEMCPY_OPERATION", row.Int(2));
    if (operation == store::kNone) return;
    trace.rows.args_text.push_back({.args_id = ArgsOf(slice, trace.rows),
                                    .key = operation_key,
                                    .form = 0,
                                    .value = operation});
  });
}

}  // namespace

void ReadDeviceLayers(DbTrace& trace) {
  ReadCommunicationUnits(trace);
  ReadDpuTasks(trace);
  ReadCopies(trace);
}

}  // namespace sonde::importers::db_import
