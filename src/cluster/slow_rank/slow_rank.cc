#include "cluster/slow_rank/slow_rank.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/strings.h"
#include "cluster/frame/add_finding.h"
#include "cluster/frame/facts.h"
#include "cluster/slow_rank/reasons.h"
#include "recipes/launch/host_calls.h"

namespace sonde::cluster {
namespace {

using recipes::slow_rank::WorkTexts;

struct SlowRankOpRow {
  int32_t group = 0;  // places in WorkTexts, of which a rank has one
  int32_t name = 0;
  int64_t ts = 0;
  double dur_us = 0;
};

Status MapSlowRank(const RankInput& rank, Part& part) {
  const recipes::TraceData& data = rank.data();
  const recipes::HostCalls calls(data);
  WorkTexts texts;
  std::unordered_map<std::string, int32_t> places;
  const auto place_of = [&](const std::string& text) {
    const auto [found, is_new] = places.try_emplace(text, static_cast<int32_t>(places.size()));
    if (is_new) texts.Add(text);
    return found->second;
  };
  for (size_t i = 0; i < data.communications.size(); ++i) {
    const recipes::CommunicationView& shown = rank.view.communications[i];
    if (IsSendOrReceive(shown.name)) continue;
    const store::CommunicationOpRow& op = data.communications[i];
    calls.ForEach(op, [&](int64_t ts) {
      if (!rank.window.Has(ts)) return;
      part.Rows<SlowRankOpRow>().push_back(
          {place_of(shown.group_name), place_of(shown.name), op.ts,
           static_cast<double>(rank.view.EndNs(op) - op.ts) / 1e3});
    });
  }
  texts.ShrinkToFit();
  if (!places.empty()) part.Rows<WorkTexts>().push_back(std::move(texts));
  part.Rows<SlowRankOpRow>().shrink_to_fit();
  if (data.communications.empty()) return {};
  auto work = recipes::slow_rank::WorkOf(rank.view, rank.options.step_id);
  work.rank = rank.rank;
  if (!work.Rows<recipes::slow_rank::WorkStep>().empty()) {
    part.Rows<recipes::slow_rank::RankWork>().push_back(std::move(work));
  }
  return {};
}

// Critical values of Dixon's test for 3 to 100 values, one-sided, 99.5 %.
constexpr std::array kDixon = {
    0.994, 0.920, 0.823, 0.744, 0.680, 0.723, 0.676, 0.638, 0.707, 0.675, 0.649, 0.672, 0.649,
    0.629, 0.611, 0.595, 0.580, 0.568, 0.556, 0.545, 0.536, 0.526, 0.519, 0.510, 0.503, 0.496,
    0.489, 0.484, 0.478, 0.473, 0.468, 0.463, 0.458, 0.454, 0.450, 0.446, 0.442, 0.439, 0.435,
    0.432, 0.429, 0.425, 0.423, 0.420, 0.417, 0.414, 0.412, 0.409, 0.407, 0.405, 0.402, 0.400,
    0.398, 0.396, 0.394, 0.392, 0.391, 0.388, 0.387, 0.385, 0.383, 0.382, 0.380, 0.379, 0.377,
    0.376, 0.374, 0.372, 0.371, 0.370, 0.368, 0.368, 0.366, 0.365, 0.364, 0.363, 0.361, 0.360,
    0.359, 0.358, 0.356, 0.356, 0.355, 0.353, 0.352, 0.352, 0.351, 0.350, 0.349, 0.348, 0.347,
    0.346, 0.345, 0.344, 0.344, 0.343, 0.341, 0.341};
constexpr size_t kLeastValues = 3;
constexpr size_t kMostValues = 100;

// How far the least of the values in ascending order lies from the others.
double DixonRatio(const std::vector<double>& s) {
  const size_t n = s.size();
  const size_t low = n <= 10 ? 1 : 2;
  const size_t high = n <= 7 ? n - 1 : n <= 13 ? n - 2 : n - 3;
  const double span = s[high] - s[0];
  return span == 0 ? 0 : (s[low] - s[0]) / span;
}

std::vector<size_t> ByDeviation(const std::vector<double>& values) {
  const double mean = Mean(values);
  const double limit = 3 * PopulationDeviation(values);
  std::vector<size_t> slow;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] < mean - limit) slow.push_back(i);
  }
  const auto least = std::min_element(values.begin(), values.end());
  const auto place = static_cast<size_t>(least - values.begin());
  const bool has_high = *std::max_element(values.begin(), values.end()) > mean + limit;
  if (has_high && std::find(slow.begin(), slow.end(), place) == slow.end()) slow.push_back(place);
  return slow;
}

