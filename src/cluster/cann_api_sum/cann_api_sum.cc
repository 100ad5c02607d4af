#include "cluster/cann_api_sum/cann_api_sum.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "base/strings.h"
#include "cluster/frame/add_finding.h"
#include "cluster/frame/facts.h"

namespace sonde::cluster {
namespace {

// As SQLite rounds, in which the reference makes the rows of a rank: up where the shortest decimal
// of a value above 0 is a tie, which the value itself may be a little below of. Those of all ranks
// are rounded as everything else.
double RoundUpTies(double value, int decimals) {
  constexpr long double kNudge = 1 + 3e-16L;  // of SQLite's printf
  const long double scale = std::pow(10.0L, decimals);
  return static_cast<double>(std::floor(value * kNudge * scale + 0.5L) / scale);
}

Status MapCannApiSum(const RankInput& rank, Part& part) {
  const recipes::TraceData& data = rank.data();
  std::map<std::string_view, std::vector<double>> durations;
  double all_ns = 0;
  for (const store::ApiCallRow& call : data.api_calls) {
    const store::SliceRow& slice = data.Slice(call.slice_id);
    if (!rank.window.Has(slice.ts)) continue;
    const auto dur_ns = static_cast<double>(data.DurationNs(slice));
    durations[data.Name(slice.name)].push_back(dur_ns);
    all_ns += dur_ns;
  }
  auto& rows = part.Rows<CannApiRankRow>();
  for (auto& [name, values] : durations) {
    const double deviation = PopulationDeviation(values);
    const Statistics found = Describe(values);
    rows.push_back({.name = std::string(name),
                    .ratio_percent = all_ns > 0 ? RoundUpTies(100 * found.sum / all_ns, 2) : 0,
                    .total_ns = static_cast<int64_t>(found.sum),
                    .count = found.count,
                    .average_ns = RoundUpTies(found.mean, 1),
                    .min_ns = RoundUpTies(found.min, 1),
                    .q1_ns = RoundUpTies(found.q1, 1),
                    .median_ns = RoundUpTies(found.median, 1),
                    .q3_ns = RoundUpTies(found.q3, 1),
                    .max_ns = RoundUpTies(found.max, 1),
                    .deviation_ns = RoundUpTies(deviation, 1),
                    .rank = rank.rank});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return std::pair(a.ratio_percent, a.total_ns) > std::pair(b.ratio_percent, b.total_ns);
  });
  return {};
}

using Ranks = std::vector<const CannApiRankRow*>;  // of one name

double Pooled(const Ranks& ranks, double mean, double count) {
  if (ranks.size() == 1) return ranks[0]->deviation_ns;
  double squares = 0;
  for (const CannApiRankRow* rank : ranks) {
    const auto n = static_cast<double>(rank->count);
    squares += (n - 1) * rank->deviation_ns * rank->deviation_ns;
    squares += n * (rank->average_ns - mean) * (rank->average_ns - mean);
  }
  return std::sqrt(squares / (count - 1));
}

template <class Has>
std::string RanksWhere(const Ranks& ranks, const Has& has) {
  std::vector<std::string> numbers;
  for (const CannApiRankRow* rank : ranks) {
    if (has(*rank)) numbers.push_back(std::to_string(rank->rank));
  }
  return base::Join(numbers, ", ");
}

CannApiAllRow OfName(const std::string& name, const Ranks& ranks, double all_ns) {
  CannApiAllRow row{.name = name};
  std::vector<double> medians;
  row.q1_ns = row.min_ns = INFINITY;
  row.q3_ns = row.max_ns = -INFINITY;
  for (const CannApiRankRow* rank : ranks) {
    row.total_ns += rank->total_ns;
    row.count += rank->count;
    row.q1_ns = std::min(row.q1_ns, rank->q1_ns);
    row.q3_ns = std::max(row.q3_ns, rank->q3_ns);
    row.min_ns = std::min(row.min_ns, rank->min_ns);
    row.max_ns = std::max(row.max_ns, rank->max_ns);
    medians.push_back(rank->median_ns);
  }
  std::sort(medians.begin(), medians.end());
  const auto total_ns = static_cast<double>(row.total_ns);
  const auto count = static_cast<double>(row.count);
  row.ratio_percent = all_ns > 0 ? Round(100 * total_ns / all_ns, 1) : 0;
  row.deviation_ns = Round(Pooled(ranks, total_ns / count, count), 1);
  row.average_ns = Round(total_ns / count, 1);
  row.median_ns = Round(Quantile(medians, 0.5), 1);
  row.min_ranks = RanksWhere(ranks, [&](const auto& rank) { return rank.min_ns == row.min_ns; });
  row.max_ranks = RanksWhere(ranks, [&](const auto& rank) { return rank.max_ns == row.max_ns; });
  return row;
}

Status ReduceCannApiSum(std::span<const RankPart> ranks, const ModeOptions& /*options*/,
                        Outcome& outcome) {
  std::map<std::string, Ranks> by_name;
  std::vector<CannApiRankRow> of_ranks;
  double all_ns = 0;
  for (const RankPart& rank : ranks) {
    for (const CannApiRankRow& row : rank.part.Rows<CannApiRankRow>()) {
      by_name[row.name].push_back(&row);
      of_ranks.push_back(row);
      all_ns += static_cast<double>(row.total_ns);
    }
  }
  std::vector<CannApiAllRow> all;
  for (const auto& [name, list] : by_name) all.push_back(OfName(name, list, all_ns));
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.total_ns > b.total_ns; });
  outcome.tables = {TableOf(kCannApiAll, all), TableOf(kCannApiRank, of_ranks)};
  if (all.empty()) return {};
  const CannApiAllRow& most = all.front();
  AddFinding(outcome, "cluster.longest_call",
             {most.name, Fixed(most.ratio_percent, 1), std::to_string(most.count),
              Duration(most.average_ns)},
             kCannApiAll);
  return {};
}

constexpr std::array kCannApiSumTables = {&kCannApiAll, &kCannApiRank};

}  // namespace

extern const Mode kCannApiSumMode;
constexpr Mode kCannApiSumMode = {
    .name = "cann_api_sum",
    .folder = "CannApiSum",
    .summary = "Calls of the device's host interface by name and rank",
    .tables = kCannApiSumTables,
    .needs = recipes::Reads<store::ApiCallRow, store::SliceRow>(),
    .wants = kWantsApi,
    .map = &MapCannApiSum,
    .reduce = &ReduceCannApiSum};

}  // namespace sonde::cluster
