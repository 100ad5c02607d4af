// Transfers between ranks under their global numbers.
#include <map>
#include <string_view>
#include <tuple>

#include "cluster/base/base.h"

namespace sonde::cluster {

RankNumbers::RankNumbers(Ranks ranks) {
  std::map<std::string_view, size_t> known;  // places by group: each member has all of them
  for (const RankPart& rank : ranks) {
    for (const DeliveredGroup& group : rank.part.Rows<DeliveredGroup>()) {
      for (size_t& i = known[group.hash]; i < group.ranks.size(); ++i) {
        numbers_.try_emplace({group.hash, static_cast<int32_t>(i)}, group.ranks[i]);
      }
    }
  }
  for (const RankPart& rank : ranks) {
    for (const DeliveredLink& link : rank.part.Rows<DeliveredLink>()) {
      if (link.src == link.dst) numbers_.try_emplace({link.group, link.src}, rank.rank);
    }
  }
}

std::optional<int32_t> RankNumbers::Global(const std::string& group, int32_t local) const {
  const auto found = numbers_.find({group, local});
  if (found == numbers_.end()) return std::nullopt;
  return found->second;
}

GlobalLinks LinksOf(Ranks ranks) {
  const RankNumbers numbers(ranks);
  std::map<std::tuple<bool, std::string, std::string, std::string, int32_t, int32_t>, size_t>
      places;
  GlobalLinks all;
  for (const RankPart& rank : ranks) {
    for (const DeliveredLink& link : rank.part.Rows<DeliveredLink>()) {
      const auto src = numbers.Global(link.group, link.src);
      const auto dst = numbers.Global(link.group, link.dst);
      if (!src || !dst) {
        ++all.unmapped[link.group];
        continue;
      }
      const auto [place, is_new] = places.try_emplace(
          {link.is_p2p, link.group, link.step, link.op, *src, *dst}, all.links.size());
      if (is_new) {
        all.links.push_back({.step = link.step,
                             .is_p2p = link.is_p2p,
                             .op = link.op,
                             .group = link.group,
                             .src = *src,
                             .dst = *dst,
                             .transport = {},
                             .op_name = {}});
      }
      GlobalLink& sum = all.links[place->second];
      sum.transport = link.transport;
      sum.op_name = link.op_name;
      sum.size_mb += link.size_mb;
      sum.time_ms += link.time_ms;
    }
  }
  return all;
}

std::vector<ClusterMatrixRow> MatrixRows(const GlobalLinks& links) {
  std::vector<ClusterMatrixRow> rows;
  std::map<std::tuple<std::string, std::string, int32_t, int32_t>, ClusterMatrixRow> sums;
  for (const GlobalLink& link : links.links) {
    rows.push_back({.step = link.step,
                    .op_name = link.op,
                    .group_hash = link.group,
                    .src_rank = link.src,
                    .dst_rank = link.dst,
                    .transport = link.transport,
                    .named_op = link.op_name,
                    .size_mb = link.size_mb,
                    .time_ms = link.time_ms,
                    .bandwidth = link.time_ms > 0 ? link.size_mb / link.time_ms : 0});
    if (link.op.find("total") == std::string::npos) continue;
    ClusterMatrixRow& sum = sums[{link.group, link.step, link.src, link.dst}];
    const double size_mb = sum.size_mb + link.size_mb;
    const double time_ms = sum.time_ms + link.time_ms;
    sum = rows.back();
    sum.op_name = kTotal;
    sum.size_mb = size_mb;
    sum.time_ms = time_ms;
    sum.bandwidth = time_ms > 0 ? size_mb / time_ms : 0;
  }
  for (auto& [key, sum] : sums) rows.push_back(std::move(sum));
  return rows;
}

}  // namespace sonde::cluster
