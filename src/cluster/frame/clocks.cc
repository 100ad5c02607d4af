#include "cluster/frame/clocks.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/hash.h"
#include "base/strings.h"
#include "cluster/frame/add_finding.h"
#include "cluster/frame/facts.h"
#include "recipes/communication/host_clocks.h"
#include "recipes/trace/device_view.h"

namespace sonde::cluster {
namespace {

using base::Concat;

bool NeedsAllRanks(std::string_view type) {
  constexpr std::array<std::string_view, 5> kKinds = {"allReduce", "allGather", "reduceScatter",
                                                      "alltoall", "barrier"};
  const std::string lower = base::ToLower(type);
  return std::ranges::any_of(kKinds, [&](std::string_view kind) {
    return lower.find(base::ToLower(kind)) != std::string::npos;
  });
}

// A rank that took part, and its name where its host is unknown.
struct Member {
  int32_t rank = 0;
  recipes::RankOnHost on_host;
};

std::vector<Member> MembersOf(std::span<const RankPart> ranks) {
  std::vector<Member> members;
  for (const RankPart& rank : ranks) {
    const auto& names = rank.part.Rows<HostOfRank>();
    if (names.empty()) continue;
    Member& member = members.emplace_back(
        Member{.rank = rank.rank, .on_host = {.host = names.front().name, .collectives = {}}});
    for (const CollectiveTime& one : rank.part.Rows<CollectiveTime>()) {
      if (!NeedsAllRanks(one.type)) continue;
      member.on_host.collectives.push_back(
          {base::HashString(one.type, base::HashString(one.group_name)), one.begin_ns, one.end_ns});
    }
  }
  return members;
}

std::string NameOf(const recipes::HostClock& clock, const std::vector<Member>& members) {
  if (!clock.host.empty()) return clock.host;
  return Concat("rank ", std::to_string(members[clock.ranks.front()].rank));
}

std::string DescribeClockRow(const ClockRow& row, const std::string& first) {
  return Concat(recipes::DescribeClock(row.host, row.ranks, row.ahead_ns, first),
                row.is_corrected != 0
                    ? ": its times are corrected by that; --keep_clocks keeps them"
                    : ": its times are unchanged");
}

}  // namespace

void MapCollectives(const RankInput& rank, Part& part) {
  const recipes::TraceData& data = rank.data();
  for (size_t i = 0; i < data.communications.size(); ++i) {
    const store::CommunicationOpRow& op = data.communications[i];
    const recipes::CommunicationView& shown = rank.view.communications[i];
    const bool is_p2p = op.is_p2p != 0 || IsSendOrReceive(base::ToLower(shown.name));
    if (is_p2p || op.dur < 0 || !rank.window.Has(op.ts)) continue;
    part.Rows<CollectiveTime>().push_back(
        {shown.group_name, NamedCommunicationType(shown), op.ts, op.ts + op.dur});
  }
  if (!part.Rows<CollectiveTime>().empty())
    part.Rows<HostOfRank>().push_back({recipes::HostOf(data)});
}

Clocks FindClocks(std::span<const RankPart> ranks, const ModeOptions& options, Outcome& outcome) {
  Clocks clocks;
  const std::vector<Member> members = MembersOf(ranks);
  std::vector<recipes::RankOnHost> on_hosts;
  for (const Member& member : members) on_hosts.push_back(member.on_host);
  const auto found = recipes::FindHostClocks(on_hosts);
  if (std::ranges::all_of(found, [](const auto& one) { return one.ahead_ns == 0; })) return clocks;
  for (const recipes::HostClock& clock : found) {
    std::vector<int32_t> own;
    for (const size_t place : clock.ranks) own.push_back(members[place].rank);
    const bool is_corrected = clock.ahead_ns != 0 && !IsGiven(options.values, kKeepClocks);
    clocks.rows.push_back({.host = NameOf(clock, members),
                           .ranks = Listed(own),
                           .ahead_ns = clock.ahead_ns,
                           .deviation_ns = clock.deviation_ns,
                           .count = static_cast<int64_t>(clock.count),
                           .is_corrected = is_corrected});
    if (clock.ahead_ns == 0) continue;
    outcome.notices.push_back(DescribeClockRow(clocks.rows.back(), NameOf(found.front(), members)));
    if (!is_corrected) continue;
    for (const int32_t rank : own) clocks.ahead_ns[rank] = clock.ahead_ns;
  }
  return clocks;
}

}  // namespace sonde::cluster
