// Host side of a Kineto trace: operators, annotations, modules, Python functions, fwdbwd flows.
#include <map>
#include <memory>
#include <unordered_map>

#include "base/host/json_writer.h"
#include "base/strings.h"
#include "exporters/format/framework_rows.h"
#include "exporters/format/module_events.h"
#include "exporters/kineto/kineto_events.h"

namespace sonde::exporters {
namespace {

using recipes::Scope;
using recipes::TraceData;

constexpr size_t kHostEventsPerPiece = 4096;

// "float;int;" -> ["float", "int", ""]
std::string JsonList(std::string_view types) {
  std::vector<std::string> quoted;
  if (!types.empty()) {
    for (const std::string_view type : base::Split(types, ';')) {
      quoted.push_back(base::JsonQuote(type));
    }
  }
  return base::Concat("[", base::Join(quoted, ", "), "]");
}

// "2,3;;4" as [[2, 3], [], [4]]; lists of tensors are known with dims only.
std::string DimsOfShapes(std::string_view shapes) {
  if (shapes.empty()) return "[]";
  std::vector<std::string> lists;
  for (const std::string_view shape : base::Split(shapes, ';')) {
    const bool is_plain = shape.find_first_not_of("0123456789,") == std::string_view::npos;
    lists.push_back(base::Concat("[", is_plain ? base::ReplaceAll(shape, ",", ", ") : "", "]"));
  }
  return base::Concat("[", base::Join(lists, ", "), "]");
}

// Text of a stack as Kineto has it: "file(line): function;file(line): function".
std::string StackList(const TraceData& data, size_t stack) {
  std::string text;
  for (size_t i = data.stack_begin[stack]; i < data.stack_begin[stack + 1]; ++i) {
    if (!text.empty()) text += ';';
    text += data.Name(data.frames[i].frame);
  }
  return text;
}

// store::kNone has the first place.
size_t HostPlace(int32_t id) { return static_cast<size_t>(int64_t{id} + 1); }

struct Fragments {
  std::vector<std::string> name;       // "aten::add"      by name id + 1
  std::vector<std::string> row;        // ,"pid":1,"tid":2,"ts":    by track
  std::vector<std::string> signature;  // ,"Input Dims":..., "Input type":...    by id + 1
  std::vector<std::string> stack;      // ,"Call stack":...    by id + 1
  std::unordered_map<int32_t, std::string> mark;  // ,"event_type":...    by slice

