#include "recipes/finding/slow_rank.h"

#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "recipes/slow_rank/slow_ranks.h"

namespace sonde::recipes {

Result<TraceFindings> FindingsOf(const store::Store& store) {
  SONDE_ASSIGN_OR_RETURN(const TraceData data,
                         TraceData::Load(store, /*threads=*/0, kSlowRankNeeds));
  const auto view = DeviceView::Make(data);
  return TraceFindings{FindingsOf(view), WorkOf(view)};
}

std::vector<Finding> SlowRanksOrNone(std::span<const RankWork> ranks) {
  std::map<int64_t, std::vector<const RankWork*>> runs;
  for (const RankWork& rank : ranks) {
    if (rank.rank >= 0 && !rank.Rows<slow_rank::WorkStep>().empty()) {
      runs[rank.run].push_back(&rank);
    }
  }
  std::vector<Finding> findings;
  for (const auto& [run, works] : runs) {
    std::set<int64_t> numbers;
    for (const RankWork* work : works) numbers.insert(work->rank);
    if (works.size() < 2 || numbers.size() < works.size()) continue;
    auto of_run = slow_rank::FindingsOf(slow_rank::FindSlowRanks(works));
    std::move(of_run.begin(), of_run.end(), std::back_inserter(findings));
  }
  return findings;
}

std::vector<Finding> SlowRanks(std::span<const RankWork> ranks) {
  std::vector<Finding> findings = SlowRanksOrNone(ranks);
  std::erase_if(findings, [](const Finding& one) { return !slow_rank::NamesCause(one); });
  return findings;
}

}  // namespace sonde::recipes
