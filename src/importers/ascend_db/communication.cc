// Operations between ranks, their transfers, and their times from analysis.db.
#include <algorithm>
#include <tuple>

#include "base/strings.h"
#include "importers/ascend/delivered.h"
#include "importers/ascend/device_model.h"
#include "importers/ascend_db/db_trace.h"
#include "importers/ascend_db/issues.h"

namespace sonde::importers::db_import {
namespace {

using base::Concat;
using base::SqliteRow;

class CommunicationReader {
 public:
  explicit CommunicationReader(DbTrace& trace)
      : trace_(trace), rows_(trace.rows), device_(trace.rows) {}

  void Run() {
    if (!trace_.Has("COMMUNICATION_OP", {"opName", "startNs", "endNs", "groupName", "opId"}))
      return;
    trace_.Read("COMMUNICATION_OP",
                {"opName", "startNs", "endNs", "connectionId", "groupName", "opId", "dataType",
                 "algType", "count", "opType", "deviceId", "rankSize"},
                [this](const SqliteRow& row) { Take(row); });
    if ((trace_.tables & store::kTableBit<store::CommunicationTransitRow>) != 0) ReadTransfers();
  }

 private:
  int32_t DeviceOf(const SqliteRow& row, int64_t connection) const {
    const auto device = row.Int(10);
    if (device && *device >= 0 && *device <= INT32_MAX) return static_cast<int32_t>(*device);
    const int32_t* found = trace_.device_of_connection.Find(connection);
    return found != nullptr ? *found : trace_.only_device;
  }

  void Take(const SqliteRow& row) {
    const auto begin = row.Int(1);
    const auto end = row.Int(2);
    const auto id = row.Int(5);
    if (!begin || !end || !id) return trace_.WrongType("COMMUNICATION_OP");
    ascend::CommunicationOp op;
    op.ts = *begin;
    op.dur = SpanNs(*begin, *end);
    op.connection_id = row.Int(3).value_or(-1);
    op.process_id = trace_.MainProcess();
    op.device_id = DeviceOf(row, op.connection_id);
    op.name = trace_.Text(row, 0);
    op.group = trace_.TextView(row, 4);
    op.type = trace_.TextView(row, 9);
    op.data_type = trace_.Enum("ENUM_HCCL_DATA_TYPE", row.Int(6));
    op.algorithm = trace_.Text(row, 7);
    op.count = row.Int(8).value_or(-1);
    op.rank_size = row.Int(11).value_or(-1);
    const int32_t* launch = trace_.op_of_connection.Find(op.connection_id);
    if (launch != nullptr) op.launch_slice_id = *launch;
    bool has_size = true;
    const int32_t index = device_.AddOperation(op, has_size);
    if (!has_size) trace_.BadValue("COMMUNICATION_OP");
    store::CommunicationOpRow& added = rows_.communications[static_cast<size_t>(index)];
    added.step_id = steps_.At(added.ts);
    AddFlow(added);
    trace_.op_of_id.Insert(*id, index);
  }

  void AddFlow(const store::CommunicationOpRow& op) {
    const ApiCall* call = trace_.api_of_connection.Find(op.connection_id);
    if (call == nullptr) return;
    store::FlowRow flow;
    flow.kind = rows_.names.Intern("host_to_device");
    flow.key = op.connection_id;
    flow.slice_out = call->slice;
    flow.slice_in = op.slice_id;
    rows_.flows.push_back(flow);
  }

  void ReadTransfers() {
    if (!trace_.Has("COMMUNICATION_TASK_INFO", {"globalTaskId", "opId", "srcRank", "dstRank",
                                                "transportType", "size", "linkType"})) {
      return;
    }
    trace_.Read("COMMUNICATION_TASK_INFO",
                {"globalTaskId", "opId", "taskType", "srcRank", "dstRank", "transportType", "size",
                 "linkType", "rdmaType"},
                [this](const SqliteRow& row) { TakeTransfer(row); });
    transfers_.Write(rows_);
  }

  void TakeTransfer(const SqliteRow& row) {
    if (!ascend::TransferSums::MovesData(trace_.TextView(row, 2))) return;
    const int32_t* op = trace_.op_of_id.Find(row.Int(1).value_or(-1));
    const int32_t* task = trace_.task_of_global.Find(row.Int(0).value_or(-1));
    const auto size = row.Int(6);
    if (op == nullptr || task == nullptr) {
      rows_.issues.Add(kDbOrphan, Concat(trace_.file, ": COMMUNICATION_TASK_INFO"));
      return;
    }
    constexpr int64_t kLargest = int64_t{1} << 50;
    if (!size || *size < 0 || *size > kLargest) return trace_.WrongType("COMMUNICATION_TASK_INFO");
    const int32_t link = trace_.Enum("ENUM_HCCL_LINK_TYPE", row.Int(7));
    const std::string_view link_name = link == store::kNone ? "" : rows_.names.Text(link);
    const int32_t transport = ascend::TransferSums::TransportOf(
        rows_.names, link_name, trace_.Enum("ENUM_HCCL_TRANSPORT_TYPE", row.Int(5)));
    transfers_.Add({.operation = *op,
                    .transport = transport,
                    .link = link,
                    .src_rank = RankOf(row.Int(3)),
                    .dst_rank = RankOf(row.Int(4)),
                    .size = *size,
                    .dur_ns = rows_.tasks[static_cast<size_t>(*task)].dur});
  }

