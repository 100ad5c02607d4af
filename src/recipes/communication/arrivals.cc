#include "recipes/communication/arrivals.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "base/hash.h"
#include "recipes/communication/host_clocks.h"
#include "recipes/communication/naming.h"

namespace sonde::recipes {
namespace {

bool NeedsAllRanks(std::string_view kind) {
  constexpr std::string_view kKinds[] = {"allReduce", "allGather", "reduceScatter",
                                         "alltoall",  "alltoallv", "barrier"};
  return std::ranges::find(kKinds, kind) != std::end(kKinds);
}

std::string_view RanksOf(const TraceData& data, uint64_t group_hash) {
  for (const CommunicationGroup& group : data.groups) {
    if (group.hash == group_hash) return group.rank_list;
  }
  return {};
}

// The collectives of one group on one rank.
struct Lane {
  size_t rank = 0;  // place in `ranks`
  std::vector<const CollectiveArrival*> calls;
  size_t next = 0;

  const CollectiveArrival& Call() const { return *calls[next]; }
  bool IsDone() const { return next == calls.size(); }
};

class GroupMatch {
 public:
  GroupMatch(std::vector<Lane>& lanes, std::vector<RankWaits>& waits)
      : lanes_(lanes), waits_(waits) {}

  void Run() {
    while (std::ranges::none_of(lanes_, &Lane::IsDone)) {
      const bool is_same = std::ranges::all_of(
          lanes_, [&](const Lane& lane) { return lane.Call().call == lanes_[0].Call().call; });
      const int64_t latest_ns = Ends(&CollectiveArrival::ts, /*greatest=*/true);
      const int64_t first_end_ns = Ends(&CollectiveArrival::end_ns, /*greatest=*/false);
      if (is_same && latest_ns <= first_end_ns) {
        Match(latest_ns);
      } else {
        // What ended before another began lacks that one; of different calls the earliest has none.
        Skip(latest_ns <= first_end_ns ? &CollectiveArrival::ts : &CollectiveArrival::end_ns);
      }
    }
    for (Lane& lane : lanes_) {
      waits_[lane.rank].unmatched += static_cast<int64_t>(lane.calls.size() - lane.next);
    }
  }

 private:
  int64_t Ends(int64_t CollectiveArrival::* member, bool greatest) const {
    int64_t value = lanes_[0].Call().*member;
    for (const Lane& lane : lanes_) {
      const int64_t own = lane.Call().*member;
      value = greatest ? std::max(value, own) : std::min(value, own);
    }
    return value;
  }

  void Match(int64_t latest_ns) {
    for (Lane& lane : lanes_) {
      const CollectiveArrival& call = lane.Call();
      RankWaits& waits = waits_[lane.rank];
      const int64_t wait_ns = latest_ns - call.ts;
      waits.waits_ns[call.index] = wait_ns;
      waits.wait_ns += wait_ns;
      waits.elapse_ns += call.end_ns - call.ts;
      ++waits.matched;
      ++lane.next;
    }
  }

  void Skip(int64_t CollectiveArrival::* member) {
    const auto first = std::ranges::min_element(
        lanes_, [&](const Lane& a, const Lane& b) { return a.Call().*member < b.Call().*member; });
    ++waits_[first->rank].unmatched;
    ++first->next;
  }

  std::vector<Lane>& lanes_;
  std::vector<RankWaits>& waits_;
};

// Whether every rank of the group is here, each once.
bool IsWhole(std::span<const RankArrivals> ranks, const std::vector<Lane>& lanes) {
  std::set<int64_t> numbers;
  const int64_t recorded = lanes[0].calls[0]->rank_size;
  const int64_t size = recorded > 0 ? recorded : ranks[lanes[0].rank].world;
  for (const Lane& lane : lanes) {
    numbers.insert(ranks[lane.rank].rank);
    if (ranks[lane.rank].rank < 0) return false;
  }
  return size > 1 && lanes.size() == static_cast<size_t>(size) && numbers.size() == lanes.size();
}

}  // namespace

RankArrivals ArrivalsOf(const DeviceView& view) {
  const TraceData& data = *view.data;
  RankArrivals arrivals;
  arrivals.rank = view.settings.rank.value_or(-1);
  arrivals.world = view.settings.world_size;
  arrivals.host = HostOf(data);
  arrivals.operation_count = data.communications.size();
  for (size_t i = 0; i < data.communications.size(); ++i) {
    const store::CommunicationOpRow& op = data.communications[i];
    const std::string_view kind = HcomKind(data.Name(op.op_type));
    // What an accelerator measured itself stays; what had not ended has no end.
    if (op.transit_ns >= 0 || op.wait_ns >= 0 || op.dur < 0 || !NeedsAllRanks(kind)) continue;
    CollectiveArrival arrival;
    const uint64_t hash = view.communications[i].group_hash;
    arrival.group = base::HashString(RanksOf(data, hash), hash);
    arrival.call = base::HashString(kind);
    if (kind == "allReduce") {
      arrival.call = base::HashCombine(arrival.call, static_cast<uint64_t>(op.count));
    }
    arrival.ts = op.ts;
    arrival.end_ns = op.ts + op.dur;
    arrival.rank_size = op.rank_size;
    arrival.index = static_cast<uint32_t>(i);
    arrivals.collectives.push_back(arrival);
  }
  return arrivals;
}

std::vector<RankWaits> WaitsOf(std::span<const RankArrivals> ranks) {
  std::vector<RankWaits> waits(ranks.size());
  std::map<std::pair<int64_t, uint64_t>, std::vector<Lane>> groups;  // by run and group
  for (size_t i = 0; i < ranks.size(); ++i) {
    std::map<uint64_t, Lane> lanes;
    for (const CollectiveArrival& call : ranks[i].collectives) {
      Lane& lane = lanes[call.group];
      lane.rank = i;
      lane.calls.push_back(&call);
    }
    for (auto& [group, lane] : lanes) groups[{ranks[i].run, group}].push_back(std::move(lane));
  }
  for (auto& [key, lanes] : groups) {
    if (!IsWhole(ranks, lanes)) {
      for (const Lane& lane : lanes) {
        waits[lane.rank].alone += static_cast<int64_t>(lane.calls.size());
      }
      continue;
    }
    for (const Lane& lane : lanes) {
      waits[lane.rank].waits_ns.resize(ranks[lane.rank].operation_count, -1);
    }
    GroupMatch(lanes, waits).Run();
  }
  return waits;
}

}  // namespace sonde::recipes
