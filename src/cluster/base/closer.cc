// Which rank is slow, and why: the delivered tables show which traces are worth reading, and a few
// of these are read.
#include <algorithm>
#include <iterator>
#include <optional>

#include "base/strings.h"
#include "cluster/base/base.h"
#include "cluster/frame/other_run.h"
#include "cluster/slow_rank/excess.h"
#include "cluster/slow_rank/link.h"
#include "cluster/slow_rank/reasons.h"

namespace sonde::cluster {

extern const Mode kSlowRankMode;

namespace {

using base::Concat;

constexpr size_t kMostRanks = 16;  // that are looked into

// Mean step, in us.
struct Delivery {
  int32_t rank = 0;
  double own = 0;  // without waiting
  double exposed = 0;
  double transit = 0;
};

std::optional<Delivery> DeliveryOf(const RankPart& rank) {
  const auto& steps = rank.part.Rows<DeliveredStep>();
  if (steps.empty()) return std::nullopt;
  const auto count = static_cast<double>(steps.size());
  Delivery delivery{.rank = rank.rank};
  for (const DeliveredStep& step : steps) {
    delivery.own += (step.us[kComputing] + step.us[kFree]) / count;
    delivery.exposed += step.us[kNotOverlapped] / count;
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

// Begins with the causes; findings about the same ranks with less evidence are left out.
void PutFirst(Outcome closer, Outcome& outcome) {
  std::erase_if(closer.findings, [](const auto& finding) { return !TellsOfCause(finding); });
  if (closer.findings.empty()) return;
  std::erase_if(outcome.findings, [&](const recipes::Finding& finding) {
    const bool is_same =
        std::any_of(closer.findings.begin(), closer.findings.end(),
                    [&](const recipes::Finding& cause) { return cause.rank == finding.rank; });
    return finding.text_key == "cluster.no_slow_rank" || (finding.rule == "slow_rank" && is_same);
  });
  outcome.findings.insert(outcome.findings.begin(),
                          std::make_move_iterator(closer.findings.begin()),
                          std::make_move_iterator(closer.findings.end()));
  for (Table& table : closer.tables) {
    if (&table.info() == &kSlowCause) outcome.tables.push_back(std::move(table));
  }
}

}  // namespace

Status LookCloser(Ranks ranks, const std::vector<KnownGroup>& groups, const ModeOptions& options,
                  Outcome& outcome) {
  if (options.profiling_path.empty()) return {};  // who has no folder asks slow_rank itself
  const auto stages = ByStage(ranks, groups);
  const std::vector<Delivery>* worst = nullptr;
  Suspect suspect;
  for (const std::vector<Delivery>& stage : stages) {
    const auto found = SuspectOf(stage);
    if (!found || (worst != nullptr && found->lost_us <= suspect.lost_us)) continue;
    worst = &stage;
    suspect = *found;
  }
  if (worst == nullptr) return {};
  const std::vector<int32_t> wanted = RanksToLookInto(*worst, suspect.place);
  const std::string rank = std::to_string((*worst)[suspect.place].rank);
  const auto parts = MapFolder(kSlowRankMode, options.profiling_path, wanted, options);
  if (!parts.ok()) {
    outcome.notices.push_back(Concat("others wait for rank ", rank,
                                     "; the cause is unknown: ", parts.status().message()));
    return {};
  }
  if (wanted.size() < worst->size()) {
    outcome.notices.push_back(Concat(
        "others wait for rank ", rank, "; it was compared with ", std::to_string(wanted.size() - 1),
        " of ", std::to_string(worst->size() - 1), " of its stage (-m slow_rank compares all)"));
  }
  Outcome closer;
  Explain(*parts, closer);
  PutFirst(std::move(closer), outcome);
  return {};
}

}  // namespace sonde::cluster
