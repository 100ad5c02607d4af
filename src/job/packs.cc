#include "job/packs.h"

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <memory>
#include <utility>

#include "base/files.h"
#include "base/hash.h"
#include "base/host/parallel.h"
#include "base/strings.h"
#include "importers/cache.h"
#include "importers/import_rows.h"
#include "job/open_rows.h"
#include "recipes/trace/table_reader.h"
#include "store/pack.h"
#include "store/row_tables.h"

namespace sonde::job {
namespace {

using base::Concat;

// A pack that one thread makes in a second, and that is rewritten for a further trace.
constexpr size_t kTracesOfPack = 64;
// So many stores are attached as fast as they are read; of more, small traces are packed.
constexpr size_t kMostStores = 32;
constexpr uint64_t kSmallBytes = uint64_t{2} << 20U;

bool IsSmall(const std::string& path) { return HasAtMost(kSmallBytes, path); }

// To be raised when packs are made otherwise.
constexpr uint64_t kPackVersion = 1;

int64_t StampOfPack(std::span<const StampedTrace> traces) {
  uint64_t stamp = base::HashInt(kPackVersion);
  for (const StampedTrace& trace : traces) {
    stamp = base::HashCombine(stamp, static_cast<uint64_t>(trace.stamp));
    stamp = base::HashCombine(stamp, base::HashString(trace.trace.source.importer->name));
  }
  return static_cast<int64_t>(stamp);
}

constexpr std::string_view kPackPrefix = "pack-";

std::string PathOfPack(const std::string& folder, int64_t stamp) {
  return base::JoinPath(
      folder, Concat(kPackPrefix, std::to_string(static_cast<uint64_t>(stamp)), ".duckdb"));
}

Result<std::shared_ptr<const store::RowTables>> RowsOf(const store::Store& store) {
  if (store.rows() != nullptr) return store.rows();
  auto tables = std::make_shared<store::RowTables>();
#define SONDE_JOB_READ(Row, table, columns, meaning) \
  SONDE_RETURN_IF_ERROR(recipes::ReadTable<store::Row>(store, *tables));
  SONDE_TABLES(SONDE_JOB_READ)
#undef SONDE_JOB_READ
  return std::shared_ptr<const store::RowTables>(std::move(tables));
}

// Faults of the data stay; after other errors another try may succeed.
bool IsOfTheData(const Status& why) {
  switch (why.code()) {
    case base::StatusCode::kCorruptData:
    case base::StatusCode::kInvalidArgument:
    case base::StatusCode::kUnimplemented:
    case base::StatusCode::kOutOfRange:
      return true;
    default:
      return false;
  }
}

void TakeLabels(std::span<const StampedTrace> traces, Pack& pack) {
  pack.file.is_pack = true;
  for (size_t place = 0; place < traces.size(); ++place) {
    const Trace& trace = traces[place].trace;
    const bool failed =
        std::any_of(pack.failures.begin(), pack.failures.end(),
                    [&](const TraceFailure& failure) { return failure.path == trace.source.path; });
    if (failed) continue;
    pack.file.traces.push_back({.trace = trace.number,
                                .run = trace.run,
                                .rank = trace.rank,
                                .path = trace.source.path,
                                .place = static_cast<int32_t>(place)});
  }
}

// Fails where there is none, or one of other traces.
Result<Pack> OpenCached(const std::string& path, int64_t stamp,
                        std::span<const StampedTrace> traces) {
  SONDE_ASSIGN_OR_RETURN(const auto store, store::JointStore::OpenPack(path));
  if (store->source_stamp() != stamp) return base::CorruptDataError("a pack of other traces");
  SONDE_ASSIGN_OR_RETURN(const auto failures,
                         store->Query("SELECT place, code, message FROM pack_failure_"));
  Pack pack;
  pack.file.path = path;
  for (size_t row = 0; row < failures.rows(); ++row) {
    const auto place = static_cast<size_t>(failures.Int(0, row));
    if (place >= traces.size()) return base::CorruptDataError("a pack of other traces");
    pack.failures.push_back(
        {traces[place].trace.source.path,
         Status(static_cast<base::StatusCode>(failures.Int(1, row)), failures.Text(2, row))});
  }
  TakeLabels(traces, pack);
  return pack;
}

Status AddTrace(const StampedTrace& trace, int32_t place, const std::string& spare,
                const NoticeSink& notify, store::PackWriter& writer) {
  SONDE_ASSIGN_OR_RETURN(const auto imported,
                         importers::ImportRows(trace.trace.source, spare, {.threads = 1}, notify));
  SONDE_ASSIGN_OR_RETURN(const auto rows, RowsOf(*imported.store));
  return writer.Add(place, *rows);
}

using Stamps = std::vector<std::optional<int64_t>>;

// None of those that are large.
Stamps StampsOfSmall(const std::vector<Trace>& traces, int threads) {
  Stamps stamps(traces.size());
  base::ParallelFor(traces.size(), {.max_threads = threads}, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      if (!traces[i].source.importer->holds_trace || !IsSmall(traces[i].source.path)) continue;
      const auto stamp = importers::StampOf(traces[i].source);
      if (stamp.ok()) stamps[i] = *stamp;  // else the import reports the fault
    }
  });
  return stamps;
}

