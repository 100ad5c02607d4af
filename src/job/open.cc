#include "job/open.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "job/failures.h"
#include "job/for_each.h"

namespace sonde::job {
namespace {

using base::Concat;

// By the place of the trace in the job; null where it failed, or is another's content once more.
using Stores = std::vector<std::unique_ptr<store::Store>>;

// Fails where all do.
Result<Stores> OpenEach(const Job& job, const OpenOptions& options, bool& is_whole) {
  const size_t count = job.traces.size();
  Stores stores(count);
  std::mutex mutex;
  const auto notify = [&](std::string_view line) {
    const std::scoped_lock lock(mutex);
    options.notify(line);
  };
  const int threads = count > 1 ? 1 : options.threads;  // of one trace
  const auto open = [&](const Trace& trace, size_t place) -> Status {
    SONDE_ASSIGN_OR_RETURN(stores[place],
                           importers::OpenOrImport(trace.source, {.threads = threads}, notify));
    return {};
  };
  const auto failures = ForEach(job.traces, {.at_a_time = options.threads}, open);
  is_whole = failures.empty();
  if (failures.size() == count) return failures.front().why;
  for (const std::string& line : SayFailures(failures)) {
    options.complain(Concat(line, "; the others are asked without it"));
  }
  return stores;
}

// Copies of one trace have one store.
void LeaveOutCopies(const Job& job, const Say& notify, Stores& stores) {
  std::map<std::string, size_t> seen;
  for (size_t i = 0; i < stores.size(); ++i) {
    if (stores[i] == nullptr) continue;
    const auto [first, is_new] = seen.try_emplace(stores[i]->path(), i);
    if (is_new) continue;
    notify(Concat("'", job.traces[i].source.path, "' is the same trace as '",
                  job.traces[first->second].source.path, "' and counts once"));
    stores[i].reset();
  }
}

// Numbers of slices and the like are a trace's own: with the rank they are unique only where each
// trace has another one.
void NoticeSharedRanks(const Job& job, const Stores& stores, const Say& notify) {
  std::map<int32_t, std::vector<std::string>> paths_of_rank;
  for (size_t i = 0; i < stores.size(); ++i) {
    if (stores[i] != nullptr) {
      paths_of_rank[job.traces[i].rank].push_back(job.traces[i].source.path);
    }
  }
  for (const auto& [rank, paths] : paths_of_rank) {
    if (paths.size() < 2) continue;
    notify(Concat(std::to_string(paths.size()), " traces ",
                  rank < 0 ? "without a rank" : Concat("of rank ", std::to_string(rank)), ", '",
                  paths[0], "', '", paths[1], paths.size() > 2 ? "', ...: " : "': ",
                  "nothing tells their rows apart, so join tables of one of them alone"));
  }
}

}  // namespace

Result<OpenedJob> Open(const Job& job, const OpenOptions& options) {
  OpenedJob opened;
  SONDE_ASSIGN_OR_RETURN(Stores stores, OpenEach(job, options, opened.is_whole));
  LeaveOutCopies(job, options.notify, stores);
  if (stores.size() == 1) {
    opened.store = std::move(stores[0]);
    return opened;
  }
  NoticeSharedRanks(job, stores, options.notify);
  std::vector<store::RankStore> ranks;
  for (size_t i = 0; i < stores.size(); ++i) {
    if (stores[i] != nullptr) ranks.push_back({stores[i]->path(), job.traces[i].rank});
  }
  stores.clear();
  SONDE_ASSIGN_OR_RETURN(opened.store,
                         store::Store::OpenRanks(ranks, {.threads = options.threads}));
  return opened;
}

}  // namespace sonde::job
