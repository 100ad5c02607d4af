// Calls of the framework and of the vendor's host library.
#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "importers/ascend/device_model.h"
#include "importers/ascend/groups.h"
#include "importers/ascend_db/db_trace.h"
#include "importers/ascend_db/issues.h"
#include "store/launch_calls.h"

namespace sonde::importers::db_import {
namespace {

using base::Concat;
using base::SqliteRow;
using capture::NumberOf;
using capture::Scope;
using capture::TrackKind;

// PYTORCH_API.type
constexpr int64_t kQueueType = 50002;
constexpr int64_t kTraceType = 50003;

// Shapes are digits; older profilers wrote them into the column of the types.
bool LooksLikeTypes(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); });
}

class FrameworkReader {
 public:
  explicit FrameworkReader(DbTrace& trace)
      : trace_(trace),
        rows_(trace.rows),
        op_category_(rows_.names.Intern("cpu_op")),
        step_category_(rows_.names.Intern("user_annotation")),
        queue_category_(rows_.names.Intern("task_queue")),
        python_category_(rows_.names.Intern("python_function")),
        module_category_(rows_.names.Intern("module")),
        connections_(base::SpillAllocator<std::pair<int64_t, int64_t>>(rows_.pool())),
        ops_of_connection_(rows_.pool()),
        queue_of_connection_(rows_.pool()) {}

  void Run() {
    if (trace_.Has("PYTORCH_API", {"startNs", "endNs", "globalTid", "name"})) ReadCalls();
  }

 private:
  void ReadCalls() {
    ReadConnections();
    if (reads_stacks_) ReadStacks();
    trace_.Read("PYTORCH_API",
                {"startNs", "endNs", "globalTid", "connectionId", "name", "sequenceNumber",
                 "fwdThreadId", "inputDtypes", "inputShapes", "callchainId", "type"},
                [this](const SqliteRow& row) { Take(row); });
    PairQueue();
    PairForwardBackward();
  }

  void ReadConnections() {
    trace_.Read("CONNECTION_IDS", {"id", "connectionId"}, [this](const SqliteRow& row) {
      const auto set = row.Int(0);
      const auto connection = row.Int(1);
      if (set && connection) {
        connections_.emplace_back(*set, *connection);
      } else {
        trace_.WrongType("CONNECTION_IDS");
      }
    });
    const auto by_set = [](const auto& a, const auto& b) { return a.first < b.first; };
    if (!std::is_sorted(connections_.begin(), connections_.end(), by_set)) {
      std::stable_sort(connections_.begin(), connections_.end(), by_set);
    }
  }

  void ReadStacks() {
    trace_.Read("PYTORCH_CALLCHAINS", {"id", "stack", "stackDepth"}, [this](const SqliteRow& row) {
      const auto id = row.Int(0);
      const auto depth = row.Int(2);
      if (!id || !depth || *depth < 0 || *depth > INT32_MAX) {
        trace_.WrongType("PYTORCH_CALLCHAINS");
        return;
      }
      const auto next = static_cast<int32_t>(stacks_.size());
      const int32_t stack = stacks_.try_emplace(*id, next).first->second;
      rows_.callstacks.push_back(
          {.stack_id = stack, .depth = static_cast<int32_t>(*depth), .frame = trace_.Text(row, 1)});
    });
    std::stable_sort(rows_.callstacks.begin(), rows_.callstacks.end(),
                     [](const store::CallstackRow& a, const store::CallstackRow& b) {
                       return std::pair(a.stack_id, a.depth) < std::pair(b.stack_id, b.depth);
                     });
  }

  void Take(const SqliteRow& row) {
    const auto begin = row.Int(0);
    const auto end = row.Int(1);
    const auto tid = row.Int(2);
    if (!begin || !end || !tid) {
      trace_.WrongType("PYTORCH_API");
      return;
    }
    const int32_t thread = trace_.Thread(*tid);
    const int32_t name = trace_.Text(row, 4);
    const int64_t type = row.Int(10).value_or(0);
    if (type == kQueueType) {
      TakeQueue(row, thread, *begin, SpanNs(*begin, *end), name);
    } else if (type == kTraceType) {
      TakePython(thread, *begin, SpanNs(*begin, *end), name);
    } else {
      TakeOp(row, thread, *begin, SpanNs(*begin, *end), name);
    }
  }

  // Those of the set that the row names.
  template <class Take>
  void ForEachConnection(const SqliteRow& row, Take&& take) {
    const int64_t set = row.Int(3).value_or(-1);
    auto at =
        std::lower_bound(connections_.begin(), connections_.end(), set,
                         [](const auto& entry, int64_t number) { return entry.first < number; });
    const bool is_known = at != connections_.end() && at->first == set;
    if (!is_known && !row.IsNull(3)) trace_.UnknownId();
    for (; at != connections_.end() && at->first == set; ++at) take(at->second);
  }

