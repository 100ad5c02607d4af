// Work of the host: operators, modules and Python functions, call stacks, steps, collections of
// garbage, marks of the user.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "exporters/ascend_db/db_tables.h"
#include "exporters/ascend_db/enum_tables.h"
#include "exporters/ascend_text/operator_fragments.h"
#include "exporters/format/module_events.h"
#include "exporters/format/rest_slices.h"
#include "recipes/trace/op_order.h"

namespace sonde::exporters {
namespace {

using recipes::TraceData;
using report::SqliteTable;

constexpr std::string_view kApiColumns =
    "startNs TEXT, endNs TEXT, globalTid INTEGER, connectionId INTEGER, name INTEGER, "
    "sequenceNumber INTEGER, fwdThreadId INTEGER, inputDtypes INTEGER, inputShapes INTEGER, "
    "callchainId INTEGER, type INTEGER";
constexpr std::string_view kMarkColumns =
    "startNs INTEGER,endNs INTEGER,eventType INTEGER,rangeId INTEGER,category INTEGER,"
    "message INTEGER,globalTid INTEGER,endGlobalTid INTEGER,domainId INTEGER,"
    "connectionId INTEGER";

int64_t GlobalTidOf(const TraceData& data, const store::SliceRow& slice) {
  const store::TrackRow& track = data.TrackOf(slice);
  return GlobalTid(data.PidOf(track.process_id), data.TidOf(track.thread_id));
}

// Which connections the operators have: PYTORCH_API.connectionId is the number of a set of them.
class Connections {
 public:
  explicit Connections(const DbContext& context) {
    const TraceData& data = context.data();
    for (const store::DeviceTaskRow& task : data.tasks) {
      Add(task.launch_slice_id, context.view.ConnectionOf(task));
    }
    for (const store::CommunicationOpRow& op : data.communications) {
      Add(op.launch_slice_id, context.view.ConnectionOf(op));
    }
    for (const store::FlowRow& flow : data.flows) {
      const std::string_view kind = data.Name(flow.kind);
      if (kind != "forward_backward" && kind != "enqueue_dequeue") continue;
      Add(flow.slice_out, kFrameworkConnections + flow.flow_id);
      Add(flow.slice_in, kFrameworkConnections + flow.flow_id);
    }
    // A kernel may be an operation of communication, too: one work of one call.
    std::ranges::sort(pairs_);
    const auto repeated = std::ranges::unique(pairs_);
    pairs_.erase(repeated.begin(), repeated.end());
  }

  // Writes the set of a slice and returns its number; -1 where it has none.
  int64_t Write(int32_t slice_id, SqliteTable& table) {
    auto at = std::ranges::lower_bound(pairs_, std::pair{slice_id, int64_t{0}});
    if (at == pairs_.end() || at->first != slice_id) return -1;
    const int64_t set = sets_++;
    for (; at != pairs_.end() && at->first == slice_id; ++at) {
      table.Int(set).Int(at->second).End();
    }
    return set;
  }

 private:
  void Add(int32_t slice_id, int64_t connection) {
    if (slice_id >= 0) pairs_.emplace_back(slice_id, connection);
  }
  std::vector<std::pair<int32_t, int64_t>> pairs_;
  int64_t sets_ = 0;
};

class ApiWriter {
 public:
  ApiWriter(DbContext& context, SqliteTable& api, SqliteTable& connections)
      : context_(context),
        data_(context.data()),
        api_(api),
        connection_table_(connections),
        connections_(context) {
    for (const store::OpSignatureRow& row : data_.signatures) {
      types_.push_back(ArgumentsId(row.input_types));
      shapes_.push_back(ArgumentsId(row.input_shapes));
    }
  }

  void Operator(const store::FrameworkOpRow& op) {
    const store::SliceRow& slice = data_.Slice(op.slice_id);
    Times(slice);
    api_.KnownInt(connections_.Write(op.slice_id, connection_table_));
    api_.Int(context_.ids.NameId(StringRange::kFramework, slice.name, data_.Name(slice.name)));
    api_.Int(op.sequence_number).Int(ForwardThread(op));
    if (op.signature_id >= 0) {
      const auto signature = static_cast<size_t>(op.signature_id);
      api_.KnownInt(types_[signature]).KnownInt(shapes_[signature]);
    } else {
      api_.Null().Null();
    }
    api_.KnownInt(op.stack_id).Int(static_cast<int64_t>(ApiType::kOp)).End();
  }

  // Hand-over from one thread of the host to another.
  void Queue(const store::SliceRow& slice) {
    Times(slice);
    api_.KnownInt(connections_.Write(slice.slice_id, connection_table_));
    api_.Int(context_.ids.NameId(StringRange::kFramework, slice.name, data_.Name(slice.name)));
    api_.Null().Null().Null().Null().Null();
    api_.Int(static_cast<int64_t>(ApiType::kQueue)).End();
  }

  void Python(const PythonEvent& event, std::string_view name) {
    Times(data_.Slice(event.slice_id));
    api_.Null().Int(FrameworkId(name)).Null().Null().Null().Null().Null();
    api_.Int(static_cast<int64_t>(ApiType::kTrace)).End();
  }

 private:
  int64_t ArgumentsId(int32_t name) {
    return name < 0 ? -1 : FrameworkId(BreakLines(data_.Name(name)));
  }
  // The framework's own number of it, as its profiler writes; the system's where that is unknown.
  int64_t ForwardThread(const store::FrameworkOpRow& op) const {
    if (op.forward_thread_id < 0) return 0;
    const int32_t number =
        data_.threads[static_cast<size_t>(op.forward_thread_id)].framework_number;
    return number > 0 ? number : std::max<int64_t>(0, data_.TidOf(op.forward_thread_id));
  }
  int64_t FrameworkId(std::string_view text) {
    return context_.ids.Id(StringRange::kFramework, text);
  }
  // Start, end (texts, as the peer's files have them) and thread.
  void Times(const store::SliceRow& slice) {
    api_.Text(std::to_string(slice.ts)).Text(std::to_string(data_.EndNs(slice)));
    api_.Int(GlobalTidOf(data_, slice));
  }

