#include "cluster/compute_op_sum/compute_op_sum.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "base/shortened.h"
#include "cluster/frame/add_finding.h"
#include "cluster/frame/facts.h"
#include "recipes/finding/limits.h"

namespace sonde::cluster {
namespace {

constexpr ModeOption kExcludeName = {
    .name = "--exclude_op_name", .kind = OptionKind::kFlag, .help = "Leave out the table by name"};

// Kernels of one kind of a rank.
struct KindRow {
  std::string name;
  std::string type;
  std::string core;
  std::string shapes;
  std::vector<double> dur_ns;
};

Status MapComputeOpSum(const RankInput& rank, Part& part) {
  const recipes::TraceData& data = rank.data();
  auto& rows = part.Rows<KindRow>();
  std::vector<size_t> place_of_kind(data.kinds.size(), SIZE_MAX);
  for (const store::DeviceTaskRow& task : data.tasks) {
    const auto number = static_cast<size_t>(task.kind_id);
    const store::TaskKindRow& kind = data.kinds[number];
    if (!IsComputing(data, kind) || !rank.window.Has(task.ts)) continue;
    size_t& place = place_of_kind[number];
    if (place == SIZE_MAX) {
      place = rows.size();
      const std::string_view type = data.Name(kind.op_type);
      rows.push_back({.name = std::string(data.Name(kind.name)),
                      .type = std::string(type.empty() ? data.Name(kind.name) : type),
                      .core = std::string(data.Name(kind.core)),
                      .shapes = QuotedShapes(data, kind.input_shapes),
                      .dur_ns = {}});
    }
    rows[place].dur_ns.push_back(static_cast<double>(std::max<int64_t>(task.dur, 0)));
  }
  return {};
}

void Append(const std::vector<double>& from, std::vector<double>& to) {
  to.insert(to.end(), from.begin(), from.end());
}

template <class Row>
void SortBySum(std::vector<Row>& rows) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.sum_ns > b.sum_ns; });
}

using TimesByType = std::map<std::pair<std::string, std::string>, std::vector<double>>;

std::vector<ComputeAllRow> OfAll(std::span<const RankPart> ranks) {
  TimesByType durations;
  for (const RankPart& rank : ranks) {
    for (const KindRow& kind : rank.part.Rows<KindRow>()) {
      Append(kind.dur_ns, durations[{kind.type, kind.core}]);
    }
  }
  std::vector<ComputeAllRow> rows;
  for (auto& [key, values] : durations) {
    rows.push_back({.op_type = key.first, .core = key.second});
    Set(Describe(values), rows.back());
  }
  SortBySum(rows);
  return rows;
}

std::vector<ComputeTypeRow> ByTypeAndRank(std::span<const RankPart> ranks) {
  std::vector<ComputeTypeRow> rows;
  for (const RankPart& rank : ranks) {
    TimesByType durations;
    for (const KindRow& kind : rank.part.Rows<KindRow>()) {
      Append(kind.dur_ns, durations[{kind.type, kind.core}]);
    }
    for (auto& [key, values] : durations) {
      rows.push_back({.op_type = key.first, .core = key.second});
      Set(Describe(values), rows.back());
      rows.back().rank = rank.rank;
    }
  }
  SortBySum(rows);
  return rows;
}

std::vector<ComputeNameRow> ByNameAndRank(std::span<const RankPart> ranks) {
  std::vector<ComputeNameRow> rows;
  for (const RankPart& rank : ranks) {
    std::map<std::tuple<std::string, std::string, std::string, std::string>, std::vector<double>>
        durations;
    for (const KindRow& kind : rank.part.Rows<KindRow>()) {
      Append(kind.dur_ns, durations[{kind.name, kind.type, kind.core, kind.shapes}]);
    }
    for (auto& [key, values] : durations) {
      ComputeNameRow& row = rows.emplace_back();
      std::tie(row.op_name, row.op_type, row.core, row.input_shapes) = key;
      Set(Describe(values), row);
      row.rank = rank.rank;
    }
  }
  SortBySum(rows);
  return rows;
}

void ReportMost(const std::vector<ComputeAllRow>& all, Outcome& outcome) {
  double sum_ns = 0;
  for (const ComputeAllRow& row : all) sum_ns += row.sum_ns;
  const ComputeAllRow& most = all.front();
  AddFinding(
      outcome, "cluster.longest_kernel",
      {base::Shortened(most.op_type), Percent(most.sum_ns, sum_ns), std::to_string(most.count)},
      kComputeAll);
}

// The rank that computes longest, and the type in which it exceeds the median rank most.
void ReportUneven(const std::vector<ComputeTypeRow>& by_rank, Outcome& outcome) {
  std::map<int64_t, double> sums;
  std::map<std::string, std::map<int64_t, double>> by_type;
  for (const ComputeTypeRow& row : by_rank) {
    sums[row.rank] += row.sum_ns;
    by_type[row.op_type][row.rank] += row.sum_ns;
  }
  const auto median_of = [&](const std::map<int64_t, double>& of_ranks) {
    std::vector<double> values(sums.size() - of_ranks.size(), 0.0);
    for (const auto& [rank, value] : of_ranks) values.push_back(value);
    std::sort(values.begin(), values.end());
    return values[(values.size() - 1) / 2];
  };
  const auto longest = std::max_element(
      sums.begin(), sums.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  const double median = median_of(sums);
  const double share = median > 0 ? longest->second / median - 1 : 0;
  if (sums.size() < 2 || share < recipes::kUnevenShare.value) return;
  std::pair<double, std::string> most;
  for (const auto& [type, of_ranks] : by_type) {
    const auto own = of_ranks.find(longest->first);
    if (own == of_ranks.end()) continue;
    most = std::max(most, std::pair(own->second - median_of(of_ranks), type));
  }
  recipes::Finding& finding = AddFinding(
      outcome, "cluster.uneven_computing",
      {std::to_string(longest->first), Fixed(100 * share, 1), base::Shortened(most.second)},
      kComputeType);
  finding.rank = longest->first;
  finding.value = 100 * share;
  finding.unit = "%";
  finding.limit = 100 * recipes::kUnevenShare.value;
}

Status ReduceComputeOpSum(std::span<const RankPart> ranks, const ModeOptions& options,
                          Outcome& outcome) {
  const auto by_rank = ByTypeAndRank(ranks);
  const auto all = OfAll(ranks);
  outcome.tables = {TableOf(kComputeAll, all), TableOf(kComputeType, by_rank)};
  if (!IsGiven(options.values, kExcludeName)) {
    outcome.tables.push_back(TableOf(kComputeName, ByNameAndRank(ranks)));
  }
  if (!all.empty()) ReportMost(all, outcome);
  if (!all.empty()) ReportUneven(by_rank, outcome);
  return {};
}

constexpr std::array kComputeOpSumTables = {&kComputeAll, &kComputeType, &kComputeName};
constexpr std::array kComputeOpSumOptions = {&kExcludeName};

}  // namespace

extern const Mode kComputeOpSumMode;
constexpr Mode kComputeOpSumMode = {.name = "compute_op_sum",
                                    .folder = "ComputeOpSum",
                                    .summary = "Kernels by type, by rank, by name and shapes",
                                    .tables = kComputeOpSumTables,
                                    .needs = recipes::Reads<store::DeviceTaskRow>(),
                                    .wants = kWantsKernels,
                                    .options = kComputeOpSumOptions,
                                    .map = &MapComputeOpSum,
                                    .reduce = &ReduceComputeOpSum};

}  // namespace sonde::cluster
