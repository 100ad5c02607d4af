// Of a trace that came without delivered tables: what the recipes compute, as the same rows.
#include "base/host/json.h"
#include "base/strings.h"
#include "cluster/delivered/parts.h"
#include "recipes/communication/communication.h"
#include "recipes/communication_matrix/communication_matrix.h"

namespace sonde::cluster {
namespace {

double Us(int64_t ns) { return static_cast<double>(ns) / 1e3; }
double Ms(int64_t ns) { return static_cast<double>(ns) / 1e6; }
double Mb(int64_t bytes) { return static_cast<double>(bytes) / 1e6; }

void AddOp(const recipes::DeviceView& view, const std::string& step,
           const recipes::CommunicationRow& row, Delivered& delivered) {
  const recipes::CommunicationView& shown = view.communications[row.index];
  const std::string group = std::to_string(shown.group_hash);
  delivered.times.push_back({.step = step,
                             .is_p2p = shown.is_p2p,
                             .op = shown.name,
                             .group = group,
                             .start_us = Us(view.data->communications[row.index].ts),
                             .elapse_ms = Ms(row.times.elapse_ns),
                             .transit_ms = Ms(row.times.transit_ns),
                             .wait_ms = Ms(row.times.wait_ns),
                             .synchronization_ms = Ms(row.times.synchronization_ns),
                             .idle_ms = Ms(row.times.idle_ns)});
  for (const auto& [transport, traffic] : row.traffic) {
    DeliveredBandwidth link{
        .step = step,
        .is_p2p = shown.is_p2p,
        .op = shown.name,
        .group = group,
        .transport = std::string(recipes::TransportName(transport)),
        .size_mb = Mb(traffic.size_bytes),
        .time_ms = Ms(traffic.time_ns),
        .bandwidth = recipes::BandwidthGbPerS(traffic.size_bytes, traffic.time_ns)};
    if (traffic.sizes.empty()) delivered.bandwidths.push_back(link);
    for (const auto& [size, count] : traffic.sizes) {
      link.package_mb = Mb(size);
      link.count = count.count;
      link.duration_ms = Ms(count.time_ns);
      delivered.bandwidths.push_back(link);
    }
  }
}

void AddLinks(const recipes::DeviceView& view, const recipes::CommunicationStep& step,
              const std::string& step_name, Delivered& delivered) {
  for (const recipes::MatrixEntry& entry : recipes::CommunicationMatrix(view, step)) {
    for (const recipes::MatrixCell& cell : entry.cells) {
      delivered.links.push_back(
          {.step = step_name,
           .is_p2p = entry.is_p2p,
           .op = entry.name,
           .group = std::to_string(entry.group_hash),
           .src = static_cast<int32_t>(cell.link.src_rank),
           .dst = static_cast<int32_t>(cell.link.dst_rank),
           .transport = std::string(recipes::TransportName(cell.link.transport)),
           .op_name = cell.op_name,
           .size_mb = Mb(cell.link.size_bytes),
           .time_ms = Ms(cell.link.time_ns)});
    }
  }
}

void AddGroups(const recipes::TraceData& data, Delivered& delivered) {
  for (const recipes::CommunicationGroup& group : data.groups) {
    DeliveredGroup row{.hash = std::to_string(group.hash),
                       .id = std::string(data.Name(group.name)),
                       .pg_name = std::string(data.Name(group.description)),
                       .ranks = {}};
    const auto list = base::JsonDocument::Parse(group.rank_list, "rank_list");
    if (list.ok()) {
      for (const base::JsonValue& rank : list->root().Elements()) {
        row.ranks.push_back(static_cast<int32_t>(rank.AsInt().value_or(-1)));
      }
    }
    delivered.groups.push_back(std::move(row));
  }
}

}  // namespace

std::vector<DeliveredStep> ComputeSteps(const recipes::DeviceView& view) {
  std::vector<DeliveredStep> steps;
  for (const recipes::Device& device : view.devices) {
    for (const recipes::StepTraceRow& row : device.steps) {
      steps.push_back(
          {.step = row.step_id ? std::to_string(*row.step_id) : "",
           .us = {Us(row.computing_ns), Us(row.not_overlapped_ns), Us(row.overlapped_ns),
                  Us(row.communication_ns), Us(row.free_ns), Us(row.stage_ns), Us(row.bubble_ns),
                  Us(row.not_overlapped_without_receive_ns), Us(row.preparing_ns)}});
    }
  }
  return steps;
}

Delivered ComputeDelivered(const recipes::DeviceView& view) {
  Delivered delivered;
  delivered.steps = ComputeSteps(view);
  for (const recipes::CommunicationStep& step : recipes::Communication(view)) {
    const std::string name =
        step.step_id ? base::Concat("step", std::to_string(*step.step_id)) : "step";
    for (const recipes::CommunicationRow& row : step.rows) AddOp(view, name, row, delivered);
    AddLinks(view, step, name, delivered);
  }
  AddGroups(*view.data, delivered);
  for (const store::ProcessRow& process : view.data->processes) {
    if (delivered.facts.host_name.empty()) {
      delivered.facts.host_name = view.data->Name(process.host);
    }
  }
  if (!view.devices.empty()) delivered.facts.device_id = view.devices.front().device_id;
  return delivered;
}

}  // namespace sonde::cluster