  static int32_t RankOf(std::optional<int64_t> rank) {
    return rank && *rank >= 0 && *rank <= INT32_MAX ? static_cast<int32_t>(*rank) : store::kNone;
  }

  DbTrace& trace_;
  StepIndex steps_ = trace_.DeviceSteps();
  TraceRows& rows_;
  ascend::DeviceRows device_;
  ascend::TransferSums transfers_;
};

// Milliseconds of a cell as nanoseconds. The cell is a double; its shortest text is exact enough.
int64_t MsToNs(const SqliteRow& row, int column) {
  const auto value = row.Double(column);
  if (!value) return -1;
  const auto ns = base::ParseMicrosecondsToNs(Concat(base::PythonDoubleText(*value * 1000)));
  return ns ? std::max<int64_t>(*ns, 0) : -1;
}

}  // namespace

void ReadCommunication(DbTrace& trace) { CommunicationReader(trace).Run(); }

namespace {

// A row of CommAnalyzerTime.
struct OperationTimes {
  std::string name;
  int64_t group_hash = 0;
  int64_t transit_ns = -1;
  int64_t wait_ns = -1;
  int64_t synchronization_ns = -1;
  int64_t idle_ns = -1;
};

void SetTimes(const OperationTimes& times, store::CommunicationOpRow& op) {
  op.group_hash = times.group_hash;
  op.transit_ns = times.transit_ns;
  op.wait_ns = times.wait_ns;
  op.synchronization_ns = times.synchronization_ns;
  op.idle_ns = times.idle_ns;
}

// Places of operations, or of their times, by name.
using Places = std::map<std::string, std::vector<size_t>, std::less<>>;

}  // namespace

// Names are unique within a group. Where a database does not name its groups by communicator, as in
// files that number them, the hash of analysis.db is the group's.
namespace {

void ReadDeliveredSteps(const base::SqliteReader& reader, const std::string& file,
                        TraceRows& rows) {
  if (!reader.HasTable("StepTraceTime")) return;
  std::vector<DeliveredStep> steps;
  const Status status =
      reader.Read("StepTraceTime", {"deviceId", "step", "computing", "communication"},
                  [&](const SqliteRow& row) {
                    steps.push_back({std::string(row.Text(1)), row.Int(0).value_or(-1),
                                     row.Double(2).value_or(0), row.Double(3).value_or(0)});
                  });
  if (!status.ok()) rows.issues.Add(kDbDamaged, Concat(file, ": StepTraceTime"));
  if (!steps.empty()) rows.AddJson(kDeliveredSteps, DeliveredStepsJson(file, steps));
}

}  // namespace

void ReadAnalysis(const base::SqliteReader& reader, const std::string& file, TraceRows& rows) {
  ReadDeliveredSteps(reader, file, rows);
  std::vector<OperationTimes> all;
  const Status status =
      reader.Read("CommAnalyzerTime",
                  {"hccl_op_name", "group_name", "transit_time", "wait_time",
                   "synchronization_time", "idle_time"},
                  [&](const SqliteRow& row) {
                    const auto hash = base::ParseUint64(row.Text(1));
                    if (!hash) return;
                    all.push_back({std::string(row.Text(0)), static_cast<int64_t>(*hash),
                                   MsToNs(row, 2), MsToNs(row, 3), MsToNs(row, 4), MsToNs(row, 5)});
                  });
  if (!status.ok()) rows.issues.Add(kDbDamaged, Concat(file, ": CommAnalyzerTime"));
  std::map<std::pair<std::string, int64_t>, std::vector<size_t>> places;
  for (size_t i = 0; i < rows.communications.size(); ++i) {
    const store::CommunicationOpRow& op = rows.communications[i];
    if (op.name == store::kNone) continue;
    places[{std::string(rows.names.Text(op.name)), op.group_hash}].push_back(i);
  }
  Places left;
  for (size_t i = 0; i < all.size(); ++i) {
    const auto found = places.find({all[i].name, all[i].group_hash});
    if (found == places.end()) {
      left[all[i].name].push_back(i);
      continue;
    }
    if (found->second.size() == 1) SetTimes(all[i], rows.communications[found->second.front()]);
    found->second.clear();
  }
  Places without_times;
  for (const auto& [key, indices] : places) {
    auto& same = without_times[key.first];
    same.insert(same.end(), indices.begin(), indices.end());
  }
  for (const auto& [name, times] : left) {
    const auto found = without_times.find(name);
    if (found == without_times.end() || found->second.size() != 1 || times.size() != 1) continue;
    SetTimes(all[times.front()], rows.communications[found->second.front()]);
  }
}

}  // namespace sonde::importers::db_import
