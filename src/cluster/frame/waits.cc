#include "cluster/frame/waits.h"

#include <utility>

#include "recipes/communication/arrivals.h"
#include "recipes/communication/host_clocks.h"

namespace sonde::cluster {
namespace {

struct CollectivesOfRank {
  int64_t run = 0;
  int64_t rank = -1;
  int64_t world = -1;
  std::string host;
  int64_t operation_count = 0;
};

struct WaitsOfRank {
  std::vector<int64_t> waits_ns;
};

}  // namespace

void KeepArrivals(const job::TraceInHand& trace, Part& part) {
  recipes::RankArrivals arrivals = recipes::ArrivalsOf(trace.View(kArrivalNeeds));
  part.Rows<CollectivesOfRank>().push_back(
      {.run = trace.label.run,
       .rank = arrivals.rank,
       .world = arrivals.world,
       .host = std::move(arrivals.host),
       .operation_count = static_cast<int64_t>(arrivals.operation_count)});
  part.Rows<recipes::CollectiveArrival>() = std::move(arrivals.collectives);
}

ShuffledWaits ShuffleWaits(std::span<const Part* const> ranks, bool keeps_clocks) {
  std::vector<recipes::RankArrivals> arrivals;
  for (const Part* rank : ranks) {
    recipes::RankArrivals& own = arrivals.emplace_back();
    for (const CollectivesOfRank& facts : rank->Rows<CollectivesOfRank>()) {
      own = {.run = facts.run,
             .rank = facts.rank,
             .world = facts.world,
             .host = facts.host,
             .operation_count = static_cast<size_t>(facts.operation_count),
             .collectives = rank->Rows<recipes::CollectiveArrival>()};
    }
  }
  ShuffledWaits shuffled;
  if (!keeps_clocks) shuffled.notices = recipes::CorrectClocks(arrivals);
  std::vector<recipes::RankWaits> waits = recipes::WaitsOf(arrivals);
  for (recipes::RankWaits& of_rank : waits) {
    shuffled.parts.emplace_back().Rows<WaitsOfRank>().push_back({std::move(of_rank.waits_ns)});
  }
  return shuffled;
}

std::span<const int64_t> WaitsIn(const Part& part) {
  const auto& rows = part.Rows<WaitsOfRank>();
  return rows.empty() ? std::span<const int64_t>() : rows.front().waits_ns;
}

}  // namespace sonde::cluster
