#include "cluster/slow_link/slow_link.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "base/strings.h"
#include "cluster/frame/add_finding.h"
#include "cluster/frame/facts.h"

namespace sonde::cluster {
namespace {

constexpr ModeOption kSlowLinkTop = TopNumber("15");

using base::Concat;

Status MapSlowLink(const RankInput& rank, Part& part) {
  const recipes::TraceData& data = rank.data();
  for (size_t i = 0; i < data.communications.size(); ++i) {
    const recipes::CommunicationView& shown = rank.view.communications[i];
    const store::CommunicationOpRow& op = data.communications[i];
    // Of an unknown size nothing is alike.
    if (IsSendOrReceive(shown.name) || op.size_bytes < 0) continue;
    part.Rows<SlowLinkOpRow>().push_back({.rank = rank.rank,
                                          .group_name = shown.group_name,
                                          .dur_ns = rank.view.EndNs(op) - op.ts,
                                          .op_name = shown.name,
                                          .op_type = CommunicationTypeOf(rank.view, i),
                                          .data_type = std::string(data.Name(op.data_type)),
                                          .size_bytes = op.size_bytes});
  }
  return {};
}

// With transmitTime and relatedRanks.
std::vector<SlowLinkOpRow> AllOps(std::span<const RankPart> ranks) {
  struct Least {
    int64_t dur_ns = INT64_MAX;
    int64_t count = 0;
  };
  std::map<std::pair<std::string, std::string>, Least> least;
  std::vector<SlowLinkOpRow> ops;
  for (const RankPart& rank : ranks) {
    for (const SlowLinkOpRow& op : rank.part.Rows<SlowLinkOpRow>()) {
      Least& known = least[{op.group_name, op.op_name}];
      known.dur_ns = std::min(known.dur_ns, op.dur_ns);
      ++known.count;
      ops.push_back(op);
    }
  }
  for (SlowLinkOpRow& op : ops) {
    const Least& known = least.at({op.group_name, op.op_name});
    op.transmit_ns = known.dur_ns;
    op.ranks = known.count;
  }
  return ops;
}

using LinkOps = std::vector<const SlowLinkOpRow*>;

std::vector<double> Transmissions(const LinkOps& ops) {
  std::vector<double> values;
  for (const SlowLinkOpRow* op : ops) values.push_back(static_cast<double>(op->transmit_ns));
  return values;
}

bool IsAbnormal(const LinkOps& ops) {
  const std::vector<double> values = Transmissions(ops);
  const double mean = Mean(values);
  const double limit = 3 * PopulationDeviation(values);
  return std::any_of(values.begin(), values.end(),
                     [&](double value) { return std::abs(value - mean) > limit; });
}

SlowLinkRow RowOf(const LinkOps& ops) {
  const auto shorter = [](const auto* a, const auto* b) { return a->transmit_ns < b->transmit_ns; };
  const SlowLinkOpRow& first = *ops.front();
  SlowLinkRow row{.kind = Concat(first.op_type, std::to_string(first.ranks), "_",
                                 std::to_string(first.size_bytes))};
  std::vector<double> values = Transmissions(ops);
  Set(Describe(values), row);
  row.offset_ratio =
      std::max(std::abs(row.max_ns - row.mean_ns), std::abs(row.min_ns - row.mean_ns)) / row.std_ns;
  row.max_rank = (*std::max_element(ops.begin(), ops.end(), shorter))->rank;
  row.min_rank = (*std::min_element(ops.begin(), ops.end(), shorter))->rank;
  return row;
}

Status ReduceSlowLink(std::span<const RankPart> ranks, const ModeOptions& options,
                      Outcome& outcome) {
  const std::vector<SlowLinkOpRow> ops = AllOps(ranks);
  std::map<std::tuple<std::string, int64_t, int64_t>, LinkOps> kinds;
  for (const SlowLinkOpRow& op : ops) kinds[{op.op_type, op.size_bytes, op.ranks}].push_back(&op);
  std::vector<SlowLinkRow> rows;
  std::vector<SlowLinkOpRow> shown;
  for (const auto& [kind, list] : kinds) {
    if (!IsAbnormal(list)) continue;
    rows.push_back(RowOf(list));
    for (const SlowLinkOpRow* op : list) shown.push_back(*op);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.offset_ratio > b.offset_ratio; });
  const auto most = static_cast<size_t>(IntOf(options.values, kSlowLinkTop));
  if (rows.size() > most) rows.resize(most);
  outcome.tables = {TableOf(kSlowLink, rows), TableOf(kSlowLinkOp, shown)};
  if (rows.empty()) AddFinding(outcome, "cluster.no_slow_link", {}, kSlowLink);
  for (const SlowLinkRow& row : rows) {
    recipes::Finding& finding = AddFinding(
        outcome, "cluster.slow_link",
        {row.kind, Duration(row.max_ns), std::to_string(row.max_rank), Duration(row.median_ns)},
        kSlowLink);
    finding.severity = "warning";
    finding.rank = row.max_rank;
  }
  return {};
}

constexpr std::array kSlowLinkTables = {&kSlowLink, &kSlowLinkOp};
constexpr std::array kSlowLinkOptions = {&kSlowLinkTop};

}  // namespace

extern const Mode kSlowLinkMode;
constexpr Mode kSlowLinkMode = {
    .name = "slow_link",
    .folder = "SlowLink",
    .summary = "Collectives that transmit much longer than others of their kind and size",
    .tables = kSlowLinkTables,
    .needs = recipes::Reads<store::CommunicationOpRow>(),
    .wants = kWantsCommunication,
    .options = kSlowLinkOptions,
    .takes_all_steps = true,
    .map = &MapSlowLink,
    .reduce = &ReduceSlowLink};

}  // namespace sonde::cluster
