#include "recipes/api_statistic/api_statistic.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "base/host/json.h"
#include "recipes/recipe.h"

namespace sonde::recipes {
namespace {

struct Sum {
  int64_t count = 0;
  int64_t total_ns = 0;
  int64_t min_ns = 0;
  int64_t max_ns = 0;
  double squares_us2 = 0;  // around zero: calls are short, so that doubles keep what is needed

  void Add(int64_t dur_ns) {
    min_ns = count == 0 ? dur_ns : std::min(min_ns, dur_ns);
    max_ns = std::max(max_ns, dur_ns);
    total_ns += dur_ns;
    ++count;
    const double us = static_cast<double>(dur_ns) / 1000;
    squares_us2 += us * us;
  }
};

using Sums = std::map<std::pair<std::string_view, std::string_view>, Sum>;  // level, name

// The vendor's calls where there are any.
void AddApiCalls(const TraceData& data, Sums& sums) {
  for (const store::ApiCallRow& call : data.api_calls) {
    const store::SliceRow& slice = data.Slice(call.slice_id);
    // Timelines put the layer before the name: "AscendCL@aclrtMemcpyAsync".
    std::string_view name = data.Name(slice.name);
    if (const size_t at = name.find('@'); at != std::string_view::npos) name.remove_prefix(at + 1);
    sums[{data.Name(call.level), name}].Add(data.DurationNs(slice));
  }
}

void AddLaunches(const DeviceView& view, Sums& sums) {
  const TraceData& data = *view.data;
  std::vector<Sum> by_name(data.names.size());
  for (const store::DeviceTaskRow& task : data.tasks) {
    if (task.launch_slice_id < 0) continue;
    const store::SliceRow& launch = data.Slice(task.launch_slice_id);
    if (launch.name >= 0) by_name[static_cast<size_t>(launch.name)].Add(data.DurationNs(launch));
  }
  for (size_t name = 0; name < by_name.size(); ++name) {
    if (by_name[name].count > 0) sums[{"node", data.names[name]}] = by_name[name];
  }
  for (size_t i = 0; i < data.communications.size(); ++i) {
    const int32_t launch = data.communications[i].launch_slice_id;
    if (launch < 0) continue;
    sums[{"communication", view.communications[i].type}].Add(data.DurationNs(data.Slice(launch)));
  }
}

// The profiler's own sums (importers/ascend/delivered.h), for traces without the calls themselves.
std::vector<ApiStatisticRow> Delivered(const TraceData& data, ApiTexts& texts) {
  std::vector<ApiStatisticRow> rows;
  const auto known = data.metadata.find("delivered_api_statistic");
  if (known == data.metadata.end()) return rows;
  const auto document = base::JsonDocument::Parse(known->second, known->first);
  if (!document.ok()) return rows;
  for (const base::JsonValue& row : document->root().Elements()) {
    const auto number = [&](size_t place) { return row[place].AsInt().value_or(0); };
    const std::string level = row[size_t{0}].AsString().value_or("");
    rows.push_back({.level = texts.emplace_back(level == "hccl" ? "communication" : level),
                    .name = texts.emplace_back(row[1].AsString().value_or("")),
                    .count = number(2),
                    .total_ns = number(3),
                    .average_ns = number(4),
                    .min_ns = number(5),
                    .max_ns = number(6),
                    .variance_us2 = row[7].AsDouble().value_or(0)});
  }
  std::ranges::stable_sort(
      rows, {}, [](const ApiStatisticRow& row) { return std::pair(row.level, row.name); });
  return rows;
}

}  // namespace

std::vector<ApiStatisticRow> ApiStatistic(const DeviceView& view, ApiTexts& texts) {
  Sums sums;
  AddApiCalls(*view.data, sums);
  if (sums.empty()) {
    std::vector<ApiStatisticRow> delivered = Delivered(*view.data, texts);
    if (!delivered.empty()) return delivered;
  }
  if (sums.empty()) AddLaunches(view, sums);
  std::vector<ApiStatisticRow> rows;
  for (const auto& [key, sum] : sums) {
    ApiStatisticRow row;
    row.level = key.first;
    row.name = key.second;
    row.count = sum.count;
    row.total_ns = sum.total_ns;
    const auto count = static_cast<double>(sum.count);
    row.average_ns = std::llround(static_cast<double>(sum.total_ns) / count);
    row.min_ns = sum.min_ns;
    row.max_ns = sum.max_ns;
    const double average_us = static_cast<double>(row.average_ns) / 1000;
    const double total_us = static_cast<double>(sum.total_ns) / 1000;
    const double variance =
        sum.squares_us2 / count - 2 * average_us * total_us / count + average_us * average_us;
    row.variance_us2 = std::max(variance, 0.0);
    rows.push_back(row);
  }
  return rows;
}

namespace {

void RunApiStatistic(const DeviceView& view, store::RowSink& rows) {
  ApiTexts texts;
  for (const ApiStatisticRow& row : ApiStatistic(view, texts)) row.Write(rows);
}

}  // namespace

extern const Recipe kApiStatisticRecipe;
constexpr Recipe kApiStatisticRecipe = {
    &kApiStatistic,
    Reads<store::SliceRow, store::ApiCallRow, store::DeviceTaskRow, store::CommunicationOpRow>()
        .WithBounds(),
    &RunApiStatistic};

}  // namespace sonde::recipes