  Fragments(const TraceData& data, const FrameworkRows& rows) : name(data.names.size() + 1) {
    name[0] = "\"\"";
    const auto need = [&](int32_t id) {
      std::string& text = name[HostPlace(id)];
      if (text.empty()) text = base::JsonQuote(data.Name(id));
    };
    for (const store::FrameworkOpRow& op : data.ops) need(data.Slice(op.slice_id).name);
    for (const store::TrackRow& track : data.tracks) {
      row.push_back(base::Concat(R"(,"pid":)", std::to_string(data.PidOf(track.process_id)),
                                 R"(,"tid":)", std::to_string(rows.OfTrack(track.track_id)),
                                 R"(,"ts":)"));
    }
    for (const store::MarkRow& range : data.marks) {
      if (range.slice_id >= 0) mark[range.slice_id] = base::Concat(",", MarkArguments(data, range));
    }
    signature.emplace_back();
    for (const store::OpSignatureRow& shapes : data.signatures) {
      const std::string_view dims = data.Name(shapes.input_dims);
      signature.push_back(base::Concat(
          R"(,"Input Dims":)",
          dims.empty() ? DimsOfShapes(data.Name(shapes.input_shapes)) : std::string(dims),
          R"(,"Input type":)", JsonList(data.Name(shapes.input_types))));
    }
    stack.emplace_back();
    for (size_t i = 0; i + 1 < data.stack_begin.size(); ++i) {
      const std::string text = StackList(data, i);
      stack.push_back(text.empty() ? "" : base::Concat(R"(,"Call stack":)", base::JsonQuote(text)));
    }
  }
};

void AppendOperators(const TraceData& data, const Fragments& fragments, int64_t base_ns,
                     size_t begin, size_t end, LineBuffer& out) {
  for (size_t i = begin; i < end; ++i) {
    const store::FrameworkOpRow& op = data.ops[i];
    if (static_cast<Scope>(op.scope) == Scope::kModule) continue;
    const store::SliceRow& slice = data.Slice(op.slice_id);
    out.Append(
        ",\n"
        R"({"ph":"X","cat":")");
    out.Append(capture::InfoOf(static_cast<Scope>(op.scope)).kineto_category);
    out.Append(R"(","name":)");
    out.Append(fragments.name[HostPlace(slice.name)]);
    out.Append(fragments.row[static_cast<size_t>(slice.track_id)]);
    out.Microseconds(slice.ts - base_ns);
    out.Append(R"(,"dur":)");
    out.Microseconds(data.DurationNs(slice));
    out.Append(R"(,"args":{"External id":)");
    out.Int(int64_t{op.slice_id} + 1);
    out.Append(R"(,"Record function id":0)");
    if (op.sequence_number >= 0) {
      out.Append(R"(,"Sequence number":)");
      out.Int(op.sequence_number);
      out.Append(R"(,"Fwd thread id":)");
      out.Int(op.forward_thread_id < 0
                  ? 0
                  : data.threads[static_cast<size_t>(op.forward_thread_id)].framework_number);
    }
    out.Append(fragments.signature[HostPlace(op.signature_id)]);
    out.Append(fragments.stack[HostPlace(op.stack_id)]);
    const auto mark = fragments.mark.find(op.slice_id);
    if (mark != fragments.mark.end()) out.Append(mark->second);
    out.Append(R"(,"Ev Idx":)");
    out.Int(static_cast<int64_t>(i));
    out.Append("}}");
  }
}

void AppendPythonEvents(const TraceData& data, const FrameworkRows& rows, int64_t base_ns,
                        const PythonEventList& list, size_t begin, size_t end, LineBuffer& out) {
  for (size_t i = begin; i < end; ++i) {
    const PythonEvent& event = list.events[i];
    const store::SliceRow& slice = data.Slice(event.slice_id);
    out.Append(
        ",\n"
        R"({"ph":"X","cat":"python_function","name":)");
    out.Append(base::JsonQuote(list.names[event.name]));
    out.Append(R"(,"pid":)");
    out.Int(data.PidOf(data.TrackOf(slice).process_id));
    out.Append(R"(,"tid":)");
    out.Int(rows.OfSlice(slice));
    out.Append(R"(,"ts":)");
    out.Microseconds(slice.ts - base_ns);
    out.Append(R"(,"dur":)");
    out.Microseconds(data.DurationNs(slice));
    out.Append(R"(,"args":{"Python parent id":)");
    if (event.parent_id == 0) {
      out.Append("null");
    } else {
      out.Int(event.parent_id);
    }
    out.Append(R"(,"Python id":)");
    out.Int(event.python_id);
    if (event.module_id >= 0) {
      out.Append(R"(,"Python module id":)");
      out.Int(event.module_id);
    }
    out.Append("}}");
  }
}

void AppendFlowEnd(const TraceData& data, const Fragments& fragments, int64_t base_ns, char phase,
                   int64_t id, int32_t slice_id, LineBuffer& out) {
  const store::SliceRow& slice = data.Slice(slice_id);
  out.Append(phase == 's' ? ",\n"
                            R"({"ph":"s","id":)"
                          : ",\n"
                            R"({"ph":"f","id":)");
  out.Int(id);
  out.Append(fragments.row[static_cast<size_t>(slice.track_id)]);
  out.Microseconds(slice.ts - base_ns);
  out.Append(phase == 's' ? R"(,"cat":"fwdbwd","name":"fwdbwd"})"
                          : R"(,"cat":"fwdbwd","name":"fwdbwd","bp":"e"})");
}

void AppendFlows(const TraceData& data, const Fragments& fragments, int64_t base_ns,
                 LineBuffer& out) {
  int64_t id = 0;
  for (const store::FlowRow& flow : data.flows) {
    if (flow.slice_out < 0 || flow.slice_in < 0) continue;
    if (data.Name(flow.kind) != "forward_backward") continue;
    ++id;
    AppendFlowEnd(data, fragments, base_ns, 's', id, flow.slice_out, out);
    AppendFlowEnd(data, fragments, base_ns, 'f', id, flow.slice_in, out);
  }
}

}  // namespace

void AddKinetoHost(const ExportContext& context, int64_t base_ns, TracePieces& pieces) {
  const TraceData& data = context.data();
  const auto rows = std::make_shared<const FrameworkRows>(data);
  const auto fragments = std::make_shared<const Fragments>(data, *rows);
  pieces.AddRanges(data.ops.size(), kHostEventsPerPiece,
                   [&data, fragments, base_ns](size_t begin, size_t end, LineBuffer& out) {
                     AppendOperators(data, *fragments, base_ns, begin, end, out);
                   });
  const auto python = std::make_shared<const PythonEventList>(PythonEvents(data));
  pieces.AddRanges(python->events.size(), kHostEventsPerPiece,
                   [&data, rows, python, base_ns](size_t begin, size_t end, LineBuffer& out) {
                     AppendPythonEvents(data, *rows, base_ns, *python, begin, end, out);
                   });
  pieces.Add([&data, fragments, base_ns](LineBuffer& out) {
    AppendFlows(data, *fragments, base_ns, out);
  });
}

}  // namespace sonde::exporters
