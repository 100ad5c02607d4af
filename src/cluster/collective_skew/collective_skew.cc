// collective_skew: how far apart the ranks of each collective begin and end it.
//
//   collective  the n-th operation of its type in a communicator, in the order of time, on every
//   rank
//               that is there; of a type that ranks have in different numbers the operations cannot
//               be matched: it is left out, with a notice
//   startSkew   latest begin - earliest begin: the others waited for the last rank so long
//   endSkew     latest end - earliest end; of collectives that end together what the clocks of the
//               ranks differ by, at most
//   latency     latest end - latest begin: what the collective takes when everybody is there
// Clocks of hosts that disagree are found and corrected (frame/clocks.h). Sends and receives do not
// count (p2p_pairing). Tables CollectiveSkewSum, CollectiveSkew, HostClocks. With
// --step_id operations count that begin in the step. Units: nanoseconds. Pure, any thread.
#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "base/strings.h"
#include "cluster/frame/add_finding.h"
#include "cluster/frame/clocks.h"
#include "cluster/frame/facts.h"
#include "cluster/frame/statistics.h"

namespace sonde::cluster {
namespace {

using base::Concat;

#define SONDE_COLUMNS_SKEW(C)                                                         \
  C(group_name, Text, "groupName", "", "", KeyOf("group"), "communicator")            \
  C(type, Text, "opType", "", "", KeyOf("op_type"), "type of the collective")         \
  C(number, Int, "index", "", "", KeyOf("index"), "of its type in the group, from 0") \
  C(ranks, Int, "rankCount", "", "", kNeither, "ranks that are there")                \
  C(first_rank, Int, "firstRank", "", "", kLabel, "that begins first")                \
  C(last_rank, Int, "lastRank", "", "", kLabel, "that begins last")                   \
  C(begin_ns, Int, "start", "", "ns", kLabel, "begin on the first rank")              \
  C(start_skew_ns, Int, "StartSkewNs", "", "ns", kLess, "latest less earliest begin") \
  C(end_skew_ns, Int, "EndSkewNs", "", "ns", kLess, "latest less earliest end")       \
  C(latency_ns, Int, "LatencyNs", "", "ns", kLess, "latest end less latest begin")
SONDE_CLUSTER_TABLE(SkewRow, kSkew, "collective_skew", "CollectiveSkew", "collective_skew",
                    SONDE_COLUMNS_SKEW, "begin and end of each collective over its ranks")

#define SONDE_COLUMNS_SKEW_SUM(C)                                                          \
  C(group_name, Text, "groupName", "", "", KeyOf("group"), "communicator")                 \
  C(type, Text, "opType", "", "", KeyOf("op_type"), "type of the collective")              \
  C(count, Int, "Count", "", "", kNeither, "collectives")                                  \
  C(ranks, Int, "rankCount", "", "", kNeither, "ranks that are there")                     \
  C(mean_skew_ns, Double, "MeanStartSkewNs", "", "ns", kLess, "mean of StartSkewNs")       \
  C(median_skew_ns, Double, "MedianStartSkewNs", "", "ns", kLess, "its median")            \
  C(max_skew_ns, Double, "MaxStartSkewNs", "", "ns", kLess, "its greatest")                \
  C(sum_skew_ns, Double, "SumStartSkewNs", "", "ns", kLess, "its sum")                     \
  C(median_end_skew_ns, Double, "MedianEndSkewNs", "", "ns", kLess, "median of EndSkewNs") \
  C(median_latency_ns, Double, "MedianLatencyNs", "", "ns", kLess, "median of LatencyNs")  \
  C(last_rank, Int, "lastRank", "", "", kLabel, "that comes last most often")              \
  C(last_count, Int, "lastCount", "", "", kNeither, "how often it does")
SONDE_CLUSTER_TABLE(SkewSumRow, kSkewSum, "collective_skew_sum", "CollectiveSkewSum",
                    "collective_skew_sum", SONDE_COLUMNS_SKEW_SUM,
                    "begin and end of collectives by group and type")

Status MapCollectiveSkew(const RankInput& rank, Part& part) {
  MapCollectives(rank, part);
  return {};
}

using Operation = CollectiveTime;

struct OfRank {
  int32_t rank = 0;
  int64_t ahead_ns = 0;                      // its clock
  std::vector<const Operation*> operations;  // in the order of time
};
using Types = std::map<std::pair<std::string, std::string>, std::vector<OfRank>>;

Types ByType(std::span<const RankPart> ranks, const Clocks& clocks) {
  Types types;
  for (const RankPart& rank : ranks) {
    for (const Operation& operation : rank.part.Rows<Operation>()) {
      auto& list = types[{operation.group_name, operation.type}];
      if (list.empty() || list.back().rank != rank.rank) {
        list.push_back({rank.rank, clocks.Of(rank.rank), {}});
      }
      list.back().operations.push_back(&operation);
    }
  }
  for (auto& [key, list] : types) {
    for (OfRank& one : list) {
      std::stable_sort(one.operations.begin(), one.operations.end(),
                       [](const auto* a, const auto* b) { return a->begin_ns < b->begin_ns; });
    }
  }
  return types;
}

SkewRow SkewOf(const std::vector<OfRank>& list, size_t number) {
  const auto begin = [&](const OfRank& one) {
    return one.operations[number]->begin_ns - one.ahead_ns;
  };
  const auto end = [&](const OfRank& one) { return one.operations[number]->end_ns - one.ahead_ns; };
  const auto [first, last] = std::minmax_element(
      list.begin(), list.end(), [&](const auto& a, const auto& b) { return begin(a) < begin(b); });
  const auto [ends_first, ends_last] = std::minmax_element(
      list.begin(), list.end(), [&](const auto& a, const auto& b) { return end(a) < end(b); });
  const Operation& operation = *first->operations[number];
  return {.group_name = operation.group_name,
          .type = operation.type,
          .number = static_cast<int64_t>(number),
          .ranks = static_cast<int64_t>(list.size()),
          .first_rank = first->rank,
          .last_rank = last->rank,
          .begin_ns = begin(*first),
          .start_skew_ns = begin(*last) - begin(*first),
          .end_skew_ns = end(*ends_last) - end(*ends_first),
          .latency_ns = end(*ends_last) - begin(*last)};
}

SkewSumRow SumOf(std::span<const SkewRow> rows) {
  std::vector<double> skews;
  std::vector<double> ends;
  std::vector<double> latencies;
  std::map<int64_t, int64_t> last;
  for (const SkewRow& row : rows) {
    skews.push_back(static_cast<double>(row.start_skew_ns));
    ends.push_back(static_cast<double>(row.end_skew_ns));
    latencies.push_back(static_cast<double>(row.latency_ns));
    ++last[row.last_rank];
  }
  const auto most = std::max_element(
      last.begin(), last.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  const Statistics start = Describe(skews);
  return {.group_name = rows.front().group_name,
          .type = rows.front().type,
          .count = start.count,
          .ranks = rows.front().ranks,
          .mean_skew_ns = start.mean,
          .median_skew_ns = start.median,
          .max_skew_ns = start.max,
          .sum_skew_ns = start.sum,
          .median_end_skew_ns = Describe(ends).median,
          .median_latency_ns = Describe(latencies).median,
          .last_rank = most->first,
          .last_count = most->second};
}

void ReportSkew(const std::vector<SkewSumRow>& sums, const std::vector<SkewRow>& rows,
                Outcome& outcome) {
  if (sums.empty()) {
    AddFinding(outcome, "cluster.no_skew", {}, kSkewSum);
    return;
  }
  const auto worst = std::max_element(sums.begin(), sums.end(), [](const auto& a, const auto& b) {
    return a.sum_skew_ns < b.sum_skew_ns;
  });
  recipes::Finding& finding =
      AddFinding(outcome, "cluster.skew",
                 {worst->type, worst->group_name, Duration(worst->median_skew_ns),
                  Duration(worst->median_latency_ns)},
                 kSkewSum);
  finding.value = worst->median_skew_ns;
  finding.unit = "ns";
  const auto longest = std::max_element(rows.begin(), rows.end(), [](const auto& a, const auto& b) {
    return a.start_skew_ns < b.start_skew_ns;
  });
  AddFinding(outcome, "cluster.longest_skew",
             {longest->type, std::to_string(longest->number), longest->group_name,
              Duration(static_cast<double>(longest->start_skew_ns))},
             kSkew);
}

Status ReduceCollectiveSkew(std::span<const RankPart> ranks, const ModeOptions& options,
                            Outcome& outcome) {
  const Clocks clocks = FindClocks(ranks, options, outcome);
  std::vector<SkewRow> rows;
  std::vector<SkewSumRow> sums;
  for (const auto& [key, list] : ByType(ranks, clocks)) {
    if (list.size() < 2) continue;
    const size_t count = list.front().operations.size();
    const bool is_even = std::all_of(list.begin(), list.end(), [&](const OfRank& one) {
      return one.operations.size() == count;
    });
    if (!is_even) {
      outcome.notices.push_back(Concat(key.second, " of group ", key.first,
                                       " is left out: its ranks have different numbers of it"));
      continue;
    }
    const size_t before = rows.size();
    for (size_t number = 0; number < count; ++number) rows.push_back(SkewOf(list, number));
    sums.push_back(SumOf(std::span(rows).subspan(before)));
  }
  outcome.tables = {TableOf(kSkewSum, sums), TableOf(kSkew, rows)};
  if (!clocks.rows.empty()) outcome.tables.push_back(TableOf(kHostClocks, clocks.rows));
  ReportSkew(sums, rows, outcome);
  return {};
}

constexpr std::array kCollectiveSkewTables = {&kSkewSum, &kSkew, &kHostClocks};
constexpr std::array kCollectiveSkewOptions = {&kKeepClocks};

}  // namespace

extern const Mode kCollectiveSkewMode;
constexpr Mode kCollectiveSkewMode = {
    .name = "collective_skew",
    .folder = "CollectiveSkew",
    .summary = "How far apart the ranks of each collective begin and end it",
    .tables = kCollectiveSkewTables,
    .needs = recipes::Reads<store::CommunicationOpRow>(),
    .wants = kWantsCommunication,
    .options = kCollectiveSkewOptions,
    .map = &MapCollectiveSkew,
    .reduce = &ReduceCollectiveSkew};

}  // namespace sonde::cluster