struct OpOfRank {
  int32_t rank = 0;
  const SlowRankOpRow* op = nullptr;
};
using OpsByName = std::map<std::string, std::vector<OpOfRank>>;

bool IsComplete(const OpsByName& ops) {
  return std::all_of(ops.begin(), ops.end(), [&](const auto& entry) {
    return entry.second.size() == ops.begin()->second.size();
  });
}

struct Found {
  std::map<int32_t, int64_t> votes;
  std::vector<SlowOpRow> ops;
};

void Judge(const std::string& group, const std::string& name, const std::vector<OpOfRank>& ops,
           Found& found) {
  std::vector<double> durations;
  for (const OpOfRank& one : ops) durations.push_back(one.op->dur_us);
  const std::vector<size_t> slow = SlowPlaces(durations);
  if (slow.empty()) return;
  SlowOpRow row{.op_name = name, .group_name = group, .ts = INT64_MAX};
  std::vector<std::string> ranks;
  for (const size_t place : slow) {
    ++found.votes[ops[place].rank];
    ranks.push_back(std::to_string(ops[place].rank));
    row.ts = std::min(row.ts, ops[place].op->ts);
  }
  row.ranks = base::Join(ranks, ",");
  Set(Describe(durations), row);
  found.ops.push_back(std::move(row));
}

Status ReduceSlowRank(std::span<const RankPart> ranks, const ModeOptions& /*options*/,
                      Outcome& outcome) {
  std::map<std::string, OpsByName> groups;
  for (const RankPart& rank : ranks) {
    for (const WorkTexts& texts : rank.part.Rows<WorkTexts>()) {
      for (const SlowRankOpRow& op : rank.part.Rows<SlowRankOpRow>()) {
        groups[std::string(texts.At(op.group))][std::string(texts.At(op.name))].push_back(
            {rank.rank, &op});
      }
    }
  }
  Found found;
  for (const auto& [group, ops] : groups) {
    if (!IsComplete(ops)) continue;
    for (const auto& [name, list] : ops) Judge(group, name, list, found);
  }
  std::vector<SlowRankRow> rows;
  for (const auto& [rank, votes] : found.votes) rows.push_back({.rank = rank, .votes = votes});
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.votes > b.votes; });
  std::stable_sort(found.ops.begin(), found.ops.end(),
                   [](const auto& a, const auto& b) { return a.ts < b.ts; });
  outcome.tables = {TableOf(kSlowRank, rows), TableOf(kSlowOp, found.ops)};
  // The votes stay a table: of ranks that only differ by chance one comes last, too.
  Explain(ranks, outcome);
  return {};
}

constexpr std::array kSlowRankTables = {&kSlowRank, &kSlowOp, &kSlowCause, &kSlowWork,
                                        &kSlowArrival};

}  // namespace

std::vector<size_t> SlowPlaces(const std::vector<double>& durations) {
  const size_t n = durations.size();
  if (n > kMostValues) return ByDeviation(durations);
  const std::set<double> distinct(durations.begin(), durations.end());
  if (n < kLeastValues || distinct.size() <= kLeastValues) return {};
  std::vector<double> sorted = durations;
  std::sort(sorted.begin(), sorted.end());
  if (DixonRatio(sorted) <= kDixon[n - kLeastValues]) return {};
  const auto least = std::min_element(durations.begin(), durations.end());
  return {static_cast<size_t>(least - durations.begin())};
}

extern const Mode kSlowRankMode;
constexpr Mode kSlowRankMode = {.name = "slow_rank",
                                .folder = "SlowRankAnalysis",
                                .summary = "Ranks that others wait for, since when, and why",
                                .tables = kSlowRankTables,
                                .needs = recipes::Reads<store::CommunicationOpRow>() |
                                         recipes::HostCallNeeds() | recipes::slow_rank::WorkNeeds(),
                                .wants = kWantsCommunication,
                                .map = &MapSlowRank,
                                .reduce = &ReduceSlowRank};

}  // namespace sonde::cluster
