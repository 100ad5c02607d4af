// Arrows from launches to work: those that the file does not have are known by correlation.
#include <string_view>
#include <vector>

#include "importers/kineto/trace.h"
#include "store/table_writer.h"

namespace sonde::importers::kineto {
namespace {

constexpr std::string_view kToDevice = "host_to_device";

// The slices that such arrows of the file lead to; an arrow that lost its begin is counted there.
std::vector<bool> SlicesWithArrows(const KinetoTrace& trace) {
  const trace_events::EventStage& stage = trace.stage();
  std::vector<bool> has_arrow(static_cast<size_t>(stage.slice_count()));
  int32_t category = store::kNone - 1;
  bool counts = false;
  stage.flow_ends().ForEach([&](uint32_t, const trace_events::FlowEnd& end) {
    if (end.category != category) {
      category = end.category;
      counts = stage.dialect().FlowKind(trace.NameOf(category)) == kToDevice;
    }
    if (counts && end.phase != 's' && end.slice >= 0)
      has_arrow[static_cast<size_t>(end.slice)] = true;
  });
  return has_arrow;
}

}  // namespace

Status WriteLaunchFlows(const KinetoTrace& trace, store::Transaction& transaction) {
  const trace_events::EventStage& stage = trace.stage();
  const std::vector<bool> has_arrow = SlicesWithArrows(trace);
  SONDE_ASSIGN_OR_RETURN(auto writer, store::TableWriter<store::FlowRow>::Open(transaction));
  const int32_t kind = trace.names().Intern(kToDevice);
  auto flow_id = static_cast<int32_t>(stage.flow_ends().size());  // behind those of the file
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
  return writer.Close();
}

}  // namespace sonde::importers::kineto
