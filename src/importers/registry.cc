#include "importers/registry.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <ctime>
#include <optional>
#include <set>
#include <utility>

#include "base/files.h"
#include "base/hash.h"
#include "base/strings.h"
#include "importers/ascend/raw_records.h"
#include "importers/ascend_db/ascend_db.h"
#include "importers/ascend_db/sample.h"
#include "importers/ascend_raw/import.h"
#include "importers/ascend_text/ascend_text.h"
#include "importers/cache.h"
#include "importers/capture/import.h"
#include "importers/capture/sample.h"
#include "importers/chrome_trace/import.h"
#include "importers/common/part_file.h"
#include "importers/import_rows.h"
#include "importers/kineto/import.h"
#include "importers/mindspore/import.h"
#include "importers/server/server.h"
#include "importers/stored/stored.h"
#include "importers/trace_events/sample.h"

namespace sonde::importers {
namespace {

constexpr std::array kImporters = {
    Importer{.name = "server",
             .what = "sessions of a server",
             .version = 10,
             .recognises = IsServerSession,
             .rank = ServerSessionRank,
             .stamp = ServerSessionStamp,
             .import = ImportServerSession,
             .is_ours = true,
             .fills_memory = true,
             .is_of_server = true,
             .parts = ServerSessionParts},
    Importer{.name = "capture",
             .what = "captures of Sonde",
             .version = 11,
             .recognises = IsCapture,
             .rank = CaptureRank,
             .stamp = CaptureStamp,
             .import = ImportCapture,
             .is_ours = true,
             .fills_memory = true,
             .preview = WriteCapturePreview,
             .remove_records = RemoveRawRecords},
    Importer{.name = "stored",
             .what = "stores of Sonde",
             .version = 10,
             .recognises = IsStored,
             .rank = StoredRank,
             .stamp = StoredStamp,
             .import = nullptr,
             .is_ours = true},
    Importer{.name = "ascend_raw",
             .what = "raw records of Ascend's profilers",
             .version = 2,
             .recognises = IsAscendRaw,
             .rank = AscendRawRank,
             .stamp = AscendRawStamp,
             .import = ImportAscendRaw},
    Importer{.name = "ascend_db",
             .what = "databases of Ascend's profilers",
             .version = 11,
             .recognises = IsAscendDb,
             .rank = AscendDbRank,
             .stamp = AscendDbStamp,
             .import = ImportAscendDb,
             .left_out = SayRawRecords,
             .preview = WriteAscendDbPreview},
    Importer{.name = "ascend_text",
             .what = "text deliverables of Ascend's profilers",
             .version = 12,
             .recognises = IsAscendText,
             .rank = AscendTextRank,
             .stamp = AscendTextStamp,
             .import = ImportAscendText,
             .left_out = SayRawRecords,
             .preview = trace_events::WriteTimelinePreview},
    Importer{.name = "mindspore",
             .what = "records of MindSpore's profilers",
             .version = 10,
             .recognises = IsMindspore,
             .rank = MindsporeRank,
             .stamp = MindsporeStamp,
             .import = ImportMindspore,
             .left_out = SayRawRecords},
    Importer{.name = "kineto",
             .what = "traces of the PyTorch profiler",
             .version = 12,
             .recognises = IsKineto,
             .rank = KinetoRank,
             .stamp = KinetoStamp,
             .import = ImportKineto,
             .holds = HoldsKineto,
             .preview = trace_events::WriteTimelinePreview},
    // Last: takes every list of trace events.
    Importer{.name = "chrome_trace",
             .what = "trace events",
             .version = 11,
             .recognises = IsChromeTrace,
             .rank = ChromeTraceRank,
             .stamp = ChromeTraceStamp,
             .import = ImportChromeTrace,
             .holds = HoldsChromeTrace,
             .preview = trace_events::WriteTimelinePreview},
};

// More only keeps what is written already; with 40 MB an import of a database of Ascend's profilers
// begins to swap to a file, with 48 none was seen to.
constexpr int64_t kImportDatabaseBytes = int64_t{52} << 20U;

// `is_inside`: of what the user named.
Status Search(const std::string& path, int max_depth, bool is_inside,
              std::vector<TraceSource>& found, std::vector<std::string>& unread) {
  if (const Importer* importer = FindImporter(path)) {
    found.push_back({path, importer});
    return {};
  }
  if (max_depth == 0 || !base::IsDirectory(path) || HoldsRawRecords(path)) {
    unread.push_back(path);
    return {};
  }
  const auto entries = base::ListDirectory(path);
  if (!entries.ok() && is_inside) {  // what lies beside can be read
    unread.push_back(path);
    return {};
  }
  SONDE_RETURN_IF_ERROR(entries.status());
  for (const base::DirectoryEntry& entry : *entries) {
    const std::string inside = base::JoinPath(path, entry.name);
    if (entry.name.starts_with('.') ||
        (!base::IsDirectory(inside) && !base::IsRegularFile(inside))) {
      continue;
    }
    SONDE_RETURN_IF_ERROR(Search(inside, max_depth - 1, /*is_inside=*/true, found, unread));
  }
  return {};
}

// As an importer of that version makes it.
Result<int64_t> StampBy(const TraceSource& source, uint32_t version) {
  SONDE_ASSIGN_OR_RETURN(const int64_t files, source.importer->stamp(source.path));
  if (source.importer->import == nullptr) return files;
  SONDE_ASSIGN_OR_RETURN(const int32_t rank,
                         source.importer->rank(source.path));  // may be a name's
  const uint64_t stamp =
      base::HashCombine(static_cast<uint64_t>(files), static_cast<uint64_t>(rank) + 1);
  return static_cast<int64_t>(base::HashCombine(stamp, base::HashString(SONDE_VERSION) + version));
}

// What is a store already is not made from anything.
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

bool IsWideFile(const std::string& path) {
  const auto file = base::MappedFile::Open(path);
  return file.ok() && IsWideText(file->text());
}

// By the first bytes; null: not packed, or with gzip.
const char* PackerOf(const std::string& path) {
  static constexpr std::array<std::pair<std::string_view, const char*>, 6> kPackers = {{
      {"PK\x03\x04", "zip"},
      {"\xfd"
       "7zXZ",
       "xz"},
      {"BZh", "bzip2"},
      {"\x28\xb5\x2f\xfd", "zstd"},
      {"\x04\x22\x4d\x18", "lz4"},
      {"7z\xbc\xaf", "7z"},
  }};
  const auto file = base::MappedFile::Open(path);
  if (!file.ok()) return nullptr;
  for (const auto& [begin, name] : kPackers) {
    if (file->text().starts_with(begin)) return name;
  }
  return nullptr;
}

// Choices that were made for the user; what was wrong is in the store, for whoever opens it.
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
      notify(base::Concat("no disk space for the trace store in '", full, "': it lies in '", folder,
                          "'"));
    }
    return made;
  }
  if (!made.ok()) return made;
  return base::PermissionDeniedError(
      base::Concat("cannot write the trace store to '", base::DirName(places.back().path), "' (",
                   unwritable.message(), "): set XDG_CACHE_HOME to a folder that can be written"));
}

