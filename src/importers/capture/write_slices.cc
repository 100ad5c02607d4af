// Slices and what the framework says about them: the two tables with a row for every range.
#include <array>

#include "importers/capture/forward_index.h"
#include "importers/capture/trace.h"
#include "store/table_writer.h"

namespace sonde::importers::capture_import {
namespace {

using capture::RecordKind;
using store::FrameworkOpRow;
using store::SliceRow;

std::string_view CategoryOf(RecordKind kind) {
  switch (kind) {
    case RecordKind::kRange:
      return "range";
    case RecordKind::kOp:
    case RecordKind::kFrameworkRange:
    case RecordKind::kBackwardNode:
    case RecordKind::kCompiledRegion:
      return "cpu_op";
    case RecordKind::kUserScope:
    case RecordKind::kStep:
    case RecordKind::kOptimizer:
    case RecordKind::kDataLoader:
      return "user_annotation";
    case RecordKind::kModule:
      return "module";
    case RecordKind::kPythonFunction:
      return "python_function";
    case RecordKind::kCollective:
      return "collective";
    case RecordKind::kCollectiveWork:
      return "collective_work";
    case RecordKind::kGarbageCollection:
      return "gc";
    case RecordKind::kIdle:
      return "idle";
    case RecordKind::kSpanBegin:
      return "span";
    default:
      return "";
  }
}

// framework_op.scope; -1: no row.
int16_t ScopeOf(RecordKind kind) {
  switch (kind) {
    case RecordKind::kOp:
      return 0;
    case RecordKind::kBackwardNode:
      return 1;
    case RecordKind::kFrameworkRange:
      return 2;
    case RecordKind::kUserScope:
      return 3;
    case RecordKind::kModule:
      return 4;
    case RecordKind::kOptimizer:
      return 5;
    case RecordKind::kDataLoader:
      return 6;
    case RecordKind::kCompiledRegion:
      return 7;
    case RecordKind::kStep:
      return 8;
    case RecordKind::kRange:
      return 9;
    case RecordKind::kCollective:
      return 10;
    default:
      return -1;
  }
}

std::array<int16_t, 64> Scopes() {
  std::array<int16_t, 64> scopes{};
  for (size_t i = 0; i < scopes.size(); ++i) scopes[i] = ScopeOf(static_cast<RecordKind>(i));
  return scopes;
}

}  // namespace

Categories::Categories(store::NamePool& names) {
  for (size_t i = 0; i < ids.size(); ++i) {
    const std::string_view category = CategoryOf(static_cast<RecordKind>(i));
    ids[i] = category.empty() ? store::kNone : names.Intern(category);
  }
}

Status WriteSlices(const CaptureTrace& trace, const ArgumentTable& arguments,
                   const Categories& categories, store::Transaction& transaction) {
  SONDE_ASSIGN_OR_RETURN(auto writer, store::TableWriter<SliceRow>::Open(transaction));
  writer.Reserve(static_cast<size_t>(trace.slices));
  for (const ThreadStage& stage : trace.stages) {
    for (const uint32_t index : stage.by_slice) {
      const Node& node = stage.nodes[index];
      SliceRow row;
      row.slice_id = node.slice_id;
      row.ts = node.ts;
      row.dur = node.DurNs();
      row.track_id = stage.tracks[node.track].track_id;
      row.name = trace.NameId(node.name);
      row.category = categories.ids[static_cast<size_t>(node.kind)];
      row.depth = static_cast<int32_t>(node.depth);
      row.parent_id =
          node.parent == kNoNode ? store::kNone : trace.NodeOf(stage, node.parent).slice_id;
      row.args_id = arguments.ArgsId(node.args);
      writer.Append(row);
    }
  }
  return writer.Close();
}

Status WriteFrameworkOps(const CaptureTrace& trace, const ArgumentTable& arguments,
                         store::Transaction& transaction) {
  SONDE_ASSIGN_OR_RETURN(auto writer, store::TableWriter<FrameworkOpRow>::Open(transaction));
  writer.Reserve(static_cast<size_t>(trace.slices));
  const std::array<int16_t, 64> scopes = Scopes();
  const ForwardIndex forwards(trace);
  for (const ThreadStage& stage : trace.stages) {
    for (const uint32_t index : stage.by_slice) {
      const Node& node = stage.nodes[index];
      const int16_t scope = scopes[static_cast<size_t>(node.kind)];
      if (scope < 0) continue;
      FrameworkOpRow row;
      row.slice_id = node.slice_id;
      row.scope = scope;
      row.sequence_number = node.sequence;
      if (node.kind == RecordKind::kBackwardNode) {
        row.forward_thread_id = forwards.ThreadOf(node);
      } else if (node.link != 0) {
        row.stack_id = static_cast<int32_t>(node.link);
      }
      row.module = trace.NameId(node.module);
      row.signature_id = arguments.SignatureId(node.args);
      writer.Append(row);
    }
  }
  return writer.Close();
}

}  // namespace sonde::importers::capture_import
