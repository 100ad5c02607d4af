#include "exporters/ascend_db/analysis_db.h"

#include <array>
#include <string>
#include <vector>

#include "recipes/communication/communication.h"
#include "recipes/communication_matrix/communication_matrix.h"
#include "report/sqlite_file.h"

namespace sonde::exporters {
namespace {

using recipes::CommunicationRow;
using recipes::CommunicationStep;
using recipes::DeviceView;
using recipes::StepTraceRow;
using recipes::Transport;
using report::SqliteFile;
using report::SqliteTable;

constexpr std::array kTransports = {Transport::kRdma, Transport::kHccs, Transport::kPcie,
                                    Transport::kSdma, Transport::kSio};
constexpr std::string_view kStepColumns =
    "deviceId INTEGER, step TEXT, computing NUMERIC, communication_not_overlapped NUMERIC, "
    "overlapped NUMERIC, communication NUMERIC, free NUMERIC, stage NUMERIC, bubble NUMERIC, "
    "communication_not_overlapped_and_exclude_receive NUMERIC, preparing NUMERIC";
constexpr std::string_view kTimeColumns =
    "hccl_op_name TEXT, group_name TEXT, start_timestamp NUMERIC, elapse_time NUMERIC, "
    "transit_time NUMERIC, wait_time NUMERIC, synchronization_time NUMERIC, idle_time NUMERIC, "
    "step TEXT, type TEXT";
constexpr std::string_view kBandwidthColumns =
    "hccl_op_name TEXT, group_name TEXT, transport_type TEXT, transit_size NUMERIC, "
    "transit_time NUMERIC, bandwidth NUMERIC, large_packet_ratio NUMERIC, package_size NUMERIC, "
    "count NUMERIC, total_duration NUMERIC, step TEXT, type TEXT";
constexpr std::string_view kMatrixColumns =
    "hccl_op_name TEXT, group_name TEXT, src_rank TEXT, dst_rank TEXT, transport_type TEXT, "
    "transit_size NUMERIC, transit_time NUMERIC, bandwidth NUMERIC, step TEXT, type TEXT, "
    "op_name TEXT";

double Us(int64_t ns) { return static_cast<double>(ns) / 1e3; }
double Ms(int64_t ns) { return static_cast<double>(ns) / 1e6; }
double Mb(int64_t bytes) { return static_cast<double>(bytes) / 1e6; }

std::string StepName(const CommunicationStep& step) {
  return step.step_id ? "step" + std::to_string(*step.step_id) : "step";
}

std::string_view TypeName(bool is_p2p) { return is_p2p ? "p2p" : "collective"; }

Status WriteSteps(const DeviceView& view, SqliteFile& file) {
  SONDE_ASSIGN_OR_RETURN(SqliteTable table,
                         SqliteTable::Create(file, "StepTraceTime", kStepColumns));
  for (const recipes::Device& device : view.devices) {
    for (const StepTraceRow& row : device.steps) {
      table.Int(device.device_id);
      if (row.step_id) {
        table.Text(std::to_string(*row.step_id));
      } else {
        table.Null();
      }
      for (const int64_t ns : {row.computing_ns, row.not_overlapped_ns, row.overlapped_ns,
                               row.communication_ns, row.free_ns, row.stage_ns, row.bubble_ns,
                               row.not_overlapped_without_receive_ns, row.preparing_ns}) {
        table.Double(Us(ns));
      }
      table.End();
    }
  }
  return table.Close();
}

void AddTime(const DeviceView& view, const CommunicationStep& step, const CommunicationRow& row,
             SqliteTable& table) {
  const recipes::CommunicationView& shown = view.communications[row.index];
  table.Text(shown.name).Text(std::to_string(shown.group_hash));
  table.Double(Us(view.data->communications[row.index].ts));
  for (const int64_t ns : {row.times.elapse_ns, row.times.transit_ns, row.times.wait_ns,
                           row.times.synchronization_ns, row.times.idle_ns}) {
    table.Double(Ms(ns));
  }
  table.Text(StepName(step)).Text(TypeName(shown.is_p2p)).End();
}

// One row for each size of transfer; one with zeros for a transport that was not used.
void AddBandwidth(const DeviceView& view, const CommunicationStep& step,
                  const CommunicationRow& row, SqliteTable& table) {
  const recipes::CommunicationView& shown = view.communications[row.index];
  for (const Transport transport : kTransports) {
    const auto found = row.traffic.find(transport);
    recipes::TransportTraffic traffic =
        found == row.traffic.end() ? recipes::TransportTraffic() : found->second;
    if (traffic.sizes.empty()) traffic.sizes[0] = {};
    for (const auto& [size_bytes, count] : traffic.sizes) {
      table.Text(shown.name).Text(std::to_string(shown.group_hash));
      table.Text(recipes::TransportName(transport));
      table.Double(Mb(traffic.size_bytes)).Double(Ms(traffic.time_ns));
      table.Double(recipes::BandwidthGbPerS(traffic.size_bytes, traffic.time_ns)).Double(0);
      table.Double(Mb(size_bytes)).Int(count.count).Double(Ms(count.time_ns));
      table.Text(StepName(step)).Text(TypeName(shown.is_p2p)).End();
    }
  }
}

void AddMatrix(const DeviceView& view, const CommunicationStep& step, SqliteTable& table) {
  for (const recipes::MatrixEntry& entry : recipes::CommunicationMatrix(view, step)) {
    for (const recipes::MatrixCell& cell : entry.cells) {
      const recipes::Link& link = cell.link;
      table.Text(entry.name).Text(std::to_string(entry.group_hash));
      table.Text(std::to_string(link.src_rank)).Text(std::to_string(link.dst_rank));
      table.Text(recipes::TransportName(link.transport));
      table.Double(Mb(link.size_bytes)).Double(Ms(link.time_ns));
      table.Double(recipes::BandwidthGbPerS(link.size_bytes, link.time_ns));
      table.Text(StepName(step)).Text(TypeName(entry.is_p2p));
      if (cell.op_name.empty()) {
        table.Null();
      } else {
        table.Text(cell.op_name);
      }
      table.End();
    }
  }
}

Status WriteCommunication(const DeviceView& view, SqliteFile& file) {
  const std::vector<CommunicationStep> steps = recipes::Communication(view);
  if (steps.empty()) return {};
  SONDE_ASSIGN_OR_RETURN(SqliteTable bandwidth,
                         SqliteTable::Create(file, "CommAnalyzerBandwidth", kBandwidthColumns));
  SONDE_ASSIGN_OR_RETURN(SqliteTable matrix,
                         SqliteTable::Create(file, "CommAnalyzerMatrix", kMatrixColumns));
  SONDE_ASSIGN_OR_RETURN(SqliteTable time,
                         SqliteTable::Create(file, "CommAnalyzerTime", kTimeColumns));
  for (const CommunicationStep& step : steps) {
    for (const CommunicationRow& row : step.rows) {
      AddTime(view, step, row, time);
      AddBandwidth(view, step, row, bandwidth);
    }
    AddMatrix(view, step, matrix);
  }
  SONDE_RETURN_IF_ERROR(bandwidth.Close());
  SONDE_RETURN_IF_ERROR(matrix.Close());
  return time.Close();
}

}  // namespace

Status WriteAnalysisDb(const DeviceView& view, const std::string& path) {
  const recipes::ProfilerLevel level = view.settings.level;
  if (level == recipes::ProfilerLevel::kNone || view.devices.empty()) return {};
  SONDE_ASSIGN_OR_RETURN(SqliteFile file, SqliteFile::Create(path));
  SONDE_RETURN_IF_ERROR(WriteSteps(view, file));
  if (level != recipes::ProfilerLevel::kLevel0) {
    SONDE_RETURN_IF_ERROR(WriteCommunication(view, file));
  }
  return file.Close();
}

}  // namespace sonde::exporters