// Moves those with a stamp out of `traces`.
std::vector<StampedTrace> TakeStamped(std::vector<Trace>& traces, const Stamps& stamps) {
  std::vector<StampedTrace> small;
  std::vector<Trace> others;
  for (size_t i = 0; i < traces.size(); ++i) {
    if (stamps[i]) {
      small.push_back({std::move(traces[i]), *stamps[i]});
    } else {
      others.push_back(std::move(traces[i]));
    }
  }
  traces = std::move(others);
  return small;
}

}  // namespace

bool HasAtMost(uint64_t most, const std::string& path) {
  namespace fs = std::filesystem;
  if (base::IsRegularFile(path)) return base::FileSize(path).value_or(0) <= most;
  uint64_t bytes = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->is_regular_file(error) && !error) bytes += entry->file_size(error);
    if (error || bytes > most) return false;
  }
  return !error;
}

std::vector<StampedTrace> TakeSmall(std::vector<Trace>& traces, int threads) {
  if (traces.size() <= kMostStores) return {};
  auto stamps = StampsOfSmall(traces, threads);
  const auto count = std::count_if(stamps.begin(), stamps.end(),
                                   [](const auto& stamp) { return stamp.has_value(); });
  if (static_cast<size_t>(count) <= kMostStores) return {};
  return TakeStamped(traces, stamps);
}

std::vector<StampedTrace> TakeSmallOfOthers(std::vector<Trace>& traces, int threads) {
  if (traces.size() > kMostStores) return TakeSmall(traces, threads);
  auto stamps = StampsOfSmall(traces, threads);
  for (size_t i = 0; i < traces.size(); ++i) {
    if (traces[i].source.importer->is_ours) stamps[i].reset();
  }
  return TakeStamped(traces, stamps);
}

std::vector<Trace> TakeReadByTable(std::vector<Trace>& traces) {
  std::vector<Trace> taken;
  std::erase_if(traces, [&](Trace& trace) {
    const bool takes = trace.source.importer->reads_by_table && IsSmall(trace.source.path);
    if (takes) taken.push_back(std::move(trace));
    return takes;
  });
  return taken;
}

bool HasPacks() {
  const auto folder = importers::CacheFolder();
  const auto entries = folder.ok() ? base::ListDirectory(*folder)
                                   : Result<std::vector<base::DirectoryEntry>>(folder.status());
  return entries.ok() && std::ranges::any_of(*entries, [](const base::DirectoryEntry& entry) {
           return entry.name.starts_with(kPackPrefix);
         });
}

Result<std::string> PreparedCacheFolder() {
  constexpr mode_t kOnlyForTheUser = 0700;
  SONDE_ASSIGN_OR_RETURN(std::string folder, importers::CacheFolder());
  SONDE_RETURN_IF_ERROR(importers::CheckCacheFolder(folder));
  Status prepared = base::MakeDirectories(folder, kOnlyForTheUser);
  if (prepared.ok()) prepared = base::CheckWritableDirectory(folder);
  if (prepared.ok()) return folder;
  return base::PermissionDeniedError(
      Concat("cannot write the trace store to '", folder, "' (", prepared.message(),
             "): set XDG_CACHE_HOME to a folder that can be written"));
}

std::vector<std::span<const StampedTrace>> PlanPacks(std::span<const StampedTrace> traces) {
  std::vector<std::span<const StampedTrace>> packs;
  while (!traces.empty()) {
    packs.push_back(traces.first(std::min(traces.size(), kTracesOfPack)));
    traces = traces.subspan(packs.back().size());
  }
  return packs;
}

std::optional<Pack> CachedPack(std::span<const StampedTrace> traces) {
  const auto folder = importers::CacheFolder();
  if (!folder.ok() || !importers::CheckCacheFolder(*folder).ok()) return std::nullopt;
  const int64_t stamp = StampOfPack(traces);
  const std::string path = PathOfPack(*folder, stamp);
  if (!importers::IsOwnFile(path)) return std::nullopt;
  auto cached = OpenCached(path, stamp, traces);
  if (!cached.ok()) return std::nullopt;
  importers::TouchStore(path);
  return *std::move(cached);
}

Result<Pack> MakePack(std::span<const StampedTrace> traces, const NoticeSink& notify,
                      base::ProgressBar* progress) {
  SONDE_ASSIGN_OR_RETURN(const std::string folder, PreparedCacheFolder());
  const int64_t stamp = StampOfPack(traces);
  Pack pack;
  pack.file.path = PathOfPack(folder, stamp);
  bool is_lasting = true;
  SONDE_ASSIGN_OR_RETURN(auto writer, store::PackWriter::Create(pack.file.path, stamp));
  for (size_t place = 0; place < traces.size(); ++place) {
    const auto number = static_cast<int32_t>(place);
    const Status added = AddTrace(traces[place], number, pack.file.path + ".part", notify, *writer);
    if (!added.ok()) {
      is_lasting &= IsOfTheData(added);
      pack.failures.push_back({traces[place].trace.source.path, added});
      SONDE_RETURN_IF_ERROR(writer->AddFailure(number, added));
    }
    if (progress != nullptr) progress->Advance();
  }
  // Another stamp than the one that is looked for: it is rewritten at the next opening.
  if (!is_lasting) SONDE_RETURN_IF_ERROR(writer->SetStamp(stamp + 1));
  SONDE_RETURN_IF_ERROR(writer->Publish());
  importers::PruneCache(folder, importers::CacheLimit(), ::time(nullptr));
  TakeLabels(traces, pack);
  return pack;
}

}  // namespace sonde::job
