// ep_load_balance: tokens that the experts of each rank had to work on.
//
//   tokens      of an operator GroupedMatmul that lies in the window: the sum of the first
//               dimension of all its inputs but the last two (weights and list of groups); without
//               two inputs, or with a dimension that is no number, it does not count
//   epRanks     ranks of the rank's first group "exp"
//   tokensDiff  greatest - least tokens of the ranks of a group; the 20 greatest
// Tables EPTokensSummary and TopEPTokensInfo. Pure, any thread.
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "base/host/json.h"
#include "base/strings.h"
#include "cluster/frame/add_finding.h"
#include "cluster/frame/mode.h"

namespace sonde::cluster {
namespace {

#define SONDE_COLUMNS_EP_TOKENS(C)                                                \
  C(rank, Int, "rank", "", "", KeyOf("rank"), "global rank")                      \
  C(ep_ranks, Text, "epRanks", "", "", KeyOf("ep_group"), "ranks of its experts") \
  C(tokens, Int, "inputShapesSummary", "", "", kNeither, "tokens of its experts")
SONDE_CLUSTER_TABLE(EpTokensRow, kEpTokens, "ep_tokens_summary", "EPTokensSummary",
                    "ep_tokens_summary", SONDE_COLUMNS_EP_TOKENS, "tokens of experts by rank")

#define SONDE_COLUMNS_EP_TOP(C)                                                   \
  C(ep_ranks, Text, "epRanks", "", "", KeyOf("ep_group"), "ranks of its experts") \
  C(difference, Int, "tokensDiff", "", "", kLess, "greatest less least of a rank")
SONDE_CLUSTER_TABLE(EpTopRow, kEpTop, "top_ep_tokens_info", "TopEPTokensInfo", "top_ep_tokens_info",
                    SONDE_COLUMNS_EP_TOP, "groups of uneven experts")

// Tokens of an operator by its input shapes, "16,8;4,8,8;4".
std::optional<int64_t> TokensOf(std::string_view shapes) {
  constexpr size_t kOthers = 2;
  std::vector<std::string_view> inputs;
  for (const std::string_view input : base::Split(shapes, ';')) {
    if (!base::Trim(input).empty()) inputs.push_back(base::Trim(input));
  }
  if (inputs.size() < kOthers) return std::nullopt;
  int64_t tokens = 0;
  for (size_t i = 0; i + kOthers < inputs.size(); ++i) {
    const auto first = base::ParseInt64(inputs[i].substr(0, inputs[i].find(',')));
    if (!first) return std::nullopt;
    tokens += *first;
  }
  return tokens;
}

std::string ExpertRanks(const recipes::TraceData& data) {
  for (const recipes::CommunicationGroup& group : data.groups) {
    if (data.Name(group.description) != "exp") continue;
    const auto list = base::JsonDocument::Parse(group.rank_list, "rank_list");
    if (!list.ok()) continue;
    std::vector<std::string> ranks;
    for (const base::JsonValue& rank : list->root().Elements()) {
      ranks.push_back(std::to_string(rank.AsInt().value_or(-1)));
    }
    return base::Join(ranks, ",");
  }
  return {};
}

Status MapEpLoadBalance(const RankInput& rank, Part& part) {
  const recipes::TraceData& data = rank.data();
  bool has_any = false;
  EpTokensRow row{.rank = rank.rank, .ep_ranks = ExpertRanks(data)};
  for (const store::DeviceTaskRow& task : data.tasks) {
    const store::TaskKindRow& kind = data.kinds[static_cast<size_t>(task.kind_id)];
    if (data.Name(kind.op_type) != "GroupedMatmul") continue;
    if (!rank.window.Has(task.ts) || !rank.window.Has(task.ts + task.dur)) continue;
    const auto tokens = TokensOf(data.Name(kind.input_shapes));
    if (!tokens) continue;
    has_any = true;
    row.tokens += *tokens;
  }
  if (has_any) part.Rows<EpTokensRow>().push_back(std::move(row));
  return {};
}

Status ReduceEpLoadBalance(std::span<const RankPart> ranks, const ModeOptions& /*options*/,
                           Outcome& outcome) {
  constexpr size_t kTop = 20;
  std::vector<EpTokensRow> rows;
  std::map<std::string, std::pair<int64_t, int64_t>> bounds;  // least, greatest
  for (const RankPart& rank : ranks) {
    for (const EpTokensRow& row : rank.part.Rows<EpTokensRow>()) {
      rows.push_back(row);
      const auto [found, is_new] = bounds.try_emplace(row.ep_ranks, row.tokens, row.tokens);
      found->second.first = std::min(found->second.first, row.tokens);
      found->second.second = std::max(found->second.second, row.tokens);
    }
  }
  std::vector<EpTopRow> top;
  for (const auto& [group, bound] : bounds) {
    top.push_back({.ep_ranks = group, .difference = bound.second - bound.first});
  }
  std::stable_sort(top.begin(), top.end(),
                   [](const auto& a, const auto& b) { return a.difference > b.difference; });
  if (top.size() > kTop) top.resize(kTop);
  if (!top.empty()) {
    const auto& [least, most] = bounds.at(top.front().ep_ranks);
    AddFinding(outcome, "cluster.experts",
               {top.front().ep_ranks, std::to_string(most), std::to_string(least)}, kEpTop);
  }
  outcome.tables = {TableOf(kEpTokens, rows), TableOf(kEpTop, top)};
  return {};
}

constexpr std::array kEpLoadBalanceTables = {&kEpTokens, &kEpTop};

}  // namespace

extern const Mode kEpLoadBalanceMode;
constexpr Mode kEpLoadBalanceMode = {
    .name = "ep_load_balance",
    .folder = "EPLoadBalance",
    .summary = "Tokens that the experts of each rank had to work on",
    .tables = kEpLoadBalanceTables,
    .needs = recipes::Reads<store::DeviceTaskRow, store::CommunicationGroupRow>(),
    .wants = "kernels GroupedMatmul with shapes (a model of experts, --profile-level level1)",
    .map = &MapEpLoadBalance,
    .reduce = &ReduceEpLoadBalance};

}  // namespace sonde::cluster
