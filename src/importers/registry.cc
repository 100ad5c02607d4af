#include "importers/registry.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <set>
#include <utility>

#include "base/files.h"
#include "base/strings.h"
#include "importers/ascend/raw_records.h"
#include "importers/ascend/world.h"
#include "importers/ascend_db/ascend_db.h"
#include "importers/ascend_db/sample.h"
#include "importers/ascend_raw/import.h"
#include "importers/ascend_text/ascend_text.h"
#include "importers/capture/import.h"
#include "importers/capture/sample.h"
#include "importers/chrome_trace/import.h"
#include "importers/common/part_file.h"
#include "importers/kineto/import.h"
#include "importers/mindspore/import.h"
#include "importers/server/server.h"
#include "importers/stored/stored.h"
#include "importers/torch_trace/import.h"
#include "importers/trace_events/sample.h"

namespace sonde::importers {
namespace {

constexpr std::array kImporters = {
    Importer{.name = "server",
             .one = "session of a server",
             .what = "sessions of a server",
             .version = 13,
             .recognises = IsServerSession,
             .rank = ServerSessionRank,
             .stamp = ServerSessionStamp,
             .import = ImportServerSession,
             .is_ours = true,
             .fills_memory = true,
             .is_of_server = true,
             .parts = ServerSessionParts},
    Importer{.name = "capture",
             .one = "capture of Sonde",
             .what = "captures of Sonde",
             .version = 18,
             .recognises = IsCapture,
             .rank = CaptureRank,
             .stamp = CaptureStamp,
             .import = ImportCapture,
             .is_ours = true,
             .fills_memory = true,
             .preview = WriteCapturePreview,
             .remove_records = RemoveRawRecords,
             .is_helper = IsHelperCapture,
             .world = CaptureWorld},
    Importer{.name = "stored",
             .one = "store of Sonde",
             .what = "stores of Sonde",
             .version = 10,
             .recognises = IsStored,
             .rank = StoredRank,
             .stamp = StoredStamp,
             .import = nullptr,
             .is_ours = true,
             .is_helper = IsHelperStored},
    Importer{.name = "comparison",
             .one = "comparison of values",
             .what = "comparisons of values",
             .recognises = IsComparison,
             .rank = ComparisonRank,
             .stamp = ComparisonStamp,
             .import = nullptr,
             .is_ours = true,
             .holds_trace = false,
             .holds = HoldsComparison},
    Importer{.name = "ascend_raw",
             .one = "folder of raw records of Ascend's profilers",
             .what = "raw records of Ascend's profilers",
             .version = 9,
             .recognises = IsAscendRaw,
             .rank = AscendRawRank,
             .stamp = AscendRawStamp,
             .import = ImportAscendRaw,
             .lacks_results = AscendRawLacksResults,
             .world = AscendWorld},
    Importer{.name = "ascend_db",
             .one = "database of Ascend's profilers",
             .what = "databases of Ascend's profilers",
             .version = 17,
             .recognises = IsAscendDb,
             .rank = AscendDbRank,
             .stamp = AscendDbStamp,
             .import = ImportAscendDb,
             .reads_by_table = true,
             .left_out = SayRawRecords,
             .preview = WriteAscendDbPreview,
             .world = AscendWorld},
    Importer{.name = "ascend_text",
             .one = "folder of text deliverables of Ascend's profilers",
             .what = "text deliverables of Ascend's profilers",
             .version = 16,
             .recognises = IsAscendText,
             .rank = AscendTextRank,
             .stamp = AscendTextStamp,
             .import = ImportAscendText,
             .left_out = SayRawRecords,
             .preview = trace_events::WriteTimelinePreview,
             .world = AscendWorld},
    Importer{.name = "mindspore",
             .one = "set of records of MindSpore's profilers",
             .what = "records of MindSpore's profilers",
             .version = 10,
             .recognises = IsMindspore,
             .rank = MindsporeRank,
             .stamp = MindsporeStamp,
             .import = ImportMindspore,
             .left_out = SayRawRecords},
    Importer{.name = "torch_trace",
             .one = "log of torch's compiler (TORCH_TRACE)",
             .what = "logs of torch's compiler (TORCH_TRACE)",
             .version = 1,
             .recognises = IsTorchTrace,
             .rank = TorchTraceRank,
             .stamp = TorchTraceStamp,
             .import = ImportTorchTrace,
             .holds = HoldsTorchTrace},
    Importer{.name = "kineto",
             .one = "trace of the PyTorch profiler",
             .what = "traces of the PyTorch profiler",
             .version = 18,
             .recognises = IsKineto,
             .rank = KinetoRank,
             .stamp = KinetoStamp,
             .import = ImportKineto,
             .holds = HoldsKineto,
             .preview = trace_events::WriteTimelinePreview,
             .world = KinetoWorld},
    // Last: takes every list of trace events.
    Importer{.name = "chrome_trace",
             .one = "file of trace events",
             .what = "trace events",
             .version = 12,
             .recognises = IsChromeTrace,
             .rank = ChromeTraceRank,
             .stamp = ChromeTraceStamp,
             .import = ImportChromeTrace,
             .holds = HoldsChromeTrace,
             .preview = trace_events::WriteTimelinePreview},
};

// Output of analyses of several ranks in the same folder; copies of ranks may be in it. And what
// they keep of each rank.
constexpr std::string_view kResultsOfRanks = "cluster_analysis_output";
constexpr std::string_view kPartsOfRanks = "cluster_parts";

// `is_inside`: below the path that the user named.
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
  if (!entries.ok() && is_inside) {  // the other files can be read
    unread.push_back(path);
    return {};
  }
  SONDE_RETURN_IF_ERROR(entries.status());
  for (const base::DirectoryEntry& entry : *entries) {
    const std::string inside = base::JoinPath(path, entry.name);
    if (entry.name.starts_with('.') || entry.name == kResultsOfRanks ||
        entry.name == kPartsOfRanks ||
        (!base::IsDirectory(inside) && !base::IsRegularFile(inside))) {
      continue;
    }
    SONDE_RETURN_IF_ERROR(Search(inside, max_depth - 1, /*is_inside=*/true, found, unread));
  }
  return {};
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

// Choices that were made for the user; problems are in the store, for its readers.
}  // namespace

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

}  // namespace sonde::importers
