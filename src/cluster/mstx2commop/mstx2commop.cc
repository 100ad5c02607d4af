// mstx2commop: communication operations of a light recording, from the marks that torch_npu sets
// around collectives.
//
//   mark       its text is JSON with streamId, count, dataType, groupName and opName, quotes as
//   they
//              are or after '\'
//   times      of the task that has the mark's text on the device, the next one from the mark on;
//              where there is none, of the next task of the stream that the mark names. Each task
//              stands for one mark; marks without one are counted
//   opType     opName and '_'
//   opName     opType, '_', three digits of the group, '_', number of the operation of this group
//              and type in the order of time, "_1"
// The reference joins each mark with every task of its stream, so that its rows are many times too
// many, and writes a copy of the trace. Ranks that have communication operations have no rows.
// With --step_id marks count that lie in the step. Table MstxCommunicationOp. Units: nanoseconds.
// Pure, any thread.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/host/json.h"
#include "base/strings.h"
#include "cluster/frame/add_finding.h"
#include "cluster/frame/facts.h"

namespace sonde::cluster {
namespace {

using base::Concat;
using recipes::TraceData;

#define SONDE_COLUMNS_MSTX_OP(C)                                                        \
  C(rank, Int, "rankId", "", "", KeyOf("rank"), "global rank")                          \
  C(name, Text, "opName", "", "", KeyOf("communication"), "name with group and number") \
  C(begin_ns, Int, "startNs", "", "ns", kLabel, "begin on the device")                  \
  C(end_ns, Int, "endNs", "", "ns", kLabel, "end")                                      \
  C(group_name, Text, "groupName", "", "", KeyOf("group"), "communicator")              \
  C(data_type, Text, "dataType", "", "", kLabel, "type of the elements")                \
  C(count, Opt, "count", "", "", kNeither, "elements")                                  \
  C(type, Text, "opType", "", "", KeyOf("op_type"), "type of the operation")
SONDE_CLUSTER_TABLE(MstxOpRow, kMstxOps, "mstx_communication_op", "MstxCommunicationOp",
                    "mstx_communication_op", SONDE_COLUMNS_MSTX_OP,
                    "communication operations from marks")

struct WithoutTask {
  int64_t count = 0;
};

struct MarkedOp {
  int64_t stream_id = -1;
  MstxOpRow row;  // without name and times
};

std::optional<int64_t> NumberOf(const base::JsonValue& value) {
  if (value.IsString()) return base::ParseInt64(value.AsString().value_or(""));
  const auto number = value.AsInt();
  return number.ok() ? std::optional<int64_t>(*number) : std::nullopt;
}

std::optional<MarkedOp> OperationOf(std::string_view text) {
  if (text.find("groupName") == std::string_view::npos) return std::nullopt;
  const auto document = base::JsonDocument::Parse(base::ReplaceAll(text, "\\\"", "\""), "mark");
  if (!document.ok()) return std::nullopt;  // a mark of the user's own
  const base::JsonValue& root = document->root();
  for (const std::string_view key : {"streamId", "count", "dataType", "groupName", "opName"}) {
    if (root[key].IsNull()) return std::nullopt;
  }
  MarkedOp op;
  op.stream_id = NumberOf(root["streamId"]).value_or(-1);
  op.row.group_name = root["groupName"].AsString().value_or("");
  op.row.data_type = root["dataType"].AsString().value_or("");
  op.row.count = NumberOf(root["count"]).value_or(-1);
  op.row.type = Concat(root["opName"].AsString().value_or(""), "_");
  return op;
}

// Tasks by the mark's text, and by stream.
class Tasks {
 public:
  explicit Tasks(const recipes::DeviceView& view) : taken_(view.data->tasks.size(), false) {
    const TraceData& data = *view.data;
    for (size_t i = 0; i < data.tasks.size(); ++i) {
      const store::DeviceTaskRow& task = data.tasks[i];
      const store::TaskKindRow& kind = data.kinds[static_cast<size_t>(task.kind_id)];
      by_stream_[view.StreamOf(task)].push_back(i);
      if (kind.core == store::kNone && kind.name != kind.task_type) {
        by_text_[kind.name].push_back(i);
      }
    }
  }
  // The next one that begins from the mark on and that no other mark has.
  std::optional<size_t> Take(const TraceData& data, const store::MarkRow& mark, int64_t stream) {
    if (const auto task = From(by_text_[mark.message], data, mark.ts)) return task;
    return From(by_stream_[stream], data, mark.ts);
  }

