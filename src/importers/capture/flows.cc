// Arrows: from forward op to backward node, and those that the program recorded.
#include <algorithm>
#include <limits>
#include <unordered_map>

#include "importers/capture/issues.h"
#include "importers/capture/serving.h"
#include "importers/capture/trace.h"
#include "store/table_writer.h"

namespace sonde::importers::capture_import {
namespace {

using capture::RecordKind;
using store::FlowRow;

bool MayBeForward(const Node& node) {
  return node.sequence >= 0 &&
         (node.kind == RecordKind::kOp || node.kind == RecordKind::kFrameworkRange ||
          node.kind == RecordKind::kCompiledRegion);
}

// The forward op of each sequence number of one thread: the one that began last, which is also the
// innermost where they nest.
class ForwardOps {
 public:
  explicit ForwardOps(const ThreadStage& stage) {
    int32_t low = std::numeric_limits<int32_t>::max();
    int32_t high = -1;
    size_t count = 0;
    for (const Node& node : stage.nodes) {
      if (!MayBeForward(node)) continue;
      low = std::min(low, node.sequence);
      high = std::max(high, node.sequence);
      ++count;
    }
    if (count == 0) return;
    low_ = low;
    const auto range = static_cast<size_t>(int64_t{high} - low + 1);
    dense_ = range <= count * 16 + 65536;
    if (dense_) table_.assign(range, store::kNone);
    for (const Node& node : stage.nodes) {
      if (!MayBeForward(node)) continue;
      if (dense_) {
        table_[static_cast<size_t>(node.sequence - low_)] = node.slice_id;
      } else {
        map_[node.sequence] = node.slice_id;
      }
    }
  }

  int32_t Find(int32_t sequence) const {
    if (dense_) {
      const int64_t index = int64_t{sequence} - low_;
      const bool inside = index >= 0 && index < static_cast<int64_t>(table_.size());
      return inside ? table_[static_cast<size_t>(index)] : store::kNone;
    }
    const auto found = map_.find(sequence);
    return found == map_.end() ? store::kNone : found->second;
  }

 private:
  int32_t low_ = 0;
  bool dense_ = true;
  std::vector<int32_t> table_;
  std::unordered_map<int32_t, int32_t> map_;
};

class FlowWriter {
 public:
  FlowWriter(CaptureTrace& trace, store::TableWriter<FlowRow>& writer)
      : trace_(trace), writer_(writer) {}

  void WriteBackward() {
    const int32_t kind = trace_.names.Intern("forward_backward");
    std::unordered_map<uint32_t, ForwardOps> forward;  // by number of the framework's thread
    for (const ThreadStage& stage : trace_.stages) {
      const ThreadEntry* entry = trace_.dictionary.FindThread(stage.thread_index);
      if (entry == nullptr || entry->framework_number == 0) continue;
      forward.insert_or_assign(entry->framework_number, ForwardOps(stage));
    }
    for (const ThreadStage& stage : trace_.stages) {
      for (const Node& node : stage.nodes) {
        if (node.kind != RecordKind::kBackwardNode || node.sequence < 0) continue;
        const auto ops = forward.find(node.link);
        const int32_t op = ops == forward.end() ? store::kNone : ops->second.Find(node.sequence);
        if (op == store::kNone) {
          trace_.issues.Add(kBackwardUnpaired, "");
          continue;
        }
        Append(kind, node.sequence, op, node.slice_id);
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
  const auto count = static_cast<int64_t>(writer.rows());
  SONDE_RETURN_IF_ERROR(writer.Close());
  return count;
}

}  // namespace sonde::importers::capture_import
