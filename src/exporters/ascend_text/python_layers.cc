#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "base/host/json_writer.h"
#include "base/strings.h"
#include "exporters/ascend_text/framework_events.h"
#include "exporters/ascend_text/operator_fragments.h"
#include "exporters/ascend_text/trace_view.h"
#include "exporters/format/layers.h"

namespace sonde::exporters {
namespace {

using recipes::Scope;
using recipes::TraceData;

constexpr size_t kEventsPerPiece = 1024;

// Processes with threads are the framework's. Those of counters are named with these
// (format/counter_lanes.h); work of devices is in layers of its own.
void AppendProcesses(const TraceData& data, LineBuffer& out) {
  std::vector<bool> has_threads(data.processes.size());
  for (const store::TrackRow& track : data.tracks) {
    if (track.process_id < 0 || track.thread_id < 0) continue;
    has_threads[static_cast<size_t>(track.process_id)] = true;
  }
  for (size_t i = 0; i < data.processes.size(); ++i) {
    if (!has_threads[i]) continue;
    AppendProcessNames(
        {data.processes[i].pid, "Python", "CPU", static_cast<int64_t>(Layer::kPython)}, out);
  }
}

void AppendFrameworkNames(const TraceData& data, const FrameworkRows& rows,
                          const FrameworkEvents& events, LineBuffer& out) {
  AppendProcesses(data, out);
  std::set<std::pair<int64_t, int64_t>> named;
  int64_t last_row = -1;
  for (const FrameworkEvent& event : events.events) {
    const store::SliceRow& slice = data.Slice(event.slice_id);
    const int64_t row = rows.OfSlice(slice);
    if (row == last_row) continue;
    last_row = row;
    const store::TrackRow& track = data.TrackOf(slice);
    const int64_t pid = data.PidOf(track.process_id);
    if (!named.insert({pid, row}).second) continue;
    const int64_t tid = data.TidOf(track.thread_id);
    AppendThreadNames(pid, row, ThreadLabel(tid), tid, out);
  }
}

// Those that the operator has.
void AppendArguments(const TraceData& data, const OperatorFragments& fragments,
                     const store::FrameworkOpRow& op, LineBuffer& out) {
  // Of a step the store keeps its number there.
  if (op.sequence_number >= 0 && static_cast<Scope>(op.scope) != Scope::kStep) {
    out.Append(R"(,"Sequence number":)");
    out.Int(op.sequence_number);
  }
  if (op.forward_thread_id >= 0) {
    out.Append(R"(,"Fwd thread id":)");
    out.Int(data.threads[static_cast<size_t>(op.forward_thread_id)].framework_number);
  }
  out.Append(fragments.Signature(op.signature_id));
  out.Append(fragments.Stack(op.stack_id));
  out.Append(fragments.Module(op.module));
}

// Slices that are no operator keep their category and arguments.
void AppendOther(const TraceData& data, const ImportedSlices& imported,
                 const store::SliceRow& slice, LineBuffer& out) {
  std::string_view category = data.Name(slice.category);
  if (category == "task_queue") {
    category = data.Name(slice.name).starts_with("Enqueue") ? "enqueue" : "dequeue";
  }
  out.Append(R"(,"cat":)");
  out.Append(base::JsonQuote(category));
  out.Append(R"(,"args":)");
  std::string arguments = imported.arguments.Json(slice.slice_id);
  const auto number = imported.queue_numbers.find(slice.slice_id);
  if (arguments == "{}" && number != imported.queue_numbers.end()) {
    arguments = base::Concat(R"({"correlation_id":)", std::to_string(number->second), "}");
  }
  out.Append(arguments);
  out.Append("}");
}

void AppendOperator(const TraceData& data, const OperatorFragments& fragments,
                    const ImportedSlices& imported, const FrameworkEvent& event, LineBuffer& out) {
  const store::SliceRow& slice = data.Slice(event.slice_id);
  const int32_t op_index = data.OpOf(event.slice_id);
  out.Append(fragments.Begin(slice.name));
  out.Append(fragments.Row(slice.track_id));
  out.Microseconds(slice.ts);
  out.Append(R"(","dur":)");
  out.MicrosecondsShort(event.dur_ns);
  if (op_index < 0 && data.HasTrackKind(slice, recipes::TrackKind::kThread)) {
    return AppendOther(data, imported, slice, out);
  }
  out.Append(R"(,"cat":"cpu_op","args":)");
  // Every argument brings its comma; that of the first becomes the brace.
  const size_t args_begin = out.size();
  if (op_index >= 0) AppendArguments(data, fragments, data.ops[static_cast<size_t>(op_index)], out);
  if (out.size() == args_begin) {
    out.Append("{}}");
  } else {
    out.Replace(args_begin, '{');
    out.Append("}}");
  }
}

// `quoted_names`: PythonEventList::names as JSON.
void AppendPythonEvent(const TraceData& data, const FrameworkRows& rows, const PythonEvent& python,
                       const std::vector<std::string>& quoted_names, int64_t dur_ns,
                       LineBuffer& out) {
  const store::SliceRow& slice = data.Slice(python.slice_id);
  out.Append(R"(,{"ph":"X","name":)");
  out.Append(quoted_names[python.name]);
  out.Append(R"(,"pid":)");
  out.Int(data.PidOf(data.TrackOf(slice).process_id));
  out.Append(R"(,"tid":)");
  out.Int(rows.OfSlice(slice));
  out.Append(R"(,"ts":")");
  out.Microseconds(slice.ts);
  out.Append(R"(","dur":)");
  out.MicrosecondsShort(dur_ns);
  out.Append(R"(,"cat":"python_function","args":{"Python id":)");
  out.Int(python.python_id);
  out.Append(R"(,"Python parent id":)");
  out.Int(python.parent_id);
  if (python.module_id >= 0) {
    out.Append(R"(,"Python module id":)");
    out.Int(python.module_id);
  }
  out.Append("}}");
}

// Names of flows by their kind in the store.
struct FlowNames {
  std::string_view kind;
  std::string_view name;
  std::string_view category;
};
constexpr FlowNames kForwardBackward{"forward_backward", "fwdbwd", "fwdbwd"};
constexpr FlowNames kUserFlow{"user", "flow", "user"};
constexpr FlowNames kQueueFlow{"enqueue_dequeue", "enqueue_to_dequeue", "async_task_queue"};

void AppendFlow(const TraceData& data, const FrameworkRows& rows, const FlowNames& names,
                int64_t id, const store::FlowRow& flow, LineBuffer& out) {
  const auto append_end = [&](char phase, int32_t slice_id) {
    const store::SliceRow& slice = data.Slice(slice_id);
    const store::TrackRow& track = data.TrackOf(slice);
    AppendFlowEnd({phase, names.name, names.category, data.PidOf(track.process_id),
                   rows.OfSlice(slice), slice.ts},
                  id, out);
  };
  append_end('s', flow.slice_out);
  append_end('f', flow.slice_in);
}

// One pair a sequence number, the latest, as the peer has it; the others all.
void AppendFrameworkFlows(const TraceData& data, const FrameworkRows& rows, LineBuffer& out) {
  std::map<int64_t, const store::FlowRow*> forward_backward;
  for (const store::FlowRow& flow : data.flows) {
    if (flow.slice_out < 0 || flow.slice_in < 0) continue;
    if (data.Name(flow.kind) == kForwardBackward.kind) forward_backward[flow.key] = &flow;
    if (data.Name(flow.kind) == kUserFlow.kind) {
      AppendFlow(data, rows, kUserFlow, flow.flow_id, flow, out);
    }
    if (data.Name(flow.kind) == kQueueFlow.kind) {
      AppendFlow(data, rows, kQueueFlow, flow.key, flow, out);
    }
  }
  for (const auto& [key, flow] : forward_backward) {
    AppendFlow(data, rows, kForwardBackward, key, *flow, out);
  }
}

}  // namespace

void AddPythonLayers(const ExportContext& context, const ImportedSlices& imported,
                     TracePieces& pieces) {
  const TraceData& data = context.data();
  const auto rows = std::make_shared<const FrameworkRows>(data);
  const auto fragments = std::make_shared<const OperatorFragments>(data, *rows);
  const auto events = std::make_shared<const FrameworkEvents>(FrameworkEvents::Make(data, *rows));
  pieces.Add(
      [&data, rows, events](LineBuffer& out) { AppendFrameworkNames(data, *rows, *events, out); });
  const auto quoted = std::make_shared<std::vector<std::string>>();
  for (const std::string& name : events->python.names) quoted->push_back(base::JsonQuote(name));
  pieces.AddRanges(events->events.size(), kEventsPerPiece,
                   [&data, &imported, rows, fragments, events, quoted](size_t begin, size_t end,
                                                                       LineBuffer& out) {
                     for (size_t i = begin; i < end; ++i) {
                       const FrameworkEvent& event = events->events[i];
                       if (event.python < 0) {
                         AppendOperator(data, *fragments, imported, event, out);
                       } else {
                         const PythonEvent& python =
                             events->python.events[static_cast<size_t>(event.python)];
                         AppendPythonEvent(data, *rows, python, *quoted, event.dur_ns, out);
                       }
                     }
                   });
  pieces.Add([&data, rows](LineBuffer& out) { AppendFrameworkFlows(data, *rows, out); });
  pieces.Add([&data](LineBuffer& out) { AppendGarbageCollections(data, out); });
  pieces.Add([&data](LineBuffer& out) { AppendMarkers(data, out); });
  AddCounters(context, /*with_modules=*/true, pieces);
}

void AddCounters(const ExportContext& context, bool with_modules, TracePieces& pieces) {
  const TraceData& data = context.data();
  if (data.counters.empty()) return;
  const auto lanes = std::make_shared<const CounterLanes>(data);
  pieces.Add([lanes](LineBuffer& out) { AppendCounterProcesses(*lanes, out); });
  pieces.AddRanges(data.counters.size(), kEventsPerPiece,
                   [&data, lanes, with_modules](size_t begin, size_t end, LineBuffer& out) {
                     AppendCounters(data, *lanes, with_modules, begin, end, out);
                   });
}

}  // namespace sonde::exporters
