#include "recipes/communication/host_clocks.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/hash.h"
#include "base/strings.h"

namespace sonde::recipes {
namespace {

constexpr int64_t kLeastNs = 1'000'000;
constexpr int64_t kLeastSureNs = 50'000;
constexpr size_t kLeastCollectives = 3;
constexpr int64_t kAlike = 4;  // a quarter
constexpr int64_t kSame = 20;

// A collective: when each host began and was done, by number of the host.
struct Met {
  std::map<size_t, std::pair<int64_t, int64_t>> of_host;
};

std::vector<HostClock> HostsOf(std::span<const RankOnHost> ranks) {
  std::vector<HostClock> hosts;
  for (size_t i = 0; i < ranks.size(); ++i) {
    const auto found = ranks[i].host.empty()
                           ? hosts.end()
                           : std::ranges::find(hosts, ranks[i].host, &HostClock::host);
    if (found != hosts.end()) {
      found->ranks.push_back(i);
    } else {
      hosts.push_back({.host = ranks[i].host, .ranks = {i}});
    }
  }
  return hosts;
}

using OfRank = std::vector<const HostCollective*>;

void Meet(size_t host, const HostCollective& time, Met& met) {
  const auto [found, is_new] = met.of_host.try_emplace(host, time.begin_ns, time.end_ns);
  if (is_new) return;
  found->second.first = std::min(found->second.first, time.begin_ns);
  found->second.second = std::max(found->second.second, time.end_ns);
}

// Those of which the n-th of each rank is the same.
std::vector<Met> MetBy(std::span<const RankOnHost> ranks, const std::vector<HostClock>& hosts) {
  std::vector<size_t> host_of(ranks.size());
  for (size_t host = 0; host < hosts.size(); ++host) {
    for (const size_t rank : hosts[host].ranks) host_of[rank] = host;
  }
  std::map<uint64_t, std::map<size_t, OfRank>> kinds;  // by rank
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    for (const HostCollective& one : ranks[rank].collectives) {
      kinds[one.kind][rank].push_back(&one);
    }
  }
  std::vector<Met> all;
  for (auto& [kind, by_rank] : kinds) {
    const size_t count = by_rank.begin()->second.size();
    const bool is_even =
        std::ranges::all_of(by_rank, [&](const auto& one) { return one.second.size() == count; });
    if (!is_even) continue;
    const size_t first = all.size();
    all.resize(first + count);
    for (auto& [rank, list] : by_rank) {
      std::ranges::stable_sort(list, {}, &HostCollective::begin_ns);
      for (size_t i = 0; i < count; ++i) Meet(host_of[rank], *list[i], all[first + i]);
    }
  }
  return all;
}

int64_t MedianOf(std::vector<int64_t> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

using Known = std::map<size_t, HostClock>;  // by number of the host

// When hosts that are known began the collective and were done, by the first one's clock.
std::optional<std::pair<int64_t, int64_t>> OthersIn(const Met& met, const Known& known) {
  std::optional<std::pair<int64_t, int64_t>> others;
  for (const auto& [other, times] : met.of_host) {
    const auto found = known.find(other);
    if (found == known.end()) continue;
    const int64_t ahead_ns = found->second.ahead_ns;
    const std::pair moved(times.first - ahead_ns, times.second - ahead_ns);
    if (!others) others = moved;
    others =
        std::pair(std::min(others->first, moved.first), std::max(others->second, moved.second));
  }
  return others;
}

// How far a host lies from the others in a collective.
struct ClockDifference {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  bool is_impossible = false;
};

int64_t MedianOfDifferences(const std::vector<ClockDifference>& list,
                            int64_t ClockDifference::* member) {
  std::vector<int64_t> values;
  for (const ClockDifference& one : list) values.push_back(one.*member);
  return MedianOf(std::move(values));
}

// Whether the clock makes it, and not who came or ended late.
bool IsClock(const HostClock& host, const std::vector<ClockDifference>& differences) {
  const int64_t size = std::abs(host.ahead_ns);
  if (size < kLeastSureNs || kAlike * host.deviation_ns > size) return false;
  if (size >= kLeastNs && !host.host.empty()) return true;
  size_t impossible = 0;
  size_t alike = 0;
  for (const ClockDifference& one : differences) {
    impossible += one.is_impossible ? 1 : 0;
    alike += kAlike * std::abs(one.begin_ns - host.ahead_ns) <= size ? 1 : 0;
  }
  if (size >= kLeastNs && 2 * impossible >= differences.size()) return true;
  if (alike >= kLeastCollectives && 4 * alike >= differences.size()) return true;
  const int64_t begins_ns = MedianOfDifferences(differences, &ClockDifference::begin_ns);
  return kSame * host.deviation_ns <= size && kAlike * std::abs(begins_ns) > size;
}

// Of a host relative to those that are known; none where they share too few collectives.
std::optional<HostClock> ClockOf(size_t number, HostClock host, const std::vector<Met>& all,
                                 const Known& known) {
  std::vector<ClockDifference> differences;
  for (const Met& met : all) {
    const auto own = met.of_host.find(number);
    if (own == met.of_host.end()) continue;
    const auto others = OthersIn(met, known);
    if (!others) continue;
    const auto [begin_ns, end_ns] = own->second;
    differences.push_back({.begin_ns = begin_ns - others->first,
                           .end_ns = end_ns - others->second,
                           .is_impossible = end_ns < others->first || others->second < begin_ns});
  }
  if (differences.size() < kLeastCollectives) return std::nullopt;
  host.ahead_ns = MedianOfDifferences(differences, &ClockDifference::end_ns);
  host.count = differences.size();
  std::vector<int64_t> deviations;
  for (const ClockDifference& one : differences) {
    deviations.push_back(std::abs(one.end_ns - host.ahead_ns));
  }
  host.deviation_ns = MedianOf(std::move(deviations));
  if (!IsClock(host, differences)) host.ahead_ns = 0;
  return host;
}

std::vector<RankOnHost> OnHosts(const std::vector<RankArrivals*>& ranks) {
  std::vector<RankOnHost> on_hosts;
  for (const RankArrivals* rank : ranks) {
    RankOnHost& own = on_hosts.emplace_back(RankOnHost{.host = rank->host, .collectives = {}});
    for (const CollectiveArrival& call : rank->collectives) {
      own.collectives.push_back({base::HashCombine(call.group, call.call), call.ts, call.end_ns});
    }
  }
  return on_hosts;
}

void Move(RankArrivals& rank, int64_t by_ns) {
  for (CollectiveArrival& call : rank.collectives) {
    call.ts += by_ns;
    call.end_ns += by_ns;
  }
}

std::string RanksOf(const HostClock& clock, const std::vector<RankArrivals*>& ranks) {
  std::vector<std::string> numbers;
  for (const size_t place : clock.ranks) numbers.push_back(std::to_string(ranks[place]->rank));
  return base::Join(numbers, ",");
}

std::string NameOf(const HostClock& clock, const std::vector<RankArrivals*>& ranks) {
  if (!clock.host.empty()) return clock.host;
  return base::Concat("rank ", std::to_string(ranks[clock.ranks.front()]->rank));
}

}  // namespace

std::vector<HostClock> FindHostClocks(std::span<const RankOnHost> ranks) {
  const std::vector<HostClock> hosts = HostsOf(ranks);
  const std::vector<Met> all = MetBy(ranks, hosts);
  Known known;
  if (!hosts.empty()) known[0] = hosts[0];
  for (bool is_new = true; is_new;) {
    is_new = false;
    for (size_t number = 0; number < hosts.size(); ++number) {
      if (known.contains(number)) continue;
      auto clock = ClockOf(number, hosts[number], all, known);
      if (!clock) continue;
      known[number] = *std::move(clock);
      is_new = true;
    }
  }
  std::vector<HostClock> clocks;
  for (auto& [number, clock] : known) clocks.push_back(std::move(clock));
  return clocks;
}

std::string HostOf(const TraceData& data) {
  const auto uid = data.metadata.find("host_uid");  // in quotes
  if (uid != data.metadata.end() && uid->second.size() > 2) {
    return uid->second.substr(1, uid->second.size() - 2);
  }
  for (const store::ProcessRow& process : data.processes) {
    if (!data.Name(process.host).empty()) return std::string(data.Name(process.host));
  }
  return {};
}

std::string DescribeClock(std::string_view host, std::string_view ranks, int64_t ahead_ns,
                          std::string_view first_host) {
  // Of a rank whose host is not known that stands for it.
  const bool is_host = host != base::Concat("rank ", ranks);
  return base::Concat("the clock of ", host, is_host ? base::Concat(" (rank ", ranks, ")") : "",
                      " is ", base::FormatDuration(std::abs(ahead_ns)),
                      ahead_ns > 0 ? " ahead of" : " behind", " that of ", first_host);
}

std::vector<std::string> CorrectClocks(std::span<RankArrivals> ranks) {
  std::map<int64_t, std::vector<RankArrivals*>> runs;
  for (RankArrivals& rank : ranks) runs[rank.run].push_back(&rank);
  std::vector<std::string> lines;
  for (auto& [run, members] : runs) {
    // Whose clock is taken for right does not depend on the order in which ranks were opened.
    std::ranges::stable_sort(members, {}, &RankArrivals::rank);
    const std::vector<HostClock> clocks = FindHostClocks(OnHosts(members));
    for (const HostClock& clock : clocks) {
      if (clock.ahead_ns == 0) continue;
      for (const size_t place : clock.ranks) Move(*members[place], -clock.ahead_ns);
      lines.push_back(base::Concat(DescribeClock(NameOf(clock, members), RanksOf(clock, members),
                                                 clock.ahead_ns, NameOf(clocks.front(), members)),
                                   ": waits for ranks are computed without that"));
    }
  }
  return lines;
}

}  // namespace sonde::recipes
