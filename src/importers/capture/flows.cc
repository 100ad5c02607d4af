// Arrows: from forward op to backward node, and those that the program recorded.
#include <unordered_map>

#include "importers/capture/forward_index.h"
#include "importers/capture/issues.h"
#include "importers/capture/serving.h"
#include "importers/capture/trace.h"
#include "store/table_writer.h"

namespace sonde::importers::capture_import {
namespace {

using capture::RecordKind;
using store::FlowRow;

class FlowWriter {
 public:
  FlowWriter(CaptureTrace& trace, store::TableWriter<FlowRow>& writer)
      : trace_(trace), writer_(writer) {}

  void WriteBackward() {
    const int32_t kind = trace_.names.Intern("forward_backward");
    const ForwardIndex forwards(trace_);
    for (const ThreadStage& stage : trace_.stages) {
      for (const Node& node : stage.nodes) {
        if (node.kind != RecordKind::kBackwardNode || node.sequence < 0) continue;
        const Node* op = forwards.OpOf(node);
        if (op == nullptr) {
          trace_.issues.Add(kBackwardUnpaired, "");
          continue;
        }
        Append(kind, node.sequence, op->slice_id, node.slice_id);
      }
    }
  }

  // Ends of flows with one key: the first that leaves is the begin, each that arrives an end.
  void WriteUserFlows() {
    const int32_t kind = trace_.names.Intern("user");
    std::unordered_map<uint64_t, int32_t> begins;
    ForEachEnd(true, [&](uint64_t key, int32_t slice) { begins.emplace(key, slice); });
    ForEachEnd(false, [&](uint64_t key, int32_t slice) {
      const auto begin = begins.find(key);
      if (begin == begins.end()) {
        trace_.issues.Add(kUnpairedFlow, "");
        return;
      }
      Append(kind, static_cast<int64_t>(key), begin->second, slice);
    });
  }

  // From the host call to the work that it launched.
  void WriteLaunches() {
    const int32_t kind = trace_.names.Intern("host_to_device");
    const DeviceStage& device = trace_.device;
    for (const DeviceTask& task : device.tasks) {
      if (task.call == kNoNode) continue;
      const DeviceCall& call = device.calls[static_cast<size_t>(task.call)];
      Append(kind, static_cast<int64_t>(task.correlation), call.slice_id, task.slice_id);
    }
  }

 private:
  template <class Take>
  void ForEachEnd(bool out, Take take) {
    for (const ThreadStage& stage : trace_.stages) {
      for (const FlowEnd& end : stage.flows) {
        if (end.out != out || IsServingFlow(trace_.dictionary.Name(end.name))) continue;
        if (end.node == kNoNode) {
          trace_.issues.Add(kUnpairedFlow, "");  // outside of any range: nothing to point at
          continue;
        }
        take(end.key, trace_.NodeOf(stage, end.node).slice_id);
      }
    }
  }

  void Append(int32_t kind, int64_t key, int32_t out, int32_t in) {
    FlowRow row;
    row.flow_id = next_id_++;
    row.kind = kind;
    row.key = key;
    row.slice_out = out;
    row.slice_in = in;
    writer_.Append(row);
  }

  CaptureTrace& trace_;
  store::TableWriter<FlowRow>& writer_;
  int32_t next_id_ = 0;
};

}  // namespace

Result<int64_t> WriteFlows(CaptureTrace& trace, store::Transaction& transaction) {
  SONDE_ASSIGN_OR_RETURN(auto writer, store::TableWriter<FlowRow>::Open(transaction));
  FlowWriter flows(trace, writer);
  flows.WriteBackward();
  flows.WriteUserFlows();
  flows.WriteLaunches();
  const auto count = static_cast<int64_t>(writer.rows());
  SONDE_RETURN_IF_ERROR(writer.Close());
  return count;
}

}  // namespace sonde::importers::capture_import
