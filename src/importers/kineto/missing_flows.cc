// Arrows that the file does not have: from launches to work, known by correlation, and from forward
// to backward operators, known by the number that the framework gives both.
#include <algorithm>
#include <string_view>
#include <tuple>
#include <vector>

#include "importers/kineto/trace.h"
#include "store/table_writer.h"

namespace sonde::importers::kineto {
namespace {

using FlowWriter = store::TableWriter<store::FlowRow>;

constexpr std::string_view kToDevice = "host_to_device";
constexpr std::string_view kToBackward = "forward_backward";

// The slices that arrows of a kind lead to in the file; one that lost its begin is counted there.
std::vector<bool> SlicesWithArrows(const KinetoTrace& trace, std::string_view kind) {
  const trace_events::EventStage& stage = trace.stage();
  std::vector<bool> has_arrow(static_cast<size_t>(stage.slice_count()));
  int32_t category = store::kNone - 1;
  bool counts = false;
  stage.flow_ends().ForEach([&](uint32_t, const trace_events::FlowEnd& end) {
    if (end.category != category) {
      category = end.category;
      counts = stage.dialect().FlowKind(trace.NameOf(category)) == kind;
    }
    if (counts && end.phase != 's' && end.slice >= 0)
      has_arrow[static_cast<size_t>(end.slice)] = true;
  });
  return has_arrow;
}

void AddLaunchFlows(const KinetoTrace& trace, FlowWriter& writer, int32_t& flow_id) {
  const trace_events::EventStage& stage = trace.stage();
  const std::vector<bool> has_arrow = SlicesWithArrows(trace, kToDevice);
  const int32_t kind = trace.names().Intern(kToDevice);
  base::SpillSteps steps(stage.pool());
  for (const int32_t id : trace.device_work()) {
    steps.Next();
    if (has_arrow[static_cast<size_t>(id)]) continue;
    const int32_t call = trace.LaunchOf(id).call;
    if (call < 0) continue;
    writer.Append({.flow_id = flow_id++,
                   .kind = kind,
                   .key = stage.Captured(id, kCorrelation).value_or(store::kNone),
                   .slice_out = call,
                   .slice_in = id});
  }
}

// An operator with the framework's number.
struct Numbered {
  int32_t process;
  int64_t sequence;
  int64_t ts;
  int32_t slice_id;
  bool operator<(const Numbered& other) const {
    return std::tie(process, sequence, ts, slice_id) <
           std::tie(other.process, other.sequence, other.ts, other.slice_id);
  }
};
using NumberedOps = base::SpillVector<Numbered>;

// Operators of a backward pass that no arrow leads to, and those that may be their forward ones.
void FindNumbered(const KinetoTrace& trace, NumberedOps& forward, NumberedOps& backward) {
  const trace_events::EventStage& stage = trace.stage();
  const std::vector<bool> has_arrow = SlicesWithArrows(trace, kToBackward);
  const auto count = static_cast<int32_t>(stage.slice_count());
  base::SpillSteps steps(stage.pool());
  for (int32_t id = 0; id < count; ++id) {
    steps.Next();
    if (trace.ClassAt(id) != SliceClass::kOp) continue;
    const int64_t sequence = stage.Captured(id, kSequence).value_or(store::kNone);
    if (sequence < 0) continue;
    const std::string_view name = trace.NameAt(id);
    const Numbered op{trace.ProcessId(id), sequence, stage.Slice(id).ts, id};
    if (ScopeOf(name, SliceClass::kOp) == capture::Scope::kBackward) {
      if (!has_arrow[static_cast<size_t>(id)]) backward.push_back(op);
    } else if (!name.starts_with("autograd::engine::")) {
      forward.push_back(op);
    }
  }
}

// Of the forward operators with the number the one that began last before the backward one, which
// is the innermost where they nest.
void AddBackwardFlows(const KinetoTrace& trace, FlowWriter& writer, int32_t& flow_id) {
  const trace_events::EventStage& stage = trace.stage();
  NumberedOps forward{base::SpillAllocator<Numbered>(stage.pool())};
  NumberedOps backward{base::SpillAllocator<Numbered>(stage.pool())};
  FindNumbered(trace, forward, backward);
  if (backward.empty()) return;
  std::sort(forward.begin(), forward.end());
  const int32_t kind = trace.names().Intern(kToBackward);
  for (const Numbered& op : backward) {
    const auto behind = std::lower_bound(forward.begin(), forward.end(), op);
    if (behind == forward.begin()) continue;
    const Numbered& found = *(behind - 1);
    if (found.process != op.process || found.sequence != op.sequence) continue;
    writer.Append({.flow_id = flow_id++,
                   .kind = kind,
                   .key = op.sequence,
                   .slice_out = found.slice_id,
                   .slice_in = op.slice_id});
  }
}

}  // namespace

Status WriteMissingFlows(const KinetoTrace& trace, store::Transaction& transaction) {
  SONDE_ASSIGN_OR_RETURN(auto writer, FlowWriter::Open(transaction));
  auto flow_id = static_cast<int32_t>(trace.stage().flow_ends().size());  // behind the file's
  AddLaunchFlows(trace, writer, flow_id);
  AddBackwardFlows(trace, writer, flow_id);
  return writer.Close();
}

}  // namespace sonde::importers::kineto