  void TakeQueue(const SqliteRow& row, int32_t thread, int64_t ts, int64_t dur, int32_t name) {
    const int32_t slice = rows_.AddSlice(rows_.ThreadTrack(TrackKind::kThread, thread), ts, dur,
                                         name, queue_category_);
    const std::string_view text = name == store::kNone ? "" : rows_.names.Text(name);
    ForEachConnection(row, [&](int64_t connection) {
      QueueEnds& ends = *queue_of_connection_.Insert(connection, {}).first;
      (text.starts_with("Enqueue") ? ends.first : ends.second) = slice;
    });
  }

  void TakePython(int32_t thread, int64_t ts, int64_t dur, int32_t name) {
    const std::string_view text = name == store::kNone ? "" : rows_.names.Text(name);
    const bool is_module = text.starts_with("nn.Module: ");
    const int32_t slice = rows_.AddSlice(
        rows_.ThreadTrack(is_module ? TrackKind::kModule : TrackKind::kPython, thread), ts, dur,
        name, is_module ? module_category_ : python_category_);
    if (is_module) rows_.ops.push_back({.slice_id = slice, .scope = NumberOf(Scope::kModule)});
  }

  void TakeOp(const SqliteRow& row, int32_t thread, int64_t ts, int64_t dur, int32_t name) {
    const std::string_view text = name == store::kNone ? "" : rows_.names.Text(name);
    const bool is_step = text.starts_with("ProfilerStep#");
    const int32_t slice = rows_.AddSlice(rows_.ThreadTrack(TrackKind::kThread, thread), ts, dur,
                                         name, is_step ? step_category_ : op_category_);
    store::FrameworkOpRow op;
    op.slice_id = slice;
    const int64_t forward_thread = row.Int(6).value_or(0);
    op.scope = NumberOf(is_step              ? Scope::kStep
                        : forward_thread > 0 ? Scope::kBackward
                                             : Scope::kOp);
    op.sequence_number = std::max<int64_t>(row.Int(5).value_or(-1), -1);
    if (reads_signatures_) op.signature_id = SignatureOf(row);
    if (reads_stacks_) op.stack_id = StackOf(row);
    ForEachConnection(row, [&](int64_t connection) {
      trace_.op_of_connection.Insert(connection, slice);
      OpsOfConnection& ops = *ops_of_connection_.Insert(connection, {}).first;
      (ops.count == 0 ? ops.first : ops.second) = slice;
      ++ops.count;
    });
    if (is_step) trace_.step_slices[base::ParseInt64(text.substr(13)).value_or(-1)] = slice;
    rows_.ops.push_back(op);
  }

  int32_t StackOf(const SqliteRow& row) {
    const auto stack = stacks_.find(row.Int(9).value_or(-1));
    if (stack != stacks_.end()) return stack->second;
    if (!row.IsNull(9)) trace_.UnknownId();
    return store::kNone;
  }

  // Of a row's texts, which are those of many rows.
  int32_t SignatureOf(const SqliteRow& row) {
    if (row.IsNull(7) && row.IsNull(8)) return store::kNone;
    const std::pair texts(trace_.Text(row, 7), trace_.Text(row, 8));
    const auto [found, is_new] = signatures_.try_emplace(texts);
    Signature& signature = found->second;
    if (is_new) {
      const auto text = [this](int32_t name) {
        return JoinedLines(name == store::kNone ? std::string_view() : rows_.names.Text(name));
      };
      std::string types = text(texts.first);
      std::string shapes = text(texts.second);
      signature.is_swapped = LooksLikeTypes(shapes) && !LooksLikeTypes(types);
      if (signature.is_swapped) std::swap(types, shapes);
      signature.id = rows_.Signature(rows_.names.Intern(shapes), rows_.names.Intern(types));
    }
    if (signature.is_swapped) rows_.issues.Add(kDbSwapped, trace_.file);
    return signature.id;
  }

  void AddFlow(std::string_view kind, int64_t key, int32_t out, int32_t in) {
    store::FlowRow flow;
    flow.kind = rows_.names.Intern(kind);
    flow.key = key;
    flow.slice_out = out;
    flow.slice_in = in;
    rows_.flows.push_back(flow);
  }

  void PairQueue() {
    queue_of_connection_.ForEach([this](int64_t connection, const QueueEnds& ends) {
      if (ends.first == store::kNone || ends.second == store::kNone) return;
      AddFlow("enqueue_dequeue", connection, ends.first, ends.second);
    });
  }

