// Runs a function over the rows of all traces of a job, several at a time, and gathers what each
// returns: the map of an analysis of the job. Where more machines share the work, this is the place
// that hands it out.
//
//   struct Busy { int64_t device_ns = 0; };
//   constexpr Needs kNeeds = recipes::Reads<store::DeviceTaskRow>();
//   const auto busy = ForEachTrace<Busy>(job->files, kNeeds, {.threads = 8},
//                                        [](const TraceInHand& trace) -> Result<Busy> {
//     Busy busy;
//     for (const auto& task : trace.data.tasks) busy.device_ns += task.dur;
//     return busy;
//   });
//   for (const auto& [label, value] : busy.traces) ...           // in the order of the traces
//   for (const std::string& line : DescribeFailures(busy.failures)) ...
//
// Only the tables of `needs` are there (recipes/trace/needs.h); of several analyses at once these
// are joined by `|`, and a recipe is run on them by its Recipe::run. What is returned must not
// refer to the trace, which is gone by then: texts of rows are kept by KeptRows
// (job/kept_rows.h).
//
// What needs the waits of collectives (Needs::waits) has them from a round over the collectives of
// all traces before its own.
//
// Memory: RunOptions::bytes_at_a_time of the traces, and what was returned. Traces
// are begun in the order of the files. Open files: one a thread. Threads: the function is called
// from several, never for one trace twice. Errors: a trace that fails is in `failures`, with its
// path, and the others go on; of a run that was cancelled those that were not begun, too
// (kCancelled).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/host/progress.h"
#include "base/status.h"
#include "job/failures.h"
#include "job/job.h"
#include "job/open.h"
#include "recipes/trace/device_view.h"
#include "recipes/trace/trace_data.h"
#include "store/joint.h"

namespace sonde::job {

// Valid while the function runs.
struct TraceInHand {
  const store::TraceLabel& label;
  const recipes::TraceData& data;
  int threads = 1;        // that the function may use
  bool is_alone = false;  // no other is in hand, and all that lie before it are done
  // Of its collectives for the last rank of their group: Needs::waits; empty where nothing is known
  // (recipes/communication/arrivals.h).
  std::span<const int64_t> waits_ns = {};

  // The trace as recipes take it.
  recipes::DeviceView View(const recipes::Needs& needs) const;
};

struct RunOptions {
  int threads = 0;                          // 0: as many as there are processors
  base::ProgressBar* progress = nullptr;    // advanced by each trace
  std::function<bool()> is_cancelled = {};  // no trace is begun once it returns true
  // Of the files of stores that are read together, of which the rows of all their tables take up to
  // twenty times as much. A larger file is read by itself.
  uint64_t bytes_at_a_time = uint64_t{64} << 20U;
  // Called when all places before this one are done, failed ones too: to forward results in
  // order. One call at a time.
  std::function<void(size_t places)> when_done = {};
  NoticeSink notify = {};  // which of several forms of a trace without a store was taken
  // Waits (Needs::waits) are computed without the differences of the hosts' clocks, where these are
  // found: each is reported in a line, to which the caller may add. Empty: by the clocks as they
  // are.
  NoticeSink report_clocks = {};
  bool keeps_clocks = false;
};

// `place`: counts the traces as they lie in the files. Failures are in that order.
std::vector<TraceFailure> RunOverTraces(
    std::span<const store::StoreFile> files, const recipes::Needs& needs, const RunOptions& options,
    const std::function<Status(const TraceInHand& trace, size_t place)>& function);
// The same for the result of OpenForRows (open_rows.h); those without a store come last.
std::vector<TraceFailure> RunOverTraces(
    const JobFiles& files, const recipes::Needs& needs, const RunOptions& options,
    const std::function<Status(const TraceInHand& trace, size_t place)>& function);

template <class T>
struct EachTrace {
  struct Entry {
    store::TraceLabel label;
    T value;
  };
  std::vector<Entry> traces;  // in the order of their numbers; without those that failed
  std::vector<TraceFailure> failures;
};

template <class T>
EachTrace<T> ForEachTrace(std::span<const store::StoreFile> files, const recipes::Needs& needs,
                          const RunOptions& options,
                          const std::function<Result<T>(const TraceInHand& trace)>& function) {
  size_t count = 0;
  for (const store::StoreFile& file : files) count += file.traces.size();
  std::vector<std::optional<typename EachTrace<T>::Entry>> entries(count);
  EachTrace<T> all;
  all.failures =
      RunOverTraces(files, needs, options, [&](const TraceInHand& trace, size_t place) -> Status {
        SONDE_ASSIGN_OR_RETURN(T value, function(trace));
        entries[place].emplace(typename EachTrace<T>::Entry{trace.label, std::move(value)});
        return {};
      });
  for (auto& entry : entries) {
    if (entry) all.traces.push_back(*std::move(entry));
  }
  std::stable_sort(all.traces.begin(), all.traces.end(),
                   [](const auto& a, const auto& b) { return a.label.trace < b.label.trace; });
  return all;
}

// The same on what OpenFiles makes of a job; what could not be opened is in `failures`, first.
// Errors: where nothing could.
template <class T>
Result<EachTrace<T>> ForEachTrace(const Job& job, const recipes::Needs& needs,
                                  const OpenOptions& opening, const RunOptions& options,
                                  const std::function<Result<T>(const TraceInHand& trace)>& map) {
  SONDE_ASSIGN_OR_RETURN(JobFiles opened, OpenFiles(job, opening));
  EachTrace<T> all = ForEachTrace<T>(opened.files, needs, options, map);
  all.failures.insert(all.failures.begin(), opened.failures.begin(), opened.failures.end());
  return all;
}

}  // namespace sonde::job
