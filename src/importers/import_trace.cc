#include "importers/import_trace.h"

#include <array>
#include <cerrno>
#include <ctime>
#include <optional>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/hash.h"
#include "base/strings.h"
#include "importers/cache.h"
#include "importers/capture/import.h"
#include "importers/import_rows.h"
#include "store/collectives.h"

namespace sonde::importers {
namespace {

// A higher limit only keeps written data; with 40 MB an import of a database of Ascend's profilers
// begins to swap to a file, with 48 MB none did.
constexpr int64_t kImportDatabaseBytes = int64_t{52} << 20U;

// As an importer of that version makes it.
Result<int64_t> StampBy(const TraceSource& source, uint32_t version) {
  SONDE_ASSIGN_OR_RETURN(const int64_t files, source.importer->stamp(source.path));
  if (source.importer->import == nullptr) return files;
  SONDE_ASSIGN_OR_RETURN(const int32_t rank,
                         source.importer->rank(source.path));  // may be a name's
  const uint64_t stamp =
      base::HashCombine(static_cast<uint64_t>(files), static_cast<uint64_t>(rank) + 1);
  const uint64_t code = base::HashString(SONDE_VERSION) + store::KnownCollectives().stamp + version;
  return static_cast<int64_t>(base::HashCombine(stamp, code));
}

// A trace that is a store already needs no import.
Result<int64_t> StampToImport(const TraceSource& source) {
  if (source.importer->import == nullptr) return 0;
  return StampOf(source);
}

// By content, whatever the name of the trace.
std::string CachedStore(const std::string& folder, const TraceSource& source, int64_t stamp) {
  const uint64_t hash =
      base::HashCombine(static_cast<uint64_t>(stamp), base::HashString(source.importer->name));
  return base::JoinPath(folder, base::Concat(std::to_string(hash), ".duckdb"));
}

struct Place {
  std::string path;    // of the store's file
  mode_t folder_mode;  // of its folder, where that has to be made
};

// Where the store of the trace belongs, first choice first; the last is in the cache folder.
Result<std::vector<Place>> StorePlaces(const TraceSource& source, int64_t stamp) {
  constexpr mode_t kOnlyForTheUser = 0700;
  std::vector<Place> places;
  if (source.importer->is_ours) places.push_back({StorePath(source), 0777});
  auto folder = CacheFolder();
  if (folder.ok()) {
    const Status trusted = CheckCacheFolder(*folder);
    if (!trusted.ok()) folder = trusted;
  }
  if (folder.ok()) {
    places.push_back({CachedStore(*folder, source, stamp), kOnlyForTheUser});
  } else if (places.empty()) {
    return folder.status();
  }
  return places;
}

// The store in that file where it is one of this trace as it is now, else null.
std::unique_ptr<store::Store> OpenCurrent(const std::string& path, int64_t stamp,
                                          const store::StoreOptions& options) {
  if (!base::IsRegularFile(path)) return nullptr;
  auto store = store::Store::OpenReadOnly(path, options);
  if (!store.ok() || (*store)->source_stamp() != stamp) return nullptr;
  return std::move(*store);
}

void NotifyOfChoices(const ImportSummary& summary,
                     const std::function<void(std::string_view)>& notify) {
  for (const store::ImportIssue& issue : summary.issues) {
    if (issue.is_choice) notify(base::Concat(issue.source, ": ", issue.advice));
  }
}

Status PrepareFolder(const std::string& folder, mode_t mode) {
  SONDE_RETURN_IF_ERROR(base::MakeDirectories(folder, mode));
  return base::CheckWritableDirectory(folder);
}

// With the first path that can be written, and has the space; see WithStorePath.
Status WithFirstPlace(const std::vector<Place>& places,
                      const std::function<void(std::string_view)>& notify,
                      const std::function<Status(const std::string& path)>& make) {
  Status made;
  Status unwritable;
  std::string full;  // the first folder without space
  for (const auto& [path, folder_mode] : places) {
    const std::string folder(base::DirName(path));
    const Status prepared = PrepareFolder(folder, folder_mode);
    const bool is_full = prepared.code() == base::StatusCode::kResourceExhausted;
    if (!prepared.ok() && !is_full) {
      unwritable = prepared;
      continue;
    }
    made = is_full ? prepared : make(path);
    if (made.code() == base::StatusCode::kResourceExhausted) {
      if (full.empty()) full = folder;
      continue;
    }
    if (made.ok() && !full.empty()) {
      notify(base::Concat("no disk space for the trace store in '", full, "': it is in '", folder,
                          "'"));
    }
    return made;
  }
  if (!made.ok()) return made;
  return base::PermissionDeniedError(
      base::Concat("cannot write the trace store to '", base::DirName(places.back().path), "' (",
                   unwritable.message(), "): set XDG_CACHE_HOME to a folder that can be written"));
}

// Size of the store next to a capture.
struct FinishedStore {
  std::unique_ptr<store::Store> store;
  int64_t rows = 0;    // slices and events of memory
  int64_t end_ns = 0;  // of its last slice
};

// The store next to the records where it was made from other files than the present ones, else
// none. A store that another version made from the same files is replaced.
std::optional<FinishedStore> StoreOfOtherFiles(const TraceSource& source,
                                               const store::StoreOptions& options) {
  const std::string path = StorePath(source);
  if (!source.importer->is_ours || !base::IsRegularFile(path)) return {};
  auto opened = store::Store::OpenReadOnly(path, {.threads = options.threads});
  if (!opened.ok()) return {};  // damaged, or of another version: only the present records count
  for (uint32_t version = 0; version <= source.importer->version; ++version) {
    const auto stamp = StampBy(source, version);
    if (!stamp.ok() || *stamp == (*opened)->source_stamp()) return {};
  }
  const auto held = (*opened)->Query(
      "SELECT count(*) + (SELECT count(*) FROM memory_event_), "
      "coalesce(max(ts + greatest(dur, 0)), 0)::BIGINT FROM slice_");
  if (!held.ok()) return {};
  return FinishedStore{std::move(*opened), held->Int(0, 0), held->Int(1, 0)};
}

// Records that hold less than the store once made from them, and nothing later, are leftovers: they
// never replace it.
bool IsLessThan(const ImportSummary& read, const FinishedStore& finished) {
  return read.slices + read.memory_events < finished.rows && read.end_ns <= finished.end_ns;
}
// Target of the rows of an import.
enum class Rows : uint8_t { kFile, kMemoryFirst, kMemoryOnly };

Result<ImportedTrace> Import(const TraceSource& source, int64_t stamp,
                             const std::string& store_path, const ImportOptions& options,
                             Rows rows) {
  ImportedTrace result;
  store::StoreOptions store_options;
  store_options.threads = options.threads;
  if (source.importer->import == nullptr) {
    FinishRemoval(source.path).IgnoreError();  // the next command tries again
    SONDE_ASSIGN_OR_RETURN(result.summary.rank, source.importer->rank(source.path));
    SONDE_ASSIGN_OR_RETURN(result.store,
                           store::Store::OpenReadOnly(StorePath(source), store_options));
    return result;
  }
  store_options.rows_in_memory = rows != Rows::kFile;
  // Written rows need not stay in memory: an import reads only slices again.
  store_options.filling_memory_bytes = kImportDatabaseBytes;
  store_options.source_stamp = stamp;
  auto finished =
      rows == Rows::kMemoryOnly ? std::nullopt : StoreOfOtherFiles(source, store_options);
  store_options.without_file = rows == Rows::kMemoryOnly;
  SONDE_ASSIGN_OR_RETURN(result.store, store::Store::Create(store_path, store_options));
  SONDE_ASSIGN_OR_RETURN(result.summary,
                         source.importer->import(source.path, *result.store, options));
  if (finished && IsLessThan(result.summary, *finished)) {
    result.store = std::move(finished->store);
    result.kept_finished = base::Concat(
        "the records in '", source.path, "' hold less (",
        std::to_string(result.summary.slices + result.summary.memory_events),
        ") than the store made from them before (", std::to_string(finished->rows),
        "): some were removed or damaged since, so the store is used; to read the records all the "
        "same, move '",
        result.store->path(), "' away");
    return result;
  }
  SONDE_RETURN_IF_ERROR(result.store->EndFilling());
  return result;
}

}  // namespace

Result<int64_t> StampOf(const TraceSource& source) {
  return StampBy(source, source.importer->version);
}

std::string StorePath(const TraceSource& source) {
  const bool is_store = source.importer->import == nullptr && base::IsRegularFile(source.path);
  if (is_store) return source.path;
  const std::string inside = base::JoinPath(source.path, "SONDE");
  return base::JoinPath(base::IsDirectory(inside) ? inside : source.path, "trace.duckdb");
}

Status WithStorePath(const TraceSource& source, const std::string& spare,
                     const std::function<void(std::string_view)>& notify,
                     const std::function<Status(const std::string& path)>& make) {
  SONDE_ASSIGN_OR_RETURN(const int64_t stamp, StampOf(source));
  SONDE_ASSIGN_OR_RETURN(std::vector<Place> places, StorePlaces(source, stamp));
  if (!spare.empty()) places.push_back({base::JoinPath(spare, "SONDE/trace.duckdb"), 0777});
  return WithFirstPlace(places, notify, make);
}

namespace {

Result<ImportedTrace> ImportPublished(const TraceSource& source, int64_t stamp,
                                      const std::string& store_path, const ImportOptions& options) {
  SONDE_ASSIGN_OR_RETURN(ImportedTrace imported,
                         Import(source, stamp, store_path, options, Rows::kFile));
  if (!imported.store->is_complete()) SONDE_RETURN_IF_ERROR(imported.store->Publish());
  return imported;
}

}  // namespace

Result<ImportedTrace> ImportTrace(const TraceSource& source, const std::string& store_path,
                                  const ImportOptions& options) {
  SONDE_ASSIGN_OR_RETURN(const int64_t stamp, StampToImport(source));
  return ImportPublished(source, stamp, store_path, options);
}

Result<ImportedTrace> ImportUnpublished(const TraceSource& source, const std::string& store_path,
                                        const ImportOptions& options) {
  SONDE_ASSIGN_OR_RETURN(const int64_t stamp, StampToImport(source));
  return Import(source, stamp, store_path, options,
                source.importer->fills_memory ? Rows::kMemoryFirst : Rows::kFile);
}

Result<ImportedTrace> ImportRows(const TraceSource& source, const std::string& spare,
                                 const ImportOptions& options,
                                 const std::function<void(std::string_view)>& notify) {
  constexpr int64_t kNoStamp = 0;  // it is not opened later
  auto imported = Import(source, kNoStamp, spare, options, Rows::kMemoryOnly);
  if (imported.status().code() == base::StatusCode::kFailedPrecondition) {
    imported = Import(source, kNoStamp, spare, options, Rows::kFile);
  }
  if (imported.ok()) NotifyOfChoices(imported->summary, notify);
  return imported;
}

std::optional<NamedStore> FindCachedStore(const TraceSource& source) {
  if (source.importer->is_ours || source.importer->import == nullptr) return std::nullopt;
  const auto stamp = StampOf(source);
  const auto folder = CacheFolder();
  if (!stamp.ok() || !folder.ok() || !CheckCacheFolder(*folder).ok()) return std::nullopt;
  const std::string path = CachedStore(*folder, source, *stamp);
  if (!base::IsRegularFile(path) || !IsOwnFile(path)) return std::nullopt;
  TouchStore(path);
  return NamedStore{path, *stamp};
}

Result<std::unique_ptr<store::Store>> OpenOrImport(
    const TraceSource& source, const ImportOptions& options,
    const std::function<void(std::string_view)>& notify) {
  SONDE_ASSIGN_OR_RETURN(const int64_t stamp, StampOf(source));
  store::StoreOptions store_options;
  store_options.threads = options.threads;
  SONDE_ASSIGN_OR_RETURN(const auto places, StorePlaces(source, stamp));
  for (const auto& [path, folder_mode] : places) {
    const bool is_cached = !source.importer->is_ours || path != StorePath(source);
    if (is_cached && !IsOwnFile(path)) continue;
    auto store = OpenCurrent(path, stamp, store_options);
    if (store == nullptr) continue;
    if (!source.importer->is_ours) TouchStore(path);
    return store;
  }
  notify(base::Concat("reading '", source.path, "': ", source.importer->one));
  std::unique_ptr<store::Store> made;
  SONDE_RETURN_IF_ERROR(WithFirstPlace(places, notify, [&](const std::string& path) -> Status {
    SONDE_ASSIGN_OR_RETURN(ImportedTrace imported, ImportPublished(source, stamp, path, options));
    if (!imported.kept_finished.empty()) notify(imported.kept_finished);
    NotifyOfChoices(imported.summary, notify);
    made = std::move(imported.store);
    return {};
  }));
  const auto cache = CacheFolder();
  if (cache.ok() && base::DirName(made->path()) == *cache) {
    PruneCache(std::string(base::DirName(made->path())), CacheLimit(), ::time(nullptr));
  }
  return made;
}

}  // namespace sonde::importers
