// freq_analysis: ranks whose AI cores ran at other frequencies than the chip's own.
//
//   {1800} MHz alone       as it should be: no row
//   {800, 1800} MHz        FreeFrequencyRanks: the chip idled between, and saved power
//   anything else          AbnormalFrequencyRanks
// These are the reference's numbers and those of one family of chips: of another every rank is
// abnormal, and the finding names the ranks that differ. Pure, any thread.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/strings.h"
#include "cluster/frame/add_finding.h"
#include "cluster/frame/mode.h"
#include "recipes/trace/part_needs.h"

namespace sonde::cluster {
namespace {

#define SONDE_COLUMNS_FREQUENCY(C)                             \
  C(rank, Int, "rankId", "", "", KeyOf("rank"), "global rank") \
  C(mhz, Text, "aicoreFrequency", "", "MHz", kLabel, "frequencies that it ran at, a list")
SONDE_CLUSTER_TABLE(FreeFrequencyRow, kFreeFrequency, "free_frequency_ranks", "FreeFrequencyRanks",
                    "free_frequency_ranks", SONDE_COLUMNS_FREQUENCY, "ranks that idled between")
SONDE_CLUSTER_TABLE(AbnormalFrequencyRow, kAbnormalFrequency, "abnormal_frequency_ranks",
                    "AbnormalFrequencyRanks", "abnormal_frequency_ranks", SONDE_COLUMNS_FREQUENCY,
                    "ranks that ran at other frequencies")

struct Frequency {
  int64_t mhz = 0;
};

Status MapFreqAnalysis(const RankInput& rank, Part& part) {
  const recipes::TraceData& data = rank.data();
  std::set<int64_t> found;
  for (const store::CounterRow& counter : data.counters) {
    const store::TrackRow& track = data.tracks[static_cast<size_t>(counter.track_id)];
    const bool is_frequency = store::IsCoreFrequency(data.Name(track.name));
    if (is_frequency && rank.window.Has(counter.ts)) {
      found.insert(static_cast<int64_t>(counter.value));
    }
  }
  for (const int64_t mhz : found) part.Rows<Frequency>().push_back({mhz});
  return {};
}

// Frequencies that most ranks have are not reported.
void ReportFrequencies(std::span<const RankPart> ranks, const std::map<std::string, int>& counts,
                       Outcome& outcome) {
  const auto most =
      std::max_element(counts.begin(), counts.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (counts.size() == 1) {
    AddFinding(outcome, "cluster.even_frequency", {most->first}, kAbnormalFrequency);
    return;
  }
  for (const RankPart& rank : ranks) {
    std::vector<std::string> list;
    for (const Frequency& one : rank.part.Rows<Frequency>()) {
      list.push_back(std::to_string(one.mhz));
    }
    const std::string text = base::Join(list, ", ");
    if (text == most->first) continue;
    const bool is_idling = text == "800, 1800";
    recipes::Finding& finding =
        is_idling ? AddFinding(outcome, "cluster.idle_frequency", {std::to_string(rank.rank)},
                               kFreeFrequency)
                  : AddFinding(outcome, "cluster.other_frequency",
                               {std::to_string(rank.rank), text, most->first}, kAbnormalFrequency);
    finding.rank = rank.rank;
    if (!is_idling) finding.severity = "warning";
  }
}

Status ReduceFreqAnalysis(std::span<const RankPart> ranks, const ModeOptions& /*options*/,
                          Outcome& outcome) {
  const std::vector<std::string> own = {"1800"};
  const std::vector<std::string> with_idling = {"800", "1800"};
  std::vector<FreeFrequencyRow> idling;
  std::vector<AbnormalFrequencyRow> abnormal;
  std::map<std::string, int> counts;
  for (const RankPart& rank : ranks) {
    std::vector<std::string> list;
    for (const Frequency& one : rank.part.Rows<Frequency>()) {
      list.push_back(std::to_string(one.mhz));
    }
    const std::string text = base::Concat("[", base::Join(list, ", "), "]");
    ++counts[base::Join(list, ", ")];
    if (list == with_idling) {
      idling.push_back({.rank = rank.rank, .mhz = text});
    } else if (list != own) {
      abnormal.push_back({.rank = rank.rank, .mhz = text});
    }
  }
  outcome.tables = {TableOf(kFreeFrequency, idling), TableOf(kAbnormalFrequency, abnormal)};
  ReportFrequencies(ranks, counts, outcome);
  return {};
}

constexpr std::array kFreqAnalysisTables = {&kFreeFrequency, &kAbnormalFrequency};

}  // namespace

extern const Mode kFreqAnalysisMode;
constexpr Mode kFreqAnalysisMode = {
    .name = "freq_analysis",
    .folder = "FreqAnalysis",
    .summary = "Ranks whose AI cores ran at other frequencies than the chip's own",
    .tables = kFreqAnalysisTables,
    .needs = recipes::ReadsCoreFrequency(),
    .wants = "frequencies of the AI cores (an Ascend recording of --profile-level level1)",
    .map = &MapFreqAnalysis,
    .reduce = &ReduceFreqAnalysis};

}  // namespace sonde::cluster
