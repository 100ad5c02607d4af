#include "cluster/hccl_sum/hccl_sum.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "base/strings.h"
#include "cluster/frame/add_finding.h"
#include "cluster/frame/facts.h"

namespace sonde::cluster {
namespace {

constexpr ModeOption kHcclRows = TopNumber("15");

using base::Concat;

struct HcclSumOpRow {
  std::string name;
  std::string type;
  std::string group;
  double dur_ns = 0;
};

Status MapHcclSum(const RankInput& rank, Part& part) {
  const recipes::TraceData& data = rank.data();
  for (size_t i = 0; i < data.communications.size(); ++i) {
    const store::CommunicationOpRow& op = data.communications[i];
    if (!rank.window.Has(op.ts)) continue;
    const recipes::CommunicationView& shown = rank.view.communications[i];
    part.Rows<HcclSumOpRow>().push_back(
        {.name = shown.name,
         .type = CommunicationTypeOf(rank.view, i),
         .group = shown.group_name,
         .dur_ns = static_cast<double>(rank.view.EndNs(op) - op.ts)});
  }
  return {};
}

using ByText = std::map<std::string, std::vector<double>>;

std::vector<HcclAllRow> OfAll(std::span<const RankPart> ranks) {
  ByText durations;
  for (const RankPart& rank : ranks) {
    for (const HcclSumOpRow& op : rank.part.Rows<HcclSumOpRow>())
      durations[op.type].push_back(op.dur_ns);
  }
  std::vector<HcclAllRow> rows;
  for (auto& [type, values] : durations) {
    rows.push_back({.op_type = type});
    Set(Describe(values), rows.back());
  }
  return rows;
}

std::vector<HcclRankRow> OfRanks(std::span<const RankPart> ranks) {
  std::vector<HcclRankRow> rows;
  for (const RankPart& rank : ranks) {
    ByText durations;
    for (const HcclSumOpRow& op : rank.part.Rows<HcclSumOpRow>())
      durations[op.type].push_back(op.dur_ns);
    for (auto& [type, values] : durations) {
      rows.push_back({.op_type = type});
      Set(Describe(values), rows.back());
      rows.back().rank = rank.rank;
    }
  }
  return rows;
}

struct NamedOp {
  std::vector<double> dur_ns;
  double min_ns = 0;
  double max_ns = 0;
  int32_t min_rank = 0;
  int32_t max_rank = 0;

  void Add(double value, int32_t rank) {
    if (dur_ns.empty() || value < min_ns) std::tie(min_ns, min_rank) = std::pair(value, rank);
    if (dur_ns.empty() || value > max_ns) std::tie(max_ns, max_rank) = std::pair(value, rank);
    dur_ns.push_back(value);
  }
};

std::vector<HcclTopRow> Longest(std::span<const RankPart> ranks, size_t most) {
  std::map<std::string, NamedOp> ops;
  for (const RankPart& rank : ranks) {
    for (const HcclSumOpRow& op : rank.part.Rows<HcclSumOpRow>())
      ops[op.name].Add(op.dur_ns, rank.rank);
  }
  std::vector<HcclTopRow> rows;
  for (auto& [name, op] : ops) {
    rows.push_back({.op_name = name, .min_rank = op.min_rank, .max_rank = op.max_rank});
    Set(Describe(op.dur_ns), rows.back());
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const HcclTopRow& a, const HcclTopRow& b) { return a.mean_ns > b.mean_ns; });
  if (rows.size() > most) rows.resize(most);
  return rows;
}

std::vector<HcclGroupRow> GroupRows(std::span<const RankPart> ranks) {
  std::map<std::string, HcclGroupRow> groups;
  std::set<std::pair<std::string, int32_t>> seen;
  for (const RankPart& rank : ranks) {
    for (const HcclSumOpRow& op : rank.part.Rows<HcclSumOpRow>()) {
      if (!seen.emplace(op.group, rank.rank).second) continue;
      HcclGroupRow& row = groups[op.group];
      row.group_name = op.group;
      row.group_id = GroupDigits(op.group);
      row.ranks += Concat(row.ranks.empty() ? "" : ";", std::to_string(rank.rank));
    }
  }
  std::vector<HcclGroupRow> rows;
  for (auto& [name, row] : groups) rows.push_back(std::move(row));
  std::stable_sort(rows.begin(), rows.end(), [](const HcclGroupRow& a, const HcclGroupRow& b) {
    return a.group_id < b.group_id;
  });
  return rows;
}

void ReportLongest(const std::vector<HcclAllRow>& all, const std::vector<HcclTopRow>& top,
                   Outcome& outcome) {
  const auto most = std::max_element(
      all.begin(), all.end(), [](const auto& a, const auto& b) { return a.sum_ns < b.sum_ns; });
  double sum_ns = 0;
  for (const HcclAllRow& row : all) sum_ns += row.sum_ns;
  AddFinding(outcome, "cluster.share_of_kind", {most->op_type, Percent(most->sum_ns, sum_ns)},
             kHcclAll);
  const HcclTopRow& longest = top.front();
  AddFinding(outcome, "cluster.longest_operation",
             {longest.op_name, Duration(longest.mean_ns), std::to_string(longest.count),
              Duration(longest.min_ns), std::to_string(longest.min_rank), Duration(longest.max_ns),
              std::to_string(longest.max_rank)},
             kHcclTop);
}

Status ReduceHcclSum(std::span<const RankPart> ranks, const ModeOptions& options,
                     Outcome& outcome) {
  const auto all = OfAll(ranks);
  const auto top = Longest(ranks, static_cast<size_t>(IntOf(options.values, kHcclRows)));
  outcome.tables = {TableOf(kHcclAll, all), TableOf(kHcclRank, OfRanks(ranks)),
                    TableOf(kHcclTop, top), TableOf(kHcclGroup, GroupRows(ranks))};
  if (!all.empty()) ReportLongest(all, top, outcome);
  return {};
}

constexpr std::array kHcclSumTables = {&kHcclAll, &kHcclRank, &kHcclTop, &kHcclGroup};
constexpr std::array kHcclSumOptions = {&kHcclRows};

}  // namespace

extern const Mode kHcclSumMode;
constexpr Mode kHcclSumMode = {
    .name = "hccl_sum",
    .folder = "HcclSum",
    .summary = "Communication operations by kind, by rank, and the longest of them",
    .tables = kHcclSumTables,
    .needs = recipes::Reads<store::CommunicationOpRow>(),
    .wants = kWantsCommunication,
    .options = kHcclSumOptions,
    .map = &MapHcclSum,
    .reduce = &ReduceHcclSum};

}  // namespace sonde::cluster
