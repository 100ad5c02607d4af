// export_summary: the two summary files of a rank, of traces that are databases only.
//
//   api_statistic.csv   calls of the host interface by name: count and time of the TASKS that they
//                       launched (not of the calls themselves: cann_api_sum), longest sum first
//   kernel_details.csv  kernels and communication operations by begin, with hardware counters where
//                       they were recorded; an operation whose number no task has is left out, as
//                       in the reference, with a notice; task_wait_time: own end - begin of the row
//                       before, 0 in the first row, as in the reference (the wait proper:
//                       kernel_details of 'sonde analyse')
// Names and units of columns are the reference's; its profiler writes other ones under these names
// of files. The reference puts them into the trace, and not where they are; here they go to
// ExportSummary/rank_N of the results, for each rank while it is read, whatever the form. --step_id
// takes what begins in the step. Times in microseconds. Pure but for these files, any thread.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/strings.h"
#include "cluster/frame/add_finding.h"
#include "cluster/frame/facts.h"
#include "recipes/kernel_details/kernel_details.h"
#include "report/csv_writer.h"

namespace sonde::cluster {
namespace {

using base::Concat;
using recipes::TraceData;

constexpr std::string_view kExportSummaryFolder = "ExportSummary";
constexpr std::string_view kMissing = "N/A";

struct WrittenFile {
  std::string path;
  int64_t rows = 0;
  int64_t left_out = 0;
};

std::string FolderOf(const ModeOptions& options, int32_t rank) {
  return base::JoinPath(base::JoinPath(options.result_folder, kExportSummaryFolder),
                        Concat("rank_", std::to_string(rank)));
}

struct ApiTasks {
  int64_t count = 0;
  int64_t sum_ns = 0;
  int64_t min_ns = INT64_MAX;
  int64_t max_ns = 0;
};

// By name of the call, longest first.
std::vector<std::pair<std::string_view, ApiTasks>> ApisOf(const RankInput& rank) {
  const TraceData& data = rank.data();
  std::map<int64_t, std::vector<std::string_view>> calls;  // by connection
  for (const store::ApiCallRow& call : data.api_calls) {
    if (call.connection_id < 0) continue;
    calls[call.connection_id].push_back(data.Name(data.Slice(call.slice_id).name));
  }
  std::map<std::string_view, ApiTasks> sums;
  for (const store::DeviceTaskRow& task : data.tasks) {
    const auto found = calls.find(task.connection_id);
    if (task.connection_id < 0 || found == calls.end() || !rank.window.Has(task.ts)) continue;
    const int64_t dur = std::max<int64_t>(task.dur, 0);
    for (const std::string_view name : found->second) {
      ApiTasks& sum = sums[name];
      ++sum.count;
      sum.sum_ns += dur;
      sum.min_ns = std::min(sum.min_ns, dur);
      sum.max_ns = std::max(sum.max_ns, dur);
    }
  }
  std::vector<std::pair<std::string_view, ApiTasks>> rows(sums.begin(), sums.end());
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.second.sum_ns > b.second.sum_ns; });
  return rows;
}

Status WriteApis(const RankInput& rank, base::AtomicFile& file, WrittenFile& written) {
  report::CsvWriter csv(&file);
  csv.Row({"API Name", "Total Time(ns)", "Count", "Avg Time(ns)", "Min Time(ns)", "Max Time(ns)"});
  for (const auto& [name, sum] : ApisOf(rank)) {
    csv.Text(name);
    csv.Int(sum.sum_ns);
    csv.Int(sum.count);
    csv.Double(static_cast<double>(sum.sum_ns) / static_cast<double>(sum.count));
    csv.Int(sum.min_ns);
    csv.Int(sum.max_ns);
    csv.EndRow();
    ++written.rows;
  }
  return csv.Finish();
}

// "aic_mac_time(us)" -> "aic_mac_time"; two are sorted by the names that they have in databases.
struct Counter {
  std::string sort_name;
  std::string heading;
  int32_t metric = 0;
};
std::vector<Counter> CountersOf(const TraceData& data) {
  std::map<int32_t, Counter> found;
  for (const store::DeviceTaskPmuRow& row : data.pmu) {
    if (found.contains(row.metric)) continue;
    std::string name = base::ReplaceAll(data.Name(row.metric), "(us)", "");
    std::string sort_name = name;
    if (name == "aicore_time") sort_name = "aic_total_time";
    if (name == "aiv_time") sort_name = "aiv_total_time";
    found[row.metric] = {std::move(sort_name), std::move(name), row.metric};
  }
  std::vector<Counter> counters;
  for (auto& [metric, counter] : found) counters.push_back(std::move(counter));
  std::sort(counters.begin(), counters.end(),
            [](const auto& a, const auto& b) { return a.sort_name < b.sort_name; });
  return counters;
}

