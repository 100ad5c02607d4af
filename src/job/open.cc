#include "job/open.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "base/files.h"
#include "base/host/parallel.h"
#include "base/strings.h"
#include "importers/import_rows.h"
#include "importers/import_trace.h"
#include "job/failures.h"
#include "job/for_each.h"
#include "job/open_rows.h"
#include "job/packs.h"

namespace sonde::job {
namespace {

using base::Concat;

// Copies of a foreign trace count once; the captures of a program are its own, whatever is in them.
void LeaveOutCopies(const NoticeSink& notify, std::vector<StampedTrace>& traces) {
  std::map<std::pair<std::string_view, int64_t>, std::string> seen;
  std::erase_if(traces, [&](const StampedTrace& trace) {
    const importers::TraceSource& source = trace.trace.source;
    if (source.importer->is_ours) return false;
    const auto [first, is_new] =
        seen.try_emplace({source.importer->name, trace.stamp}, source.path);
    if (is_new) return false;
    notify(
        Concat("'", source.path, "' is the same trace as '", first->second, "' and counts once"));
    return true;
  });
}

bool ReadByTable(std::span<const StampedTrace> traces) {
  return std::ranges::all_of(traces, [](const StampedTrace& trace) {
    return trace.trace.source.importer->reads_by_table;
  });
}

store::StoreFile FileOf(const Trace& trace, std::string path) {
  return {
      std::move(path),
      {{.trace = trace.number, .run = trace.run, .rank = trace.rank, .path = trace.source.path}}};
}

class Opener {
 public:
  Opener(const Job& job, const OpenOptions& options) : job_(job), options_(options) {}

  Result<JobFiles> Run() {
    std::vector<Trace> alone = job_.traces;
    return Run(TakeSmall(alone, options_.threads), alone);
  }
  Result<JobFiles> RunForRows() {
    std::vector<Trace> alone = job_.traces;
    for_rows_ = true;
    if (!HasPacks()) opened_.unstored = TakeReadByTable(alone);
    return Run(TakeSmallOfOthers(alone, options_.threads), alone);
  }

 private:
  Result<JobFiles> Run(std::vector<StampedTrace> small, const std::vector<Trace>& alone) {
    if (!for_rows_) LeaveOutCopies(options_.notify, small);
    SONDE_RETURN_IF_ERROR(OpenPacks(small));
    OpenAlone(alone);
    opened_.is_whole = failures_.empty();
    if (opened_.files.empty() && opened_.unstored.empty()) {
      return failures_.empty() ? base::NotFoundError("there is no trace") : failures_.front().why;
    }
    for (const std::string& line : DescribeFailures(failures_)) {
      options_.complain(Concat(line, "; the others are used without it"));
    }
    opened_.failures = std::move(failures_);
    std::sort(opened_.files.begin(), opened_.files.end(), [](const auto& a, const auto& b) {
      return a.traces.front().trace < b.traces.front().trace;
    });
    return std::move(opened_);
  }

  Status OpenPacks(const std::vector<StampedTrace>& small) {
    const auto plan = PlanPacks(small);
    std::vector<std::optional<Pack>> packs(plan.size());
    const base::ParallelOptions threads{.max_threads = options_.threads};
    base::ParallelFor(plan.size(), threads, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) packs[i] = CachedPack(plan[i]);
    });
    size_t missing = 0;  // traces
    for (size_t i = 0; i < plan.size(); ++i) {
      if (packs[i]) continue;
      if (for_rows_ && ReadByTable(plan[i])) {
        for (const StampedTrace& trace : plan[i]) opened_.unstored.push_back(trace.trace);
        packs[i].emplace();
      } else {
        missing += plan[i].size();
      }
    }
    std::optional<base::ProgressBar> progress;
    if (options_.shows_progress && missing > 0) progress.emplace("Reading", missing);
    SONDE_RETURN_IF_ERROR(base::ParallelForStatus(plan.size(), threads, [&](size_t i) -> Status {
      if (packs[i]) return {};
      SONDE_ASSIGN_OR_RETURN(packs[i], MakePack(
                                           plan[i], [&](std::string_view line) { Notify(line); },
                                           progress ? &*progress : nullptr));
      return {};
    }));
    if (progress) progress->Finish();
    for (std::optional<Pack>& pack : packs) {
      std::move(pack->failures.begin(), pack->failures.end(), std::back_inserter(failures_));
      if (!pack->file.traces.empty()) opened_.files.push_back(std::move(pack->file));
    }
    return {};
  }

  void OpenAlone(const std::vector<Trace>& traces) {
    std::vector<std::string> paths(traces.size());  // of their stores
    const int threads = traces.size() > 1 ? 1 : options_.threads;
    const auto open = [&](const Trace& trace, size_t place) -> Status {
      SONDE_ASSIGN_OR_RETURN(const auto store,
                             importers::OpenOrImport(trace.source, {.threads = threads},
                                                     [&](std::string_view line) { Notify(line); }));
      paths[place] = store->path();
      return {};
    };
    auto failures = ForEach(traces, {.at_a_time = options_.threads}, open);
    std::move(failures.begin(), failures.end(), std::back_inserter(failures_));
    std::map<std::string, std::string> seen;  // the trace by its store
    for (size_t i = 0; i < traces.size(); ++i) {
      const Trace& trace = traces[i];
      if (paths[i].empty()) continue;
      const auto [first, is_new] = seen.try_emplace(paths[i], trace.source.path);
      if (!is_new && !for_rows_) {
        Notify(Concat("'", trace.source.path, "' is the same trace as '", first->second,
                      "' and counts once"));
        continue;
      }
      opened_.files.push_back(FileOf(trace, paths[i]));
    }
  }

