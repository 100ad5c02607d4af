#include "precision/analysis_over_ranks.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/files.h"
#include "base/strings.h"
#include "precision/analysis/difference_json.h"

namespace sonde::precision {

namespace {

using base::Concat;
using base::JoinPath;

}  // namespace

Status AnalysisOverRanks::Keep(const RankOfStep& place, DumpPair pair, Comparison comparison,
                               const FirstCause* cause) {
  Kept kept = {std::move(pair), std::move(comparison), {}, cause};
  kept.timeline = DifferenceTimeline(kept.comparison, *kept.pair.target.dump, {}, place.rank);
  SONDE_RETURN_IF_ERROR(WriteDifferenceJson(place.json_path, kept.comparison, kept.timeline,
                                            kept.pair.target.stack.get()));
  kept_[place.folder].push_back(std::move(kept));
  return Status::Ok();
}

// The calls of a rank with one wrong among them, the one where it differs first by cause.
RankTimeline AnalysisOverRanks::TimelineByCause(const Kept& rank) {
  RankTimeline out = rank.timeline;
  const FirstCause& cause = *rank.cause;
  // Without collectives in the timeline the search over ranks cannot find that by itself.
  const bool is_of_other =
      cause.kind == CauseKind::kOtherRank && rank.pair.target.dump->level() == "L0";
  const bool is_finding = cause.IsFinding() && !is_of_other;
  for (size_t g = 0; g < out.calls.size(); ++g) {
    const ComparedGroup& group = rank.comparison.groups[g];
    const DumpRow& first = *rank.comparison.rows[group.first_row].target;
    out.calls[g].wrong = is_finding && static_cast<int32_t>(first.api) == cause.target_call;
  }
  // Calls that only the golden run has, behind the target's last.
  const auto wrong = [](const TimelineCall& call) { return call.wrong; };
  if (is_finding && !out.calls.empty() && std::none_of(out.calls.begin(), out.calls.end(), wrong)) {
    out.calls.back().wrong = true;
  }
  return out;
}

Status AnalysisOverRanks::Write(std::vector<std::string>* lines,
                                std::vector<std::string>* files) const {
  for (const auto& [folder, ranks] : kept_) {
    std::vector<RankTimeline> timelines;
    std::vector<DifferenceRank> sources;
    for (const Kept& rank : ranks) {
      timelines.push_back(by_reference_ ? rank.timeline : TimelineByCause(rank));
      sources.push_back({&rank.comparison, rank.pair.target.stack.get(), rank.timeline});
    }
    const std::vector<FoundCall> found = FindFirstNodes(timelines, {});
    const std::string step = folder.empty() ? folder : Concat(folder, " ");
    if (found.empty()) {
      lines->push_back(Concat(step, "no call differs"));
      continue;
    }
    for (const FoundCall& call : found) {
      const RankTimeline& timeline = timelines[call.timeline];
      lines->push_back(Concat(step, "rank ", std::to_string(timeline.rank), ": ",
                              timeline.calls[call.call].name));
      if (by_reference_) continue;
      const FirstCause& cause = *ranks[call.timeline].cause;
      lines->push_back(Concat("  ", CauseText(cause.kind), ": ", cause.place));
    }
    const std::string path =
        JoinPath(JoinPath(output_path_, folder),
                 Concat("diff_analyze_", std::to_string(base::RealtimeNs()), ".json"));
    SONDE_RETURN_IF_ERROR(base::WriteFileAtomically(path, DifferenceReport(sources, found)));
    files->push_back(path);
  }
  return Status::Ok();
}

}  // namespace sonde::precision
