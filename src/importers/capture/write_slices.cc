// Slices and the framework's facts about them: the two tables with a row for every range.
#include "importers/capture/forward_index.h"
#include "importers/capture/trace.h"
#include "store/table_writer.h"

namespace sonde::importers::capture_import {
using capture::RecordKind;
using store::FrameworkOpRow;
using store::SliceRow;

Categories::Categories(store::NamePool& names, capture::DeviceVendor vendor)
    : device(names, vendor) {
  for (size_t i = 0; i < ids.size(); ++i) {
    const std::string_view category = capture::kRecordKindByNumber[i].category;
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
  WriteDeviceSlices(trace, categories.device, writer);
  return writer.Close();
}

Status WriteFrameworkOps(const CaptureTrace& trace, const ArgumentTable& arguments,
                         store::Transaction& transaction) {
  SONDE_ASSIGN_OR_RETURN(auto writer, store::TableWriter<FrameworkOpRow>::Open(transaction));
  writer.Reserve(static_cast<size_t>(trace.slices));
  const ForwardIndex forwards(trace);
  for (const ThreadStage& stage : trace.stages) {
    for (const uint32_t index : stage.by_slice) {
      const Node& node = stage.nodes[index];
      const capture::Scope scope = capture::InfoOf(node.kind).scope;
      if (scope == capture::Scope::kNone) continue;
      FrameworkOpRow row;
      row.slice_id = node.slice_id;
      row.scope = static_cast<int16_t>(scope);
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
