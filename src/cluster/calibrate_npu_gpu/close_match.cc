#include "cluster/calibrate_npu_gpu/close_match.h"

#include <cstddef>
#include <cstdint>

#include "base/host/common_runs.h"

namespace sonde::cluster {
namespace {

std::vector<int32_t> BytesOf(std::string_view text) { return {text.begin(), text.end()}; }

}  // namespace

double MatchRatio(std::string_view text, std::string_view wanted) {
  const size_t length = text.size() + wanted.size();
  if (length == 0) return 1;
  size_t matching = 0;
  for (const base::CommonRun& run :
       base::CommonRuns(BytesOf(text), BytesOf(wanted), base::Popular::kBeginsNoRun)) {
    matching += run.size;
  }
  return 2.0 * static_cast<double>(matching) / static_cast<double>(length);
}

const std::string* CloseMatch(std::string_view wanted, const std::vector<std::string>& choices,
                              double cutoff) {
  const std::string* best = nullptr;
  double most = cutoff;
  for (const std::string& choice : choices) {
    const double ratio = MatchRatio(choice, wanted);
    const bool is_better = ratio > most || (ratio == most && (best == nullptr || choice > *best));
    if (!is_better) continue;
    most = ratio;
    best = &choice;
  }
  return best;
}

}  // namespace sonde::cluster
