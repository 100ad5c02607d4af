// Groups, stages of the pipeline, and places of ranks.
#include <algorithm>
#include <set>

#include "base/host/json.h"
#include "base/strings.h"
#include "cluster/base/base.h"
#include "cluster/frame/facts.h"

namespace sonde::cluster {
namespace {

using base::Concat;

// Sets that share a rank become one.
void MergeInto(std::vector<std::set<int32_t>>& sets, std::set<int32_t> added) {
  for (size_t i = 0; i < sets.size();) {
    const bool meets = std::any_of(added.begin(), added.end(),
                                   [&](int32_t rank) { return sets[i].contains(rank); });
    if (!meets) {
      ++i;
      continue;
    }
    added.insert(sets[i].begin(), sets[i].end());
    sets.erase(sets.begin() + static_cast<std::ptrdiff_t>(i));
    i = 0;
  }
  sets.push_back(std::move(added));
}

}  // namespace

std::string TupleText(const std::vector<int32_t>& ranks, std::string_view between) {
  std::vector<std::string> texts;
  for (const int32_t rank : ranks) texts.push_back(std::to_string(rank));
  const bool is_one_of_python = ranks.size() == 1 && between.size() > 1;
  return Concat("(", base::Join(texts, between), is_one_of_python ? ",)" : ")");
}

std::vector<KnownGroup> GroupsOf(Ranks ranks) {
  std::map<std::pair<bool, std::string>, std::set<int32_t>> observed;
  std::map<std::string, const DeliveredGroup*> known;
  for (const RankPart& rank : ranks) {
    for (const DeliveredTime& time : rank.part.Rows<DeliveredTime>()) {
      observed[{time.is_p2p, time.group}].insert(rank.rank);
    }
    for (const DeliveredLink& link : rank.part.Rows<DeliveredLink>()) {
      observed[{link.is_p2p, link.group}].insert(rank.rank);
    }
    for (const DeliveredGroup& group : rank.part.Rows<DeliveredGroup>()) {
      known.try_emplace(group.hash, &group);
    }
  }
  std::vector<KnownGroup> groups;
  for (const auto& [key, members] : observed) {
    KnownGroup group;
    group.is_p2p = key.first;
    group.hash = key.second;
    group.observed.assign(members.begin(), members.end());
    group.ranks = group.observed;
    if (const auto found = known.find(key.second); found != known.end()) {
      group.id = found->second->id;
      group.pg_name = found->second->pg_name;
      if (!found->second->ranks.empty()) group.ranks = found->second->ranks;
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

void ReportNamesOfGroups(Ranks ranks, Outcome& outcome) {
  std::map<std::string, std::map<std::string, std::vector<int32_t>>> names;  // of a hash: by name
  for (const RankPart& rank : ranks) {
    for (const DeliveredGroup& group : rank.part.Rows<DeliveredGroup>()) {
      names[group.hash][group.pg_name].push_back(rank.rank);
    }
  }
  for (const auto& [hash, by_name] : names) {
    if (by_name.size() < 2) continue;
    std::vector<std::string> texts;
    for (const auto& [name, list] : by_name) {
      texts.push_back(Concat("'", name, "' (rank ", Listed(list), ")"));
    }
    outcome.notices.push_back(Concat("ranks call the group ", hash, " differently: ",
                                     base::Join(texts, ", "), "; the first name is used"));
  }
}

std::vector<GroupMapRow> GroupRows(const std::vector<KnownGroup>& groups) {
  std::vector<GroupMapRow> rows;
  for (const KnownGroup& group : groups) {
    rows.push_back({.type = group.is_p2p ? "p2p" : "collective",
                    .rank_set = TupleText(group.ranks, ","),
                    .group_hash = group.hash,
                    .group_id = group.id,
                    .pg_name = group.pg_name});
  }
  return rows;
}

std::vector<std::vector<int32_t>> StagesOf(const std::vector<KnownGroup>& groups) {
  std::vector<std::set<int32_t>> pipelines;
  for (const KnownGroup& group : groups) {
    if (!group.is_p2p || !base::ToLower(group.pg_name).starts_with("pp")) continue;
    MergeInto(pipelines, {group.ranks.begin(), group.ranks.end()});
  }
  if (pipelines.empty()) return {};
  std::vector<std::set<int32_t>> stages;
  for (const KnownGroup& group : groups) {
    if (group.is_p2p) continue;
    // Ranks of one stage: at most one of every pipeline.
    const bool crosses = std::any_of(pipelines.begin(), pipelines.end(), [&](const auto& line) {
      return std::count_if(group.ranks.begin(), group.ranks.end(),
                           [&](int32_t rank) { return line.contains(rank); }) > 1;
    });
    if (!crosses) MergeInto(stages, {group.ranks.begin(), group.ranks.end()});
  }
  std::vector<std::vector<int32_t>> sorted;
  for (const auto& stage : stages) sorted.emplace_back(stage.begin(), stage.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

ParallelPlaces::ParallelPlaces(Ranks ranks) {
  for (const RankPart& rank : ranks) {
    for (const DeliveredFacts& facts : rank.part.Rows<DeliveredFacts>()) {
      if (facts.distributed_args.empty() || known_) continue;
      const auto sizes = base::JsonDocument::Parse(facts.distributed_args, "distributed_args");
      if (!sizes.ok()) continue;
      const auto size = [&](std::string_view name) {
        return std::max<int64_t>(sizes->root().GetInt(name, 1).value_or(1), 1);
      };
      world_ = sizes->root().GetInt("world_size", 0).value_or(0);
      tp_ = size("tensor_model_parallel_size");
      pp_ = size("pipeline_model_parallel_size");
      // The rest is data parallel, including context parallel ranks.
      known_ = world_ > 0 && world_ % (tp_ * pp_) == 0;
    }
  }
}

std::optional<ParallelPlace> ParallelPlaces::Of(int32_t rank) const {
  if (!known_ || rank < 0 || rank >= world_) return std::nullopt;
  const int64_t of_stage = world_ / pp_;
  return ParallelPlace{.dp = rank % of_stage / tp_, .pp = rank / of_stage, .tp = rank % tp_};
}

}  // namespace sonde::cluster
