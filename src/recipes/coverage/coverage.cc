#include "recipes/coverage/coverage.h"

#include <algorithm>

#include "recipes/launch/launch.h"
#include "recipes/meaning/meaning.h"
#include "recipes/recipe.h"

namespace sonde::recipes {
namespace {

class CoverageRows {
 public:
  void Add(std::string_view what, int64_t covered, int64_t total) {
    if (total <= 0) return;
    const double share = 100 * static_cast<double>(covered) / static_cast<double>(total);
    rows_.push_back({what, covered, total, share});
  }
  std::vector<CoverageRow> Take() { return std::move(rows_); }

 private:
  std::vector<CoverageRow> rows_;
};

void AddSlices(const TraceData& data, CoverageRows& rows) {
  int64_t lost = 0;
  for (const ImportIssue& issue : data.issues) {
    if (issue.code == "records_dropped") lost += issue.count;
  }
  const auto kept = static_cast<int64_t>(data.slices.size());
  rows.Add("records", kept, kept + lost);
  const auto open = std::count_if(data.slices.begin(), data.slices.end(),
                                  [](const store::SliceRow& slice) { return slice.dur < 0; });
  rows.Add("slices", kept - open, kept);
}

void AddTasks(const TraceData& data, CoverageRows& rows) {
  const Launches launches(data);
  int64_t all_ns = 0;
  int64_t in_steps_ns = 0;
  int64_t launched = 0;
  int64_t work = 0;
  const std::vector<Work> meanings = MeaningsOf(data);
  for (size_t i = 0; i < data.tasks.size(); ++i) {
    const store::DeviceTaskRow& task = data.tasks[i];
    const auto kind = static_cast<size_t>(task.kind_id);
    const bool has_core = data.kinds[kind].core != store::kNone;
    const bool copies = meanings[kind] == Work::kCopy || meanings[kind] == Work::kFill;
    if (!has_core && !copies) continue;  // waits and events
    ++work;
    if (launches.CallOf(i) >= 0) ++launched;
    if (!has_core) continue;  // what copies alone is no time that a step is busy
    const int64_t dur_ns = std::max<int64_t>(task.dur, 0);
    all_ns += dur_ns;
    if (task.step_id >= 0) in_steps_ns += dur_ns;
  }
  if (!data.steps.empty()) rows.Add("device_time", in_steps_ns, all_ns);
  rows.Add("device_tasks", launched, work);
  const LaunchCounts counts = CountLaunches(data);
  rows.Add("launches", counts.with_work, counts.total);
}

void AddLinks(const TraceData& data, CoverageRows& rows) {
  int64_t backward = 0;
  std::vector<bool> is_linked(data.slices.size());
  for (const store::FlowRow& flow : data.flows) {
    if (flow.slice_in >= 0 && data.Name(flow.kind) == "forward_backward") {
      is_linked[static_cast<size_t>(flow.slice_in)] = true;
    }
  }
  int64_t linked = 0;
  for (const store::FrameworkOpRow& op : data.ops) {
    if (static_cast<Scope>(op.scope) != Scope::kBackward || op.sequence_number < 0) continue;
    ++backward;
    if (is_linked[static_cast<size_t>(op.slice_id)]) ++linked;
  }
  rows.Add("backward", linked, backward);
}

void AddRequests(const DeviceView& view, CoverageRows& rows) {
  if (view.data->tables == nullptr) return;
  const auto requests = view.data->tables->Rows<store::RequestRow>();
  const auto whole = std::count_if(requests.begin(), requests.end(),
                                   [](const auto& request) { return request.is_whole != 0; });
  rows.Add("requests", whole, static_cast<int64_t>(requests.size()));
}

void RunCoverage(const DeviceView& view, store::RowSink& rows) {
  for (const CoverageRow& row : Coverage(view)) row.Write(rows);
}

}  // namespace

std::vector<CoverageRow> Coverage(const DeviceView& view) {
  CoverageRows rows;
  AddSlices(*view.data, rows);
  AddTasks(*view.data, rows);
  AddLinks(*view.data, rows);
  AddRequests(view, rows);
  return rows.Take();
}

extern const Recipe kCoverageRecipe;
constexpr Recipe kCoverageRecipe = {
    &kCoverage,
    Reads<store::SliceRow, store::DeviceTaskRow, store::FrameworkOpRow, store::FlowRow,
          store::StepRow, store::RequestRow>(),
    &RunCoverage};

}  // namespace sonde::recipes