// What the store beside a capture holds.
struct FinishedStore {
  std::unique_ptr<store::Store> store;
  int64_t rows = 0;    // slices and events of memory
  int64_t end_ns = 0;  // of its last slice
};

// The store beside the records where it was made when their files were others, else none. One made
// from the same files by another reading gives way to this one, whatever it holds.
std::optional<FinishedStore> StoreOfOtherFiles(const TraceSource& source,
                                               const store::StoreOptions& options) {
  const std::string path = StorePath(source);
  if (!source.importer->is_ours || !base::IsRegularFile(path)) return {};
  auto opened = store::Store::OpenReadOnly(path, {.threads = options.threads});
  if (!opened.ok()) return {};  // damaged, or of another version: what is read now is all there is
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

// Records that hold less than the store once made from them, and nothing later, are what is left of
// those records: they never take its place.
bool IsLessThan(const ImportSummary& read, const FinishedStore& finished) {
  return read.slices + read.memory_events < finished.rows && read.end_ns <= finished.end_ns;
}
// Where the rows of an import go.
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
  // What has been written needs not stay in memory: an import reads nothing of it again but slices.
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

std::span<const Importer> Importers() { return kImporters; }

const Importer* FindImporter(const std::string& path) {
  for (const Importer& importer : kImporters) {
    if (importer.recognises(path)) return &importer;
  }
  return nullptr;
}

Result<std::vector<TraceSource>> FindTraces(const std::string& path, int max_depth,
                                            std::vector<std::string>* unread) {
  if (!base::PathExists(path)) return base::NotFoundError(base::Concat("there is no '", path, "'"));
  const bool is_file = base::IsRegularFile(path);
  if (is_file && ::access(path.c_str(), R_OK) != 0) return base::ErrnoStatus(errno, "read", path);
  std::vector<TraceSource> found;
  std::vector<std::string> others;
  SONDE_RETURN_IF_ERROR(Search(path, max_depth, /*is_inside=*/false, found, others));
  for (const Importer& importer : kImporters) {
    if (is_file && found.empty() && importer.holds != nullptr && importer.holds(path)) {
      found.push_back({path, &importer});
      others.clear();
    }
  }
  if (unread != nullptr) *unread = std::move(others);
  return found;
}

Result<std::vector<TraceSource>> WithoutParts(std::vector<TraceSource> sources) {
  std::set<std::string> parts;
  for (const TraceSource& source : sources) {
    if (source.importer->parts == nullptr) continue;
    SONDE_ASSIGN_OR_RETURN(const auto inside, source.importer->parts(source.path));
    parts.insert(inside.begin(), inside.end());
  }
  std::erase_if(sources, [&](const TraceSource& source) {
    return parts.count(base::AbsolutePath(source.path)) > 0;
  });
  return sources;
}

Status NothingToRead(const std::string& path) {
  const bool is_folder = base::IsDirectory(path);
  if (!is_folder && !base::IsRegularFile(path)) {
    return base::NotFoundError(base::Concat("'", path, "' is neither a file nor a folder"));
  }
  if (!is_folder && IsWideFile(path)) {
    return base::InvalidArgumentError(base::Concat(
        "'", path, "' is UTF-16 or UTF-32 text: convert it to UTF-8, which traces are written in"));
  }
  if (const char* packer = is_folder ? nullptr : PackerOf(path)) {
    return base::InvalidArgumentError(
        base::Concat("'", path, "' is packed with ", packer,
                     ", which is not read: unpack it, or pack it with gzip"));
  }
  const auto entries = is_folder ? base::ListDirectory(path) : std::vector<base::DirectoryEntry>();
  const bool is_empty =
      is_folder ? entries.ok() && entries->empty() : base::FileSize(path).value_or(1) == 0;
  if (is_empty) {
    return base::NotFoundError(base::Concat("the ", is_folder ? "folder" : "file", " '", path,
                                            "' is empty: there is nothing to read"));
  }
  if (const std::string raw = SayRawRecords(path); !raw.empty()) return base::NotFoundError(raw);
  std::vector<std::string> known;
  for (const Importer& importer : kImporters) known.emplace_back(importer.what);
  return base::NotFoundError(
      base::Concat("found nothing to read in '", path, "'; known are ", base::Join(known, ", ")));
}

std::string SayUnfinished(const std::string& path) { return SayRawRecords(path); }

std::string StorePath(const TraceSource& source) {
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
  SONDE_ASSIGN_OR_RETURN(const int64_t stamp, StampToImport(source));
  auto imported = Import(source, stamp, spare, options, Rows::kMemoryOnly);
  if (imported.status().code() == base::StatusCode::kFailedPrecondition) {
    imported = Import(source, stamp, spare, options, Rows::kFile);
  }
  if (imported.ok()) NotifyOfChoices(imported->summary, notify);
  return imported;
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
  notify(base::Concat("reading ", source.importer->what, " in '", source.path, "'"));
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