  // Two operators that share a connection which is no launch are ends of autograd.
  void PairForwardBackward() {
    const auto ts = [&](int32_t slice) { return rows_.slices[static_cast<size_t>(slice)].ts; };
    ops_of_connection_.ForEach([&](int64_t connection, const OpsOfConnection& ops) {
      if (ops.count != 2) return;
      const bool in_order = ts(ops.first) <= ts(ops.second);
      AddFlow("forward_backward", connection, in_order ? ops.first : ops.second,
              in_order ? ops.second : ops.first);
    });
  }

  DbTrace& trace_;
  TraceRows& rows_;
  int32_t op_category_;
  int32_t step_category_;
  int32_t queue_category_;
  int32_t python_category_;
  int32_t module_category_;
  base::SpillVector<std::pair<int64_t, int64_t>> connections_;  // set, connection; by set
  const bool reads_stacks_ = (trace_.tables & store::kTableBit<store::CallstackRow>) != 0;
  const bool reads_signatures_ = (trace_.tables & store::kTableBit<store::OpSignatureRow>) != 0;
  std::unordered_map<int64_t, int32_t> stacks_;
  struct Signature {
    int32_t id = store::kNone;
    bool is_swapped = false;
  };
  std::map<std::pair<int32_t, int32_t>, Signature> signatures_;  // by the names of types and shapes
  struct OpsOfConnection {
    int32_t first = store::kNone;  // slices
    int32_t second = store::kNone;
    int32_t count = 0;
  };
  NumberTable<OpsOfConnection> ops_of_connection_;
  struct QueueEnds {
    int32_t first = store::kNone;
    int32_t second = store::kNone;
  };
  NumberTable<QueueEnds> queue_of_connection_;
};

// The level of a call; older files have "hccl" for communication.
int32_t LevelName(DbTrace& trace, std::optional<int64_t> type) {
  const int32_t level = trace.Enum("ENUM_API_TYPE", type);
  return level != store::kNone ? level : trace.rows.names.Intern("unknown");
}

}  // namespace

void ReadFramework(DbTrace& trace) {
  FrameworkReader(trace).Run();
  if (!trace.Has("GC_RECORD", {"startNs", "endNs", "globalTid"})) return;
  const int32_t name = trace.rows.names.Intern("GC");
  const int32_t category = trace.rows.names.Intern("gc");
  trace.Read("GC_RECORD", {"startNs", "endNs", "globalTid"}, [&](const SqliteRow& row) {
    const auto begin = row.Int(0);
    const auto end = row.Int(1);
    const auto tid = row.Int(2);
    if (!begin || !end || !tid) return trace.WrongType("GC_RECORD");
    const int32_t track = trace.rows.ThreadTrack(TrackKind::kGarbageCollection, trace.Thread(*tid));
    trace.rows.AddSlice(track, *begin, SpanNs(*begin, *end), name, category);
  });
}

void ReadHostCalls(DbTrace& trace) {
  constexpr int64_t kNodeType = 10000;
  ascend::DeviceRows device(trace.rows);
  if (trace.Has("CANN_API", {"startNs", "endNs", "globalTid", "name"})) {
    trace.Read("CANN_API", {"startNs", "endNs", "type", "globalTid", "connectionId", "name"},
               [&](const SqliteRow& row) {
                 const auto begin = row.Int(0);
                 const auto end = row.Int(1);
                 const auto tid = row.Int(3);
                 if (!begin || !end || !tid) return trace.WrongType("CANN_API");
                 const int64_t connection = row.Int(4).value_or(-1);
                 const int32_t name = trace.Text(row, 5);
                 // Databases made of traces of GPUs have the calls of their runtime.
                 const bool is_launch =
                     row.Int(2) == kNodeType ||
                     (name >= 0 && store::IsLaunchCall(trace.rows.names.Text(name)));
                 const int32_t slice = device.AddCall({.ts = *begin,
                                                       .dur = SpanNs(*begin, *end),
                                                       .thread_id = trace.Thread(*tid),
                                                       .name = name,
                                                       .level = LevelName(trace, row.Int(2)),
                                                       .connection_id = connection});
                 trace.api_of_connection.Insert(connection, {slice, *begin, is_launch});
               });
  }
  if (!trace.Has("OSRT_API", {"name", "globalTid", "startNs", "endNs"})) return;
  const int32_t category = trace.rows.names.Intern("os_runtime");
  trace.Read("OSRT_API", {"name", "globalTid", "startNs", "endNs"}, [&](const SqliteRow& row) {
    const auto tid = row.Int(1);
    const auto begin = row.Int(2);
    const auto end = row.Int(3);
    if (!begin || !end || !tid) return trace.WrongType("OSRT_API");
    const int32_t track = trace.rows.ThreadTrack(TrackKind::kOsRuntime, trace.Thread(*tid));
    trace.rows.AddSlice(track, *begin, SpanNs(*begin, *end), trace.Text(row, 0), category);
  });
}

}  // namespace sonde::importers::db_import