  DbContext& context_;
  const TraceData& data_;
  SqliteTable& api_;
  SqliteTable& connection_table_;
  Connections connections_;
  std::vector<int64_t> types_;   // by signature; -1: unknown
  std::vector<int64_t> shapes_;  // by signature
};

Status WriteApi(DbContext& context) {
  const TraceData& data = context.data();
  SONDE_ASSIGN_OR_RETURN(SqliteTable api,
                         SqliteTable::Create(context.file, "PYTORCH_API", kApiColumns));
  SONDE_ASSIGN_OR_RETURN(
      SqliteTable connections,
      SqliteTable::Create(context.file, "CONNECTION_IDS", "id INTEGER, connectionId INTEGER"));
  ApiWriter writer(context, api, connections);
  for (const uint32_t index : recipes::OperatorsByStart(data, /*with_steps=*/true)) {
    writer.Operator(data.ops[index]);
  }
  std::vector<int32_t> rest;
  for (const int32_t id : RestSlices(context.view)) {
    const store::SliceRow& slice = data.Slice(id);
    if (IsQueueSlice(data, slice)) {
      writer.Queue(slice);
    } else if (!IsRuntimeCall(data, slice) &&
               !data.HasTrackKind(slice, recipes::TrackKind::kCommunicationPlane)) {
      rest.push_back(id);
    }
  }
  LeaveOutSlices(data, rest, "db", context.left_out);
  const PythonEventList python = PythonEvents(data);
  for (const PythonEvent& event : python.events) writer.Python(event, python.names[event.name]);
  SONDE_RETURN_IF_ERROR(api.Close());
  return connections.Close();
}

Status WriteStacks(DbContext& context) {
  const TraceData& data = context.data();
  if (data.frames.empty()) return {};
  SONDE_ASSIGN_OR_RETURN(SqliteTable table,
                         SqliteTable::Create(context.file, "PYTORCH_CALLCHAINS",
                                             "id INTEGER, stack INTEGER, stackDepth INTEGER"));
  for (const store::CallstackRow& frame : data.frames) {
    table.Int(frame.stack_id);
    table.Int(context.ids.NameId(StringRange::kFramework, frame.frame, data.Name(frame.frame)));
    table.Int(frame.depth).End();
  }
  return table.Close();
}

Status WriteSteps(DbContext& context) {
  const TraceData& data = context.data();
  if (data.steps.empty()) return {};
  SONDE_ASSIGN_OR_RETURN(
      SqliteTable table,
      SqliteTable::Create(context.file, "STEP_TIME", "id INTEGER, startNs INTEGER, endNs INTEGER"));
  for (const store::StepRow& step : data.steps) {
    table.Int(step.step_id).Int(step.ts);
    table.Int(step.dur < 0 ? data.last_ns : step.ts + step.dur).End();
  }
  return table.Close();
}

Status WriteGarbageCollections(DbContext& context) {
  const TraceData& data = context.data();
  const std::vector<int32_t> slices = data.SlicesOfKinds({recipes::TrackKind::kGarbageCollection});
  if (slices.empty()) return {};
  SONDE_ASSIGN_OR_RETURN(SqliteTable table,
                         SqliteTable::Create(context.file, "GC_RECORD",
                                             "startNs INTEGER, endNs INTEGER, globalTid INTEGER"));
  for (const int32_t id : slices) {
    const store::SliceRow& slice = data.Slice(id);
    table.Int(slice.ts).Int(data.EndNs(slice)).Int(GlobalTidOf(data, slice)).End();
  }
  return table.Close();
}

Status WriteMarks(DbContext& context) {
  const TraceData& data = context.data();
  if (data.marks.empty()) return {};
  SONDE_ASSIGN_OR_RETURN(SqliteTable table,
                         SqliteTable::Create(context.file, "MSTX_EVENTS", kMarkColumns));
  for (const store::MarkRow& mark : data.marks) {
    int64_t tid = 0;
    int64_t end_tid = 0;
    if (mark.track_id >= 0) {
      const store::TrackRow& track = data.tracks[static_cast<size_t>(mark.track_id)];
      const int64_t pid = data.PidOf(track.process_id);
      tid = GlobalTid(pid, data.TidOf(track.thread_id));
      end_tid = mark.end_thread_id < 0 ? tid : GlobalTid(pid, data.TidOf(mark.end_thread_id));
    }
    table.Int(mark.ts).Int(mark.dur < 0 ? data.last_ns : mark.ts + mark.dur);
    table.Int(MstxEventCode(data.Name(mark.kind))).Int(mark.mark_id).Int(kNone32);
    table.Int(context.ids.NameId(StringRange::kDevice, mark.message, data.Name(mark.message)));
    table.Int(tid).Int(end_tid);
    table.Int(context.ids.NameId(StringRange::kDevice, mark.domain, data.Name(mark.domain)));
    table.Int(kNone32).End();
  }
  return table.Close();
}

}  // namespace

Status WriteFrameworkTables(DbContext& context) {
  if (context.view.settings.cpu_activity) {
    SONDE_RETURN_IF_ERROR(WriteApi(context));
    SONDE_RETURN_IF_ERROR(WriteStacks(context));
  }
  SONDE_RETURN_IF_ERROR(WriteSteps(context));
  return WriteGarbageCollections(context);
}

Status WriteMarkTables(DbContext& context) { return WriteMarks(context); }

}  // namespace sonde::exporters
