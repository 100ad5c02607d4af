#include "cluster/frame/clocks.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/strings.h"
#include "cluster/frame/facts.h"
#include "cluster/frame/say.h"
#include "recipes/trace/device_view.h"

namespace sonde::cluster {
namespace {

using base::Concat;

constexpr int64_t kLeastNs = 1'000'000;
constexpr size_t kLeastCollectives = 3;

struct Host {
  std::string name;
  std::vector<int32_t> ranks;
  bool is_named = false;
};

// A collective: when each host began and was done, by number of the host.
struct Met {
  std::map<size_t, std::pair<int64_t, int64_t>> of_host;
};

bool NeedsAllRanks(std::string_view type) {
  constexpr std::array<std::string_view, 5> kKinds = {"allReduce", "allGather", "reduceScatter",
                                                      "alltoall", "barrier"};
  const std::string lower = base::ToLower(type);
  return std::ranges::any_of(kKinds, [&](std::string_view kind) {
    return lower.find(base::ToLower(kind)) != std::string::npos;
  });
}

std::string HostOf(const recipes::TraceData& data) {
  const auto uid = data.metadata.find("host_uid");  // in quotes
  if (uid != data.metadata.end() && uid->second.size() > 2) {
    return uid->second.substr(1, uid->second.size() - 2);
  }
  for (const store::ProcessRow& process : data.processes) {
    if (!data.Name(process.host).empty()) return std::string(data.Name(process.host));
  }
  return {};
}

std::vector<Host> HostsOf(std::span<const RankPart> ranks) {
  std::vector<Host> hosts;
  for (const RankPart& rank : ranks) {
    const auto& names = rank.part.Rows<HostOfRank>();
    if (names.empty()) continue;
    const bool is_named = !names.front().name.empty();
    const std::string name =
        is_named ? names.front().name : Concat("rank ", std::to_string(rank.rank));
    const auto found = std::ranges::find(hosts, name, &Host::name);
    if (found != hosts.end()) {
      found->ranks.push_back(rank.rank);
    } else {
      hosts.push_back({.name = name, .ranks = {rank.rank}, .is_named = is_named});
    }
  }
  return hosts;
}

using OfRank = std::pair<size_t, std::vector<const CollectiveTime*>>;  // host, in order of time

// Those of which the n-th of each rank is the same.
std::vector<Met> MetBy(std::span<const RankPart> ranks, const std::vector<Host>& hosts) {
  std::map<std::pair<std::string, std::string>, std::map<int32_t, OfRank>> types;
  for (const RankPart& rank : ranks) {
    for (const CollectiveTime& one : rank.part.Rows<CollectiveTime>()) {
      if (!NeedsAllRanks(one.type)) continue;
      OfRank& list = types[{one.group_name, one.type}][rank.rank];
      list.first = static_cast<size_t>(std::ranges::find_if(hosts,
                                                            [&](const Host& host) {
                                                              return std::ranges::find(host.ranks,
                                                                                       rank.rank) !=
                                                                     host.ranks.end();
                                                            }) -
                                       hosts.begin());
      list.second.push_back(&one);
    }
  }
  std::vector<Met> all;
  for (auto& [key, by_rank] : types) {
    const size_t count = by_rank.begin()->second.second.size();
    const bool is_even = std::ranges::all_of(
        by_rank, [&](const auto& one) { return one.second.second.size() == count; });
    if (!is_even) continue;
    const size_t first = all.size();
    all.resize(first + count);
    for (auto& [rank, list] : by_rank) {
      std::ranges::stable_sort(list.second, {}, &CollectiveTime::begin_ns);
      for (size_t i = 0; i < count; ++i) {
        const CollectiveTime& time = *list.second[i];
        const auto [found, is_new] =
            all[first + i].of_host.try_emplace(list.first, time.begin_ns, time.end_ns);
        if (is_new) continue;
        found->second.first = std::min(found->second.first, time.begin_ns);
        found->second.second = std::max(found->second.second, time.end_ns);
      }
    }
  }
  return all;
}

int64_t MedianOf(std::vector<int64_t> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

struct Ahead {
  int64_t ns = 0;
  int64_t deviation_ns = 0;
  size_t count = 0;
};
using Known = std::map<size_t, Ahead>;  // by host

// Of a host beside those that are known; none where it has met them too seldom.
std::optional<Ahead> AheadOf(size_t host, bool is_named, const std::vector<Met>& all,
                             const Known& known) {
  std::vector<int64_t> differences;
  size_t impossible = 0;
  for (const Met& met : all) {
    const auto own = met.of_host.find(host);
    if (own == met.of_host.end()) continue;
    std::optional<std::pair<int64_t, int64_t>> others;
    for (const auto& [other, times] : met.of_host) {
      const auto found = known.find(other);
      if (found == known.end()) continue;
      const std::pair moved(times.first - found->second.ns, times.second - found->second.ns);
      if (!others) others = moved;
      others =
          std::pair(std::min(others->first, moved.first), std::max(others->second, moved.second));
    }
    if (!others) continue;
    differences.push_back(own->second.second - others->second);
    impossible += own->second.second < others->first || others->second < own->second.first;
  }
  if (differences.size() < kLeastCollectives) return std::nullopt;
  Ahead ahead{.ns = MedianOf(differences), .count = differences.size()};
  std::vector<int64_t> deviations;
  for (const int64_t one : differences) deviations.push_back(std::abs(one - ahead.ns));
  ahead.deviation_ns = MedianOf(std::move(deviations));
  const int64_t size = std::abs(ahead.ns);
  const bool is_sure = size >= kLeastNs && 4 * ahead.deviation_ns <= size &&
                       (is_named || 2 * impossible >= differences.size());
  if (!is_sure) ahead.ns = 0;
  return ahead;
}

Known FindAll(const std::vector<Host>& hosts, const std::vector<Met>& all) {
  Known known;
  if (!hosts.empty()) known[0] = {};
  for (bool is_new = true; is_new;) {
    is_new = false;
    for (size_t host = 0; host < hosts.size(); ++host) {
      if (known.contains(host)) continue;
      const auto ahead = AheadOf(host, hosts[host].is_named, all, known);
      if (!ahead) continue;
      known[host] = *ahead;
      is_new = true;
    }
  }
  return known;
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
  if (!part.Rows<CollectiveTime>().empty()) part.Rows<HostOfRank>().push_back({HostOf(data)});
}

Clocks FindClocks(std::span<const RankPart> ranks, const ModeOptions& options, Outcome& outcome) {
  Clocks clocks;
  const std::vector<Host> hosts = HostsOf(ranks);
  const Known known = FindAll(hosts, MetBy(ranks, hosts));
  const bool is_found =
      std::ranges::any_of(known, [](const auto& one) { return one.second.ns != 0; });
  if (!is_found) return clocks;
  for (const auto& [host, ahead] : known) {
    const bool is_corrected = ahead.ns != 0 && !options.keeps_clocks;
    clocks.rows.push_back({.host = hosts[host].name,
                           .ranks = Listed(hosts[host].ranks),
                           .ahead_ns = ahead.ns,
                           .deviation_ns = ahead.deviation_ns,
                           .count = static_cast<int64_t>(ahead.count),
                           .is_corrected = is_corrected});
    if (ahead.ns == 0) continue;
    outcome.notices.push_back(
        Concat("the clock of ", hosts[host].name, " (rank ", Listed(hosts[host].ranks), ") is ",
               Duration(static_cast<double>(std::abs(ahead.ns))),
               ahead.ns > 0 ? " ahead of" : " behind", " that of ", hosts[0].name,
               is_corrected ? ": its times are moved by that; --keep_clocks leaves them"
                            : ": its times are left as they are"));
    if (!is_corrected) continue;
    for (const int32_t rank : hosts[host].ranks) clocks.ahead_ns[rank] = ahead.ns;
  }
  return clocks;
}

}  // namespace sonde::cluster
