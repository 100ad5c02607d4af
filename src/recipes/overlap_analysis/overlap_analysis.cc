#include "recipes/overlap_analysis/overlap_analysis.h"

namespace sonde::recipes {

Overlap AnalyseOverlap(std::vector<Interval> computing, std::vector<Interval> communication) {
  Overlap overlap;
  overlap.computing = Merge(std::move(computing));
  overlap.communication = Merge(std::move(communication));
  overlap.not_overlapped = Subtract(overlap.communication, overlap.computing);
  const std::vector<Interval> busy = Unite(overlap.computing, overlap.communication);
  for (size_t i = 1; i < busy.size(); ++i) {
    overlap.free.push_back({busy[i - 1].end_ns, busy[i].start_ns});
  }
  return overlap;
}

bool IsCommunicationKernel(std::string_view task_name) {
  return task_name.ends_with("AicpuKernel") || task_name.ends_with("AivKernel") ||
         task_name.starts_with("c10d::") || task_name.starts_with("_c10d_functional");
}

}  // namespace sonde::recipes