 private:
  std::optional<size_t> From(const std::vector<size_t>& tasks, const TraceData& data, int64_t ts) {
    auto at = std::lower_bound(tasks.begin(), tasks.end(), ts, [&](size_t task, int64_t moment) {
      return data.tasks[task].ts < moment;
    });
    while (at != tasks.end() && taken_[*at]) ++at;
    if (at == tasks.end()) return std::nullopt;
    taken_[*at] = true;
    return *at;
  }

  std::vector<bool> taken_;
  std::map<int32_t, std::vector<size_t>> by_text_;  // in the order of begin
  std::map<int64_t, std::vector<size_t>> by_stream_;
};

Status MapMstx2commop(const RankInput& rank, Part& part) {
  const TraceData& data = rank.data();
  if (!data.communications.empty()) return {};
  Tasks tasks(rank.view);
  std::vector<MstxOpRow> rows;
  WithoutTask without;
  for (const store::MarkRow& mark : data.marks) {
    if (!rank.window.Has(mark.ts)) continue;
    auto op = OperationOf(data.Name(mark.message));
    if (!op) continue;
    const auto task = tasks.Take(data, mark, op->stream_id);
    if (!task) {
      ++without.count;
      continue;
    }
    op->row.rank = rank.rank;
    op->row.begin_ns = data.tasks[*task].ts;
    op->row.end_ns = op->row.begin_ns + std::max<int64_t>(data.tasks[*task].dur, 0);
    rows.push_back(std::move(op->row));
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.begin_ns < b.begin_ns; });
  std::map<std::pair<std::string, std::string>, int64_t> numbers;
  for (MstxOpRow& row : rows) {
    const int64_t number = numbers[{row.group_name, row.type}]++;
    row.name =
        Concat(row.type, "_", GroupDigits(row.group_name), "_", std::to_string(number), "_1");
  }
  part.Rows<MstxOpRow>() = std::move(rows);
  if (without.count > 0) part.Rows<WithoutTask>().push_back(without);
  return {};
}

Status ReduceMstx2commop(std::span<const RankPart> ranks, const ModeOptions& /*options*/,
                         Outcome& outcome) {
  std::vector<MstxOpRow> rows;
  std::set<std::string> groups;
  for (const RankPart& rank : ranks) {
    for (const MstxOpRow& row : rank.part.Rows<MstxOpRow>()) {
      rows.push_back(row);
      groups.insert(row.group_name);
    }
    for (const WithoutTask& without : rank.part.Rows<WithoutTask>()) {
      outcome.notices.push_back(Concat("rank ", std::to_string(rank.rank), ": ",
                                       std::to_string(without.count),
                                       " marks of communication have no task on the device"));
    }
  }
  outcome.tables = {TableOf(kMstxOps, rows)};
  const auto longest = std::max_element(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return a.end_ns - a.begin_ns < b.end_ns - b.begin_ns;
  });
  if (longest == rows.end()) return {};
  AddFinding(outcome, "cluster.marked_operations",
             {std::to_string(rows.size()), std::to_string(groups.size()), longest->name,
              Duration(static_cast<double>(longest->end_ns - longest->begin_ns)),
              std::to_string(longest->rank)},
             kMstxOps);
  return {};
}

constexpr std::array kMstx2commopTables = {&kMstxOps};

}  // namespace

extern const Mode kMstx2CommopMode;
constexpr Mode kMstx2CommopMode = {
    .name = "mstx2commop",
    .folder = "Mstx2Commop",
    .summary = "Communication operations of a light recording, from the marks around them",
    .tables = kMstx2commopTables,
    .needs = recipes::Reads<store::DeviceTaskRow, store::MarkRow, store::CommunicationOpRow>(),
    .wants =
        "marks that torch_npu sets around collectives (mstx on), in a recording without "
        "communication operations (level_none)",
    .map = &MapMstx2commop,
    .reduce = &ReduceMstx2commop};

}  // namespace sonde::cluster
