#include "exporters/ascend_text/communication_json.h"

#include <array>

#include "base/host/json_writer.h"
#include "base/strings.h"
#include "recipes/communication_matrix/communication_matrix.h"

namespace sonde::exporters {
namespace {

using base::JsonWriter;
using recipes::CommunicationRow;
using recipes::CommunicationStep;
using recipes::CommunicationTimes;
using recipes::DeviceView;
using recipes::Transport;
using recipes::TransportTraffic;

constexpr std::array kJsonTransports = {Transport::kRdma, Transport::kHccs, Transport::kPcie,
                                        Transport::kSdma, Transport::kSio};

double Ms(int64_t ns) { return static_cast<double>(ns) / 1e6; }
double Mb(int64_t bytes) { return static_cast<double>(bytes) / 1e6; }

void Number(JsonWriter& json, std::string_view key, double value) {
  json.Key(key);
  if (value == 0) {
    json.Int(0);
  } else {
    json.Double(value);
  }
}

void WriteTimes(const CommunicationTimes& times, JsonWriter& json) {
  Number(json, "Elapse Time(ms)", Ms(times.elapse_ns));
  Number(json, "Transit Time(ms)", Ms(times.transit_ns));
  Number(json, "Wait Time(ms)", Ms(times.wait_ns));
  Number(json, "Synchronization Time(ms)", Ms(times.synchronization_ns));
  Number(json, "Idle Time(ms)", Ms(times.idle_ns));
  Number(json, "Wait Time Ratio", times.WaitRatio());
  Number(json, "Synchronization Time Ratio", times.SynchronizationRatio());
}

void WriteSizes(const TransportTraffic& traffic, JsonWriter& json) {
  json.Key("Size Distribution");
  json.BeginObject();
  for (const auto& [size_bytes, count] : traffic.sizes) {
    json.Key(base::PythonDoubleText(Mb(size_bytes)));
    json.BeginArray();
    json.Int(count.count);
    json.Double(Ms(count.time_ns));
    json.EndArray();
  }
  json.EndObject();
}

void WriteTraffic(const std::map<Transport, TransportTraffic>& all, bool is_total,
                  JsonWriter& json) {
  json.Key("Communication Bandwidth Info");
  json.BeginObject();
  for (const Transport transport : kJsonTransports) {
    const auto found = all.find(transport);
    const TransportTraffic traffic = found == all.end() ? TransportTraffic() : found->second;
    json.Key(recipes::TransportName(transport));
    json.BeginObject();
    if (is_total) {
      Number(json, "Transit Time(ms)", Ms(traffic.time_ns));
      Number(json, "Transit Size(MB)", Mb(traffic.size_bytes));
    } else {
      Number(json, "Transit Size(MB)", Mb(traffic.size_bytes));
      Number(json, "Transit Time(ms)", Ms(traffic.time_ns));
      Number(json, "Bandwidth(GB/s)",
             recipes::BandwidthGbPerS(traffic.size_bytes, traffic.time_ns));
      Number(json, "Large Packet Ratio", 0);
    }
    WriteSizes(traffic, json);
    json.EndObject();
  }
  json.EndObject();
}

void WriteOperation(const DeviceView& view, const CommunicationRow& row, JsonWriter& json) {
  const recipes::CommunicationView& shown = view.communications[row.index];
  json.Key(base::Concat(shown.name, "@", std::to_string(shown.group_hash)));
  json.BeginObject();
  json.Key("Communication Time Info");
  json.BeginObject();
  json.Key("Start Timestamp(us)");
  json.MicrosecondNumber(view.data->communications[row.index].ts);
  WriteTimes(row.times, json);
  json.EndObject();
  WriteTraffic(row.traffic, /*is_total=*/false, json);
  json.EndObject();
}

void WriteKind(const DeviceView& view, const CommunicationStep& step, bool is_p2p,
               JsonWriter& json) {
  json.Key(is_p2p ? "p2p" : "collective");
  json.BeginObject();
  CommunicationTimes total_times;
  std::map<Transport, TransportTraffic> total_traffic;
  bool has_rows = false;
  for (const CommunicationRow& row : step.rows) {
    if (view.communications[row.index].is_p2p != is_p2p) continue;
    has_rows = true;
    WriteOperation(view, row, json);
    total_times += row.times;
    for (const auto& [transport, traffic] : row.traffic) total_traffic[transport] += traffic;
  }
  if (has_rows) {
    json.Key("Total Op Info");
    json.BeginObject();
    json.Key("Communication Time Info");
    json.BeginObject();
    WriteTimes(total_times, json);
    json.EndObject();
    WriteTraffic(total_traffic, /*is_total=*/true, json);
    json.EndObject();
  }
  json.EndObject();
}

std::string StepKey(const CommunicationStep& step) {
  return step.step_id ? "step" + std::to_string(*step.step_id) : "step";
}

void WriteMatrixEntry(const recipes::MatrixEntry& entry, JsonWriter& json) {
  json.Key(base::Concat(entry.name, "@", std::to_string(entry.group_hash)));
  json.BeginObject();
  for (const recipes::MatrixCell& cell : entry.cells) {
    const recipes::Link& link = cell.link;
    json.Key(base::Concat(std::to_string(link.src_rank), "-", std::to_string(link.dst_rank)));
    json.BeginObject();
    json.Key("Transport Type");
    json.String(recipes::TransportName(link.transport));
    Number(json, "Transit Size(MB)", Mb(link.size_bytes));
    Number(json, "Transit Time(ms)", Ms(link.time_ns));
    Number(json, "Bandwidth(GB/s)", recipes::BandwidthGbPerS(link.size_bytes, link.time_ns));
    if (!cell.op_name.empty()) {
      json.Key("Op Name");
      json.String(cell.op_name);
    }
    json.EndObject();
  }
  json.EndObject();
}

}  // namespace

std::string CommunicationJson(const DeviceView& view, const std::vector<CommunicationStep>& steps) {
  if (steps.empty()) return {};
  JsonWriter json(nullptr, JsonWriter::Style::kPythonDefault);
  json.BeginObject();
  for (const CommunicationStep& step : steps) {
    json.Key(StepKey(step));
    json.BeginObject();
    WriteKind(view, step, /*is_p2p=*/true, json);
    WriteKind(view, step, /*is_p2p=*/false, json);
    json.EndObject();
  }
  json.EndObject();
  return json.Take();
}

std::string CommunicationMatrixJson(const DeviceView& view,
                                    const std::vector<CommunicationStep>& steps) {
  if (steps.empty()) return {};
  JsonWriter json(nullptr, JsonWriter::Style::kPythonDefault);
  json.BeginObject();
  for (const CommunicationStep& step : steps) {
    const std::vector<recipes::MatrixEntry> entries = recipes::CommunicationMatrix(view, step);
    json.Key(StepKey(step));
    json.BeginObject();
    for (const bool is_p2p : {true, false}) {
      json.Key(is_p2p ? "p2p" : "collective");
      json.BeginObject();
      for (const recipes::MatrixEntry& entry : entries) {
        if (entry.is_p2p == is_p2p) WriteMatrixEntry(entry, json);
      }
      json.EndObject();
    }
    json.EndObject();
  }
  json.EndObject();
  return json.Take();
}

}  // namespace sonde::exporters
