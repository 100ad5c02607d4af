#include "recipes/operator_details/operator_details.h"

#include "recipes/recipe.h"
#include "recipes/trace/op_order.h"

namespace sonde::recipes {

std::vector<OperatorRow> OperatorDetails(const TraceData& data) {
  const std::vector<int64_t> children_ns = ChildDurationsNs(data);
  const DeviceTimes device = DeviceTimesNs(data, DeviceWork::kAll);
  const DeviceTimes aicore = DeviceTimesNs(data, DeviceWork::kAiCore);
  std::vector<OperatorRow> rows;
  const std::vector<uint32_t> order = OperatorsByStart(data, /*with_steps=*/false);
  rows.reserve(order.size());
  for (const uint32_t op : order) {
    const auto slice = static_cast<size_t>(data.ops[op].slice_id);
    OperatorRow row;
    row.op = op;
    row.host_total_ns = data.DurationNs(data.slices[slice]);
    row.host_self_ns = row.host_total_ns - children_ns[slice];
    row.device_self_ns = device.self_ns[slice];
    row.device_total_ns = device.total_ns[slice];
    row.aicore_self_ns = aicore.self_ns[slice];
    row.aicore_total_ns = aicore.total_ns[slice];
    rows.push_back(row);
  }
  return rows;
}

namespace {

#define SONDE_COLUMNS_OPERATOR_DETAILS(C)                                                       \
  C(slice_id, Int, "", KeyOf("slice"), "its slice")                                             \
  C(name, Text, "", KeyOf("operator"), "of the operator")                                       \
  C(start_ns, Int, "ns", kLabel, "begin, of the Unix epoch")                                    \
  C(host_self_ns, Int, "ns", kLess, "on the host, without the operators that it calls")         \
  C(host_total_ns, Int, "ns", kLess, "on the host, with them")                                  \
  C(device_self_ns, Int, "ns", kLess, "of the device tasks and communication that it launched") \
  C(device_total_ns, Int, "ns", kLess, "the same with those of the operators that it calls")
SONDE_RESULT(OperatorRecord, kOperatorDetails, "operator_details", SONDE_COLUMNS_OPERATOR_DETAILS,
             "a call of an operator with its times")

void RunOperatorDetails(const DeviceView& view, store::RowSink& rows) {
  const TraceData& data = *view.data;
  for (const OperatorRow& row : OperatorDetails(data)) {
    const store::SliceRow& slice = data.Slice(data.ops[row.op].slice_id);
    OperatorRecord{slice.slice_id,    data.Name(slice.name), slice.ts,           row.host_self_ns,
                   row.host_total_ns, row.device_self_ns,    row.device_total_ns}
        .Write(rows);
  }
}

}  // namespace

extern const Recipe kOperatorDetailsRecipe;
constexpr Recipe kOperatorDetailsRecipe = {
    &kOperatorDetails,
    Reads<store::SliceRow, store::FrameworkOpRow, store::DeviceTaskRow, store::CommunicationOpRow>()
        .WithOrder()
        .WithBounds(),
    &RunOperatorDetails};

}  // namespace sonde::recipes
