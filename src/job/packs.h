// Packs of small traces (store/pack.h) in the user's cache folder, named by the content of all.
//
// Where traces are many, small ones have no store of their own: a thousand would be a thousand
// files to open. Threads: any; several processes may make the same pack at once. Memory: the rows
// of one trace a thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/host/progress.h"
#include "base/status.h"
#include "job/failures.h"
#include "job/job.h"
#include "job/open.h"
#include "store/joint.h"

namespace sonde::job {

// A trace with importers::StampOf.
struct StampedTrace {
  Trace trace;
  int64_t stamp = 0;
};

// Whether the files of the trace that lies at `path` have that many bytes together, or fewer; false
// where they cannot be seen.
bool HasAtMost(uint64_t most, const std::string& path);

// Moves the small traces out of `traces` where they are many, so that they are to be packed; else
// moves none.
std::vector<StampedTrace> TakeSmall(std::vector<Trace>& traces, int threads);

// Moves out of `traces` those that are small and read by table (importers::Importer).
std::vector<Trace> TakeReadByTable(std::vector<Trace>& traces);

// Whether the cache folder holds any: to look for one costs a look at all bytes of its traces.
bool HasPacks();

struct Pack {
  store::StoreFile file;  // without the traces that failed
  std::vector<TraceFailure> failures;
};

// The traces of each pack, in their order.
std::vector<std::span<const StampedTrace>> PlanPacks(std::span<const StampedTrace> traces);

// The user's cache folder, made and writable.
Result<std::string> PreparedCacheFolder();

// From the cache; none where it has to be made.
std::optional<Pack> CachedPack(std::span<const StampedTrace> traces);

// Errors: those of the cache folder.
Result<Pack> MakePack(std::span<const StampedTrace> traces, const NoticeSink& notify,
                      base::ProgressBar* progress);

}  // namespace sonde::job