class KernelTable {
 public:
  KernelTable(const RankInput& rank, base::AtomicFile& file)
      : rank_(rank), data_(rank.data()), counters_(CountersOf(data_)), csv_(&file) {
    for (size_t i = 0; i < counters_.size(); ++i) place_[counters_[i].metric] = i;
    for (const store::TaskKindRow& kind : data_.kinds) {
      has_state_ = has_state_ || kind.op_state != store::kNone;
    }
    for (const store::DeviceTaskRow& task : data_.tasks) connections_.insert(task.connection_id);
  }

  Status Write(WrittenFile& written) {
    WriteHeader();
    for (const recipes::KernelRow& row : recipes::KernelDetails(rank_.view)) {
      if (!rank_.window.Has(BeginOf(row))) continue;
      if (row.is_communication && !HasTask(data_.communications[row.index])) {
        ++written.left_out;
        continue;
      }
      row.is_communication ? WriteOperation(row) : WriteTask(row);
      csv_.EndRow();
      ++written.rows;
    }
    return csv_.Finish();
  }

 private:
  int64_t BeginOf(const recipes::KernelRow& row) const {
    return row.is_communication ? data_.communications[row.index].ts : data_.tasks[row.index].ts;
  }

  // Also where operations have no numbers.
  bool HasTask(const store::CommunicationOpRow& op) const {
    return op.connection_id < 0 || connections_.contains(op.connection_id);
  }

  void WriteHeader() {
    for (const std::string_view name :
         {"op_name", "block_dim", "mix_block_dim", "op_type", "task_type", "input_formats",
          "input_shapes", "input_data_types", "output_shapes", "output_formats",
          "output_data_types"}) {
      csv_.Text(name);
    }
    if (has_state_) csv_.Text("op_state");
    for (const std::string_view name : {"task_start_time", "task_duration", "device_id", "model_id",
                                        "stream_id", "context_id", "task_id"}) {
      csv_.Text(name);
    }
    for (const Counter& counter : counters_) csv_.Text(counter.heading);
    csv_.Text("task_wait_time");
    csv_.EndRow();
  }

  void Missing(size_t count) {
    for (size_t i = 0; i < count; ++i) csv_.Text(kMissing);
  }
  void TextOrMissing(int32_t name) {
    csv_.Text(data_.Name(name).empty() ? kMissing : data_.Name(name));
  }
  // Order of the device's queue, where there is no number.
  void NumberOrNone(int64_t value) {
    constexpr int64_t kNoNumber = 4294967295;
    csv_.Int(value < 0 ? kNoNumber : value);
  }
  void Times(int64_t begin_ns, int64_t end_ns) {
    csv_.Microseconds(begin_ns);
    csv_.Microseconds(end_ns - begin_ns);
  }
  void Wait(int64_t begin_ns, int64_t end_ns) {
    csv_.Microseconds(before_ns_ < 0 ? 0 : end_ns - before_ns_);
    before_ns_ = begin_ns;
  }

  void WriteTask(const recipes::KernelRow& row) {
    const store::DeviceTaskRow& task = data_.tasks[row.index];
    const store::TaskKindRow& kind = data_.kinds[static_cast<size_t>(task.kind_id)];
    csv_.Text(data_.Name(kind.name));
    csv_.Int(std::max<int64_t>(kind.block_num, 0));
    csv_.Int(std::max<int64_t>(kind.mix_block_num, 0));
    TextOrMissing(kind.op_type);
    TextOrMissing(kind.core);
    TextOrMissing(kind.input_formats);
    csv_.Text(QuotedShapes(data_, kind.input_shapes));
    TextOrMissing(kind.input_types);
    csv_.Text(QuotedShapes(data_, kind.output_shapes));
    TextOrMissing(kind.output_formats);
    TextOrMissing(kind.output_types);
    if (has_state_) TextOrMissing(kind.op_state);
    const int64_t end = task.ts + std::max<int64_t>(task.dur, 0);
    Times(task.ts, end);
    csv_.Int(rank_.view.DeviceOfTask(task).device_id);
    NumberOrNone(kind.model_id);
    csv_.Int(rank_.view.StreamOf(task));
    NumberOrNone(kind.context_id);
    csv_.Int(task.queue_number >= 0 ? task.queue_number : task.task_id);
    WriteCounters(row.index);
    Wait(task.ts, end);
  }