  void Notify(std::string_view line) {
    const std::scoped_lock lock(mutex_);
    options_.notify(line);
  }

  const Job& job_;
  const OpenOptions& options_;
  bool for_rows_ = false;
  std::mutex mutex_;
  JobFiles opened_;
  std::vector<TraceFailure> failures_;
};

// A table is divided among threads by 122 880 rows. Of stores as small as this a statement that
// asks for their rows has next to nothing to divide, and threads that wait for work ask for it all
// the time: an eighth to a quarter of the advisor's time with two.
bool IsSmall(const std::vector<store::StoreFile>& files) {
  constexpr uint64_t kSmallBytes = uint64_t{16} << 20U;
  uint64_t bytes = 0;
  for (const store::StoreFile& file : files) {
    const auto size = base::FileSize(file.path);
    if (!size.ok()) return false;
    bytes += *size;
  }
  return bytes <= kSmallBytes;
}

store::JointOptions StatementsOf(const std::vector<store::StoreFile>& files,
                                 const OpenOptions& options) {
  store::JointOptions statements = options.statements;
  statements.threads = options.is_thrifty && IsSmall(files) ? 1 : options.threads;
  return statements;
}

// The store that a trace has by its name, if it is still that of the files as they are now; a
// capture's is next to it.
std::optional<importers::NamedStore> FindNamedStore(const importers::TraceSource& source) {
  if (!source.importer->is_ours) return importers::FindCachedStore(source);
  const std::string path = importers::StorePath(source);
  if (source.importer->import == nullptr || !base::IsRegularFile(path)) return std::nullopt;
  const auto stamp = importers::StampOf(source);
  if (!stamp.ok()) return std::nullopt;
  return importers::NamedStore{path, *stamp};
}

// One trace that was read before, without a database whose only use is to look at it: that would be
// half of the time of the opening. False where it has to be looked at.
bool OpenCached(const Job& job, const OpenOptions& options, OpenedJob& opened) {
  if (job.traces.size() != 1) return false;
  const Trace& trace = job.traces.front();
  const auto cached = FindNamedStore(trace.source);
  if (!cached) return false;
  const std::vector<store::StoreFile> files = {FileOf(trace, cached->path)};
  auto store = store::JointStore::Open(files, store::JointStore::Columns::kOwn,
                                       StatementsOf(files, options));
  if (!store.ok()) return false;
  const auto stamp = (*store)->Query("SELECT source_stamp FROM store_info_");
  if (!stamp.ok() || stamp->rows() != 1 || stamp->Int(0, 0) != cached->stamp) return false;
  opened.is_whole = true;
  opened.files = files;
  opened.store = std::move(*store);
  return true;
}

// The tables that an importer has to read. Where a trace begins and ends is seen in all of these.
uint64_t TablesToRead(const recipes::Needs& needs) {
  constexpr uint64_t kTimed =
      store::TablesOf<store::SliceRow, store::DeviceTaskRow, store::CommunicationOpRow,
                      store::MarkRow, store::MemoryEventRow>();
  const bool sees_bounds = needs.bounds || needs.device_times;
  return sees_bounds ? needs.tables | kTimed : needs.tables;
}

}  // namespace

Result<JobFiles> OpenFiles(const Job& job, const OpenOptions& options) {
  return Opener(job, options).Run();
}

Result<JobFiles> OpenForRows(const Job& job, const OpenOptions& options) {
  return Opener(job, options).RunForRows();
}

std::string SpareForRows() {
  return base::JoinPath(PreparedCacheFolder().value_or("/tmp"), "rows.part");
}

Result<std::unique_ptr<store::Store>> ReadRows(const importers::TraceSource& source,
                                               const recipes::Needs& needs,
                                               const std::string& spare, int threads,
                                               const NoticeSink& notify) {
  SONDE_ASSIGN_OR_RETURN(
      importers::ImportedTrace read,
      importers::ImportRows(source, spare, {.threads = threads, .tables = TablesToRead(needs)},
                            notify));
  return std::move(read.store);
}

Result<OpenedJob> Open(const Job& job, const OpenOptions& options) {
  OpenedJob opened;
  if (OpenCached(job, options, opened)) return opened;
  SONDE_ASSIGN_OR_RETURN(JobFiles found, OpenFiles(job, options));
  opened.is_whole = found.is_whole;
  opened.files = std::move(found.files);
  // The rest of several has the columns that distinguish them.
  if (job.traces.size() > 1) opened.columns = store::JointStore::Columns::kLeading;
  SONDE_ASSIGN_OR_RETURN(
      opened.store,
      store::JointStore::Open(opened.files, opened.columns, StatementsOf(opened.files, options)));
  return opened;
}

Result<OpenedJob> OpenStoreFile(const std::string& path, const OpenOptions& options) {
  OpenedJob opened;
  opened.files = {{path, {{.path = path}}}};
  SONDE_ASSIGN_OR_RETURN(opened.store,
                         store::JointStore::Open(opened.files, store::JointStore::Columns::kOwn,
                                                 StatementsOf(opened.files, options)));
  return opened;
}

}  // namespace sonde::job
