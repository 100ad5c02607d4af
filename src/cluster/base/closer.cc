// Which rank is slow, and why: the delivered tables show which traces are worth reading, and a few
// of these are read.
#include <algorithm>
#include <iterator>
#include <optional>

#include "base/count_of.h"
#include "base/strings.h"
#include "cluster/base/base.h"
#include "cluster/frame/add_finding.h"
#include "cluster/frame/facts.h"
#include "cluster/frame/other_run.h"
#include "cluster/slow_rank/reasons.h"
#include "recipes/slow_rank/link.h"

namespace sonde::cluster {

extern const Mode kSlowRankMode;

namespace {

using base::Concat;
using recipes::slow_rank::kExcessShare;
using recipes::slow_rank::kLinkShare;
using recipes::slow_rank::MedianOf;

constexpr size_t kMostRanks = 16;  // that are looked into

// Mean step, in us.
struct Delivery {
  int32_t rank = 0;
  double own = 0;  // without waiting
  double exposed = 0;
  double transit = 0;
};

std::optional<Delivery> DeliveryOf(const RankPart& rank) {
  const auto steps = StepsThatCount(rank);
  if (steps.empty()) return std::nullopt;
  const auto count = static_cast<double>(steps.size());
  Delivery delivery{.rank = rank.rank};
  for (const DeliveredStep* step : steps) {
    delivery.own += (step->us[kComputing] + step->us[kFree]) / count;
    delivery.exposed += step->us[kNotOverlapped] / count;
  }
  for (const DeliveredTime& time : rank.part.Rows<DeliveredTime>()) {
    delivery.transit += 1e3 * time.transit_ms / count;
  }
  return delivery;
}

template <class Get>
double MedianOfOthers(const std::vector<Delivery>& list, size_t without, const Get& get) {
  std::vector<double> values;
  for (size_t i = 0; i < list.size(); ++i) {
    if (i != without) values.push_back(get(list[i]));
  }
  return MedianOf(std::move(values));
}

struct Suspect {
  size_t place = 0;
  double lost_us = 0;
};

// The rank of a stage that the others may wait for, or whose transfers may be slow.
std::optional<Suspect> SuspectOf(const std::vector<Delivery>& stage) {
  std::optional<Suspect> suspect;
  for (size_t i = 0; i < stage.size() && stage.size() > 1; ++i) {
    const double own = MedianOfOthers(stage, i, [](const Delivery& one) { return one.own; });
    const double waited =
        MedianOfOthers(stage, i, [](const Delivery& one) { return one.exposed; }) -
        stage[i].exposed;
    const double transit =
        MedianOfOthers(stage, i, [](const Delivery& one) { return one.transit; });
    const double longer =
        stage[i].transit > (1 + kLinkShare) * transit ? stage[i].transit - transit : 0;
    const double lost = std::max(std::min(waited, stage[i].own - own), longer);
    if (lost < kExcessShare * own || (suspect && lost <= suspect->lost_us)) continue;
    suspect = {i, lost};
  }
  return suspect;
}

// Ranks of no known stage are one.
std::vector<std::vector<Delivery>> ByStage(Ranks ranks, const std::vector<KnownGroup>& groups) {
  const auto stages = StagesOf(groups);
  std::vector<std::vector<Delivery>> lists(stages.size() + 1);
  for (const RankPart& rank : ranks) {
    const auto delivery = DeliveryOf(rank);
    if (!delivery) continue;
    size_t place = 0;
    while (place < stages.size() &&
           !std::binary_search(stages[place].begin(), stages[place].end(), rank.rank)) {
      ++place;
    }
    lists[place].push_back(*delivery);
  }
  return lists;
}

// The suspect and others of its stage, evenly among them.
std::vector<int32_t> RanksToLookInto(const std::vector<Delivery>& stage, size_t suspect) {
  std::vector<int32_t> ranks = {stage[suspect].rank};
  const size_t others = stage.size() - 1;
  const size_t wanted = std::min(others, kMostRanks - 1);
  for (size_t i = 0; i < wanted; ++i) {
    const size_t place = i * others / wanted;
    ranks.push_back(stage[place < suspect ? place : place + 1].rank);
  }
  return ranks;
}

// The answer is what the sentences begin with.
void PutFirst(Outcome closer, bool has_all, Outcome& outcome) {
  if (!has_all) {  // those that were not looked into are not missing
    std::erase_if(closer.findings,
                  [](const auto& finding) { return finding.text_key == "cluster.ranks_missing"; });
  }
  outcome.findings.insert(outcome.findings.begin(),
                          std::make_move_iterator(closer.findings.begin()),
                          std::make_move_iterator(closer.findings.end()));
  for (Table& table : closer.tables) {
    if (&table.info() == &kSlowCause && table.rows() > 0)
      outcome.tables.push_back(std::move(table));
  }
}

std::vector<int32_t> NumbersOf(Ranks ranks) {
  std::vector<int32_t> numbers;
  for (const RankPart& rank : ranks) numbers.push_back(rank.rank);
  return numbers;
}

}  // namespace

Status LookCloser(Ranks ranks, const std::vector<KnownGroup>& groups, const ModeOptions& options,
                  Outcome& outcome) {
  if (options.profiling_path.empty()) return {};  // who has no folder asks slow_rank itself
  const bool has_all = ranks.size() <= kMostRanks;
  if (ranks.size() < 2) return {};
  const auto stages = ByStage(ranks, groups);
  const std::vector<Delivery>* worst = nullptr;
  Suspect suspect;
  for (const std::vector<Delivery>& stage : stages) {
    const auto found = SuspectOf(stage);
    if (!found || (worst != nullptr && found->lost_us <= suspect.lost_us)) continue;
    worst = &stage;
    suspect = *found;
  }
  if (worst == nullptr) {
    Outcome none;
    size_t compared = 0;
    for (const auto& stage : stages) compared += stage.size() > 1 ? stage.size() : 0;
    if (compared == 0) return {};
    AddFinding(none, "cluster.no_slow_work",
               {std::to_string(compared), Fixed(100 * kExcessShare, 0)}, kClusterStep);
    PutFirst(std::move(none), has_all, outcome);
    return {};
  }
  const std::vector<int32_t> wanted =
      has_all ? NumbersOf(ranks) : RanksToLookInto(*worst, suspect.place);
  const auto parts = MapFolder(kSlowRankMode, options.profiling_path, wanted, options);
  if (!parts.ok()) {
    outcome.notices.push_back(
        Concat("others seem to wait for rank ", std::to_string((*worst)[suspect.place].rank),
               "; whether it is slow is unknown: ", parts.status().message()));
    return {};
  }
  Outcome closer;
  Explain(*parts, closer);
  if (!has_all && wanted.size() < worst->size() &&
      std::ranges::any_of(closer.findings, &NamesCause)) {
    outcome.notices.push_back(Concat("rank ", std::to_string((*worst)[suspect.place].rank),
                                     " was compared with ", std::to_string(wanted.size() - 1),
                                     " of ", base::CountOf(worst->size() - 1, "rank"),
                                     " of its stage (-m slow_rank takes all)"));
  }
  PutFirst(std::move(closer), has_all, outcome);
  return {};
}

}  // namespace sonde::cluster
