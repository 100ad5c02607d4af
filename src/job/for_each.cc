#include "job/for_each.h"

#include "base/host/parallel.h"

namespace sonde::job {

std::vector<TraceFailure> ForEach(
    std::span<const Trace> traces, const ForEachOptions& options,
    const std::function<Status(const Trace& trace, size_t place)>& function) {
  std::vector<Status> statuses(traces.size());
  base::ParallelFor(
      traces.size(), {.max_threads = options.at_a_time}, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) {
          const bool is_cancelled = options.is_cancelled && options.is_cancelled();
          statuses[i] = is_cancelled ? base::CancelledError("cancelled") : function(traces[i], i);
          if (options.progress != nullptr) options.progress->Advance();
        }
      });
  std::vector<TraceFailure> failures;
  for (size_t i = 0; i < traces.size(); ++i) {
    if (!statuses[i].ok()) failures.push_back({traces[i].source.path, statuses[i]});
  }
  return failures;
}

}  // namespace sonde::job
