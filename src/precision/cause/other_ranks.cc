#include "precision/cause/other_ranks.h"

#include <algorithm>
#include <functional>
#include <string_view>

#include "base/strings.h"

namespace sonde::precision {
namespace {

uint64_t HashOf(std::string_view name) { return std::hash<std::string_view>{}(name); }

// Whether it may have come from another rank.
bool IsComputed(CauseKind kind) {
  return kind == CauseKind::kOperator || kind == CauseKind::kInput ||
         kind == CauseKind::kNotFinite || kind == CauseKind::kChecksum;
}

// Whether `other` differs at a call that this rank passed, and has not come to this rank's.
bool Precedes(const RankFinding& other, const RankFinding& rank) {
  const auto has = [](const RankFinding& finding, std::string_view call) {
    return std::binary_search(finding.agreed.begin(), finding.agreed.end(), HashOf(call));
  };
  return !other.call.empty() && other.call != rank.call && has(rank, other.call) &&
         !has(other, rank.call);
}

}  // namespace

RankFinding RankFindingOf(int64_t rank, const DumpFile& target, const Alignment& alignment,
                          FirstCause* cause) {
  RankFinding out;
  out.rank = rank;
  out.cause = cause;
  if (!cause->IsFinding() || cause->target_call == kNoCall) return out;
  out.call = std::string(target.apis()[static_cast<size_t>(cause->target_call)].name);
  for (const AlignedCall& call : alignment.calls) {
    if (call.target == cause->target_call) break;
    if (call.target == kNoCall) continue;
    out.agreed.push_back(HashOf(target.apis()[static_cast<size_t>(call.target)].name));
  }
  std::sort(out.agreed.begin(), out.agreed.end());
  return out;
}

void PutEarliestRankFirst(std::span<RankFinding> ranks) {
  std::vector<const RankFinding*> before(ranks.size(), nullptr);
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i].call.empty() || !IsComputed(ranks[i].cause->kind)) continue;
    for (const RankFinding& other : ranks) {
      if (!Precedes(other, ranks[i]) || other.cause->kind == CauseKind::kOtherRank) continue;
      if (before[i] == nullptr || Precedes(other, *before[i])) before[i] = &other;
    }
  }
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (before[i] == nullptr) continue;
    ranks[i].cause->evidence.push_back(
        base::Concat("rank ", std::to_string(before[i]->rank), " differs before, at ",
                     before[i]->call, ": begin there; it may have come by a collective"));
  }
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (before[i] != nullptr) ranks[i].cause->kind = CauseKind::kOtherRank;
  }
}

}  // namespace sonde::precision
