// analysis.db and communication_analyzer.db, and the facts of a rank in the database next to it.
#include <utility>

#include "base/files.h"
#include "base/host/sqlite_reader.h"
#include "cluster/delivered/parts.h"

namespace sonde::cluster {
namespace {

using base::SqliteReader;
using base::SqliteRow;

double Number(const SqliteRow& row, int column) { return row.Double(column).value_or(0); }

std::string Text(const SqliteRow& row, int column) { return std::string(row.Text(column)); }

// Rows of all operations of a step are sums that we make ourselves.
bool IsTotal(const SqliteRow& row, int column) { return row.Text(column).starts_with("Total"); }

// The device's own tool knows no steps.
std::string StepCells(const SqliteRow& row, int column) {
  return row.Text(column).empty() ? "step" : Text(row, column);
}

Status ReadSteps(const SqliteReader& reader, Delivered& delivered) {
  return reader.Read(
      "StepTraceTime",
      {"step", "computing", "communication_not_overlapped", "overlapped", "communication", "free",
       "stage", "bubble", "communication_not_overlapped_and_exclude_receive", "preparing"},
      [&](const SqliteRow& row) {
        DeliveredStep& step = delivered.steps.emplace_back();
        step.step = row.Text(0);
        for (int i = 0; i < kStepColumns; ++i) {
          step.us[static_cast<size_t>(i)] = Number(row, i + 1);
        }
      });
}

bool IsP2p(const SqliteRow& row, int column) { return row.Text(column) == "p2p"; }

Status ReadTimes(const SqliteReader& reader, Delivered& delivered) {
  return reader.Read(
      "CommAnalyzerTime",
      {"hccl_op_name", "group_name", "start_timestamp", "elapse_time", "transit_time", "wait_time",
       "synchronization_time", "idle_time", "step", "type"},
      [&](const SqliteRow& row) {
        if (IsTotal(row, 0)) return;
        delivered.times.push_back({.step = StepCells(row, 8),
                                   .is_p2p = IsP2p(row, 9),
                                   .op = Text(row, 0),
                                   .group = Text(row, 1),
                                   .start_us = Number(row, 2),
                                   .elapse_ms = Number(row, 3),
                                   .transit_ms = Number(row, 4),
                                   .wait_ms = Number(row, 5),
                                   .synchronization_ms = Number(row, 6),
                                   .idle_ms = Number(row, 7)});
      });
}

Status ReadBandwidths(const SqliteReader& reader, Delivered& delivered) {
  return reader.Read(
      "CommAnalyzerBandwidth",
      {"hccl_op_name", "group_name", "transport_type", "transit_size", "transit_time", "bandwidth",
       "large_packet_ratio", "package_size", "count", "total_duration", "step", "type"},
      [&](const SqliteRow& row) {
        if (IsTotal(row, 0)) return;
        delivered.bandwidths.push_back({.step = StepCells(row, 10),
                                        .is_p2p = IsP2p(row, 11),
                                        .op = Text(row, 0),
                                        .group = Text(row, 1),
                                        .transport = Text(row, 2),
                                        .size_mb = Number(row, 3),
                                        .time_ms = Number(row, 4),
                                        .bandwidth = Number(row, 5),
                                        .large_packet_ratio = Number(row, 6),
                                        .package_mb = Number(row, 7),
                                        .count = static_cast<int64_t>(Number(row, 8)),
                                        .duration_ms = Number(row, 9)});
      });
}

Status ReadLinks(const SqliteReader& reader, Delivered& delivered) {
  return reader.Read("CommAnalyzerMatrix",
                     {"hccl_op_name", "group_name", "src_rank", "dst_rank", "transport_type",
                      "transit_size", "transit_time", "step", "type", "op_name"},
                     [&](const SqliteRow& row) {
                       const auto src = row.Int(2);
                       const auto dst = row.Int(3);
                       if (IsTotal(row, 0) || !src || !dst) return;
                       delivered.links.push_back({.step = StepCells(row, 7),
                                                  .is_p2p = IsP2p(row, 8),
                                                  .op = Text(row, 0),
                                                  .group = Text(row, 1),
                                                  .src = static_cast<int32_t>(*src),
                                                  .dst = static_cast<int32_t>(*dst),
                                                  .transport = Text(row, 4),
                                                  .op_name = Text(row, 9),
                                                  .size_mb = Number(row, 5),
                                                  .time_ms = Number(row, 6)});
                     });
}

Status ReadAnalysis(const std::string& path, Delivered& delivered) {
  SONDE_ASSIGN_OR_RETURN(const SqliteReader reader, SqliteReader::Open(path));
  SONDE_RETURN_IF_ERROR(ReadSteps(reader, delivered));
  SONDE_RETURN_IF_ERROR(ReadTimes(reader, delivered));
  SONDE_RETURN_IF_ERROR(ReadBandwidths(reader, delivered));
  return ReadLinks(reader, delivered);
}

Status ReadFacts(const std::string& path, Delivered& delivered) {
  SONDE_ASSIGN_OR_RETURN(const SqliteReader reader, SqliteReader::Open(path));
  SONDE_RETURN_IF_ERROR(reader.Read("META_DATA", {"name", "value"}, [&](const SqliteRow& row) {
    if (row.Text(0) == "parallel_group_info") TakeGroups(row.Text(1), delivered);
    if (row.Text(0) == "distributed_args") TakeSizes(row.Text(1), delivered);
  }));
  DeliveredFacts& facts = delivered.facts;
  SONDE_RETURN_IF_ERROR(
      reader.Read("HOST_INFO", {"hostUid", "hostName"}, [&](const SqliteRow& row) {
        if (!facts.host_uid.empty()) return;
        facts.host_uid = row.Text(0);
        facts.host_name = row.Text(1);
      }));
  return reader.Read("RANK_DEVICE_MAP", {"deviceId"}, [&](const SqliteRow& row) {
    if (facts.device_id < 0) facts.device_id = row.Int(0).value_or(-1);
  });
}

}  // namespace

Status ReadStepsOfDb(const importers::AscendSpan& span, Delivered& delivered) {
  for (const importers::SpanFile& file : span.analysis) {
    SONDE_ASSIGN_OR_RETURN(const SqliteReader reader, SqliteReader::Open(file.path));
    SONDE_RETURN_IF_ERROR(ReadSteps(reader, delivered));
  }
  return {};
}

Status ReadAnalysisDb(const importers::AscendSpan& span, Delivered& delivered) {
  for (const importers::SpanFile& file : span.analysis) {
    SONDE_RETURN_IF_ERROR(ReadAnalysis(file.path, delivered));
  }
  if (!span.databases.empty()) {
    SONDE_RETURN_IF_ERROR(ReadFacts(span.databases.front().path, delivered));
  }
  return {};
}

}  // namespace sonde::cluster