  // 0 for kernels without.
  void WriteCounters(uint32_t task) {
    std::vector<double> values(counters_.size(), 0);
    const auto id = static_cast<int32_t>(task);
    auto row = std::lower_bound(
        data_.pmu.begin(), data_.pmu.end(), id,
        [](const store::DeviceTaskPmuRow& a, int32_t task_id) { return a.task_id < task_id; });
    for (; row != data_.pmu.end() && row->task_id == id; ++row) {
      values[place_.at(row->metric)] = row->value;
    }
    for (const double value : values) csv_.Double(value);
  }

  void WriteOperation(const recipes::KernelRow& row) {
    const store::CommunicationOpRow& op = data_.communications[row.index];
    const recipes::CommunicationView& shown = rank_.view.communications[row.index];
    const int64_t end = rank_.view.EndNs(op);
    csv_.Text(shown.name);
    Missing(2);
    csv_.Text(NamedCommunicationType(shown));
    csv_.Text("COMMUNICATION");
    Missing(has_state_ ? 7 : 6);
    Times(op.ts, end);
    csv_.Int(rank_.view.devices[shown.device].device_id);
    NumberOrNone(-1);
    Missing(3 + counters_.size());
    Wait(op.ts, end);
  }

  const RankInput& rank_;
  const TraceData& data_;
  std::vector<Counter> counters_;
  report::CsvWriter csv_;
  std::map<int32_t, size_t> place_;
  std::set<int64_t> connections_;  // of tasks
  bool has_state_ = false;
  int64_t before_ns_ = -1;
};

// A file without rows is not made.
template <class Write>
Status MakeFile(const std::string& folder, std::string_view name, Part& part, const Write& write) {
  WrittenFile written{.path = base::JoinPath(folder, name)};
  SONDE_ASSIGN_OR_RETURN(auto file, base::AtomicFile::Create(written.path));
  SONDE_RETURN_IF_ERROR(write(file, written));
  if (written.rows == 0) {
    file.Abandon();
    return {};
  }
  SONDE_RETURN_IF_ERROR(file.Commit());
  part.Rows<ResultPath>().push_back({written.path});
  part.Rows<WrittenFile>().push_back(std::move(written));
  return {};
}

Status MapExportSummary(const RankInput& rank, Part& part) {
  const std::string folder = FolderOf(rank.options, rank.rank);
  SONDE_RETURN_IF_ERROR(base::RemoveTree(folder));  // of an earlier run
  if (rank.data().tasks.empty() && rank.data().communications.empty()) return {};
  SONDE_RETURN_IF_ERROR(base::MakeDirectories(folder, 0750));
  SONDE_RETURN_IF_ERROR(MakeFile(folder, "api_statistic.csv", part, [&](auto& file, auto& written) {
    return WriteApis(rank, file, written);
  }));
  return MakeFile(folder, "kernel_details.csv", part, [&](auto& file, auto& written) {
    return KernelTable(rank, file).Write(written);
  });
}

Status ReduceExportSummary(std::span<const RankPart> ranks, const ModeOptions& options,
                           Outcome& outcome) {
  int64_t rows = 0;
  int64_t left_out = 0;
  for (const RankPart& rank : ranks) {
    for (const WrittenFile& file : rank.part.Rows<WrittenFile>()) {
      outcome.files.push_back(file.path);
      rows += file.rows;
      left_out += file.left_out;
    }
  }
  recipes::Finding& finding = AddFinding(
      outcome, "cluster.summaries",
      {std::to_string(outcome.files.size()), std::to_string(ranks.size()),
       base::JoinPath(options.result_folder, kExportSummaryFolder), std::to_string(rows)});
  finding.value = static_cast<double>(rows);
  if (left_out > 0) {
    outcome.notices.push_back(Concat(std::to_string(left_out),
                                     " communication operations are left out, since no task of the "
                                     "device belongs to them; 'hccl_sum' has them"));
  }
  return {};
}

}  // namespace

extern const Mode kExportSummaryMode;
constexpr Mode kExportSummaryMode = {
    .name = "export_summary",
    .folder = kExportSummaryFolder,
    .summary = "Files api_statistic.csv and kernel_details.csv of each rank, of its tables",
    .tables = {},
    .needs = recipes::Reads<store::DeviceTaskRow, store::CommunicationOpRow, store::ApiCallRow,
                            store::SliceRow, store::DeviceTaskPmuRow>(),
    .wants = kWantsKernels,
    .writes_files = true,
    .map = &MapExportSummary,
    .reduce = &ReduceExportSummary};

}  // namespace sonde::cluster
