#include "importers/ascend/span.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/files.h"
#include "base/hash.h"
#include "base/host/json.h"
#include "base/host/sqlite_reader.h"
#include "base/strings.h"
#include "importers/common/part_file.h"

namespace sonde::importers {
namespace {

using base::JoinPath;

constexpr std::string_view kOutput = "ASCEND_PROFILER_OUTPUT";
constexpr std::string_view kProf = "PROF_";

bool IsTimeline(std::string_view name) {
  return name == "trace_view.json" || (name.starts_with("msprof_") && name.ends_with(".json"));
}

bool IsMetadata(std::string_view name) {
  return (name.starts_with("profiler_info") || name == "profiler_metadata.json") &&
         name.ends_with(".json");
}

void Sort(const std::string& path, const std::string& relative, AscendSpan& span) {
  const std::string_view name = base::BaseName(path);
  const SpanFile file{path, relative};
  if (IsProfilerDb(name)) {
    span.databases.push_back(file);
  } else if (name == "analysis.db" || name == "communication_analyzer.db") {
    span.analysis.push_back(file);
  } else if (IsTimeline(name)) {
    span.timelines.push_back(file);
  } else if (IsMetadata(name)) {
    span.metadata.push_back(file);
  } else if (name == "communication.json" || name == "communication_matrix.json") {
    span.texts.push_back(file);
  } else if (name.ends_with(".csv")) {
    span.tables.push_back(file);
  } else {
    span.unread.push_back(relative);
  }
}

// Folders within a span whose files are read.
bool IsPart(std::string_view name) {
  return name == kOutput || name == "mindstudio_profiler_output" || name == "analyze";
}

// The files of one folder; not those of folders in it.
void Collect(const std::string& folder, const std::string& relative, AscendSpan& span) {
  const auto entries = base::ListDirectory(folder);
  if (!entries.ok()) return;  // no such folder
  for (const base::DirectoryEntry& entry : *entries) {
    const std::string name =
        relative.empty() ? entry.name : base::Concat(relative, "/", entry.name);
    if (entry.kind != base::DirectoryEntry::Kind::kDirectory) {
      Sort(JoinPath(folder, entry.name), name, span);
    } else if (!IsPart(entry.name)) {
      span.unread.push_back(name + "/");
    }
  }
}

void CollectHostMemory(AscendSpan& span) {
  const auto entries = base::ListDirectory(JoinPath(span.folder, "FRAMEWORK"));
  if (!entries.ok()) return;
  for (const base::DirectoryEntry& entry : *entries) {
    if (!entry.name.starts_with("cpu_ms_memory_record_")) continue;
    const std::string relative = base::Concat("FRAMEWORK/", entry.name);
    span.memory.push_back({JoinPath(span.folder, relative), relative});
  }
}

bool IsEmpty(const AscendSpan& span) {
  return span.databases.empty() && span.analysis.empty() && span.tables.empty() &&
         span.timelines.empty() && span.texts.empty();
}

void CollectProf(const std::string& folder, const std::string& prefix, AscendSpan& span) {
  const auto under = [&](std::string_view name) {
    return prefix.empty() ? std::string(name) : base::Concat(prefix, "/", name);
  };
  Collect(folder, prefix, span);
  Collect(JoinPath(folder, "mindstudio_profiler_output"), under("mindstudio_profiler_output"),
          span);
  Collect(JoinPath(folder, "analyze"), under("analyze"), span);
}

}  // namespace

bool IsKnownCsv(std::string_view name) {
  for (const std::string_view known :
       {"kernel_details", "operator_details", "step_trace_time", "op_statistic", "api_statistic",
        "operator_memory", "memory_record", "op_summary", "task_time", "npu_module_mem"}) {
    if (name.starts_with(known)) return true;
  }
  return false;
}

bool IsProfilerDb(std::string_view name) {
  if (!name.ends_with(".db")) return false;
  return name.starts_with("ascend_pytorch_profiler") ||
         name.starts_with("ascend_mindspore_profiler") || name.starts_with("msprof_") ||
         name.starts_with("msmonitor_");
}

std::vector<std::string> AscendSpan::all() const {
  std::vector<std::string> paths;
  for (const auto* list :
       {&databases, &analysis, &tables, &timelines, &texts, &metadata, &memory}) {
    for (const SpanFile& file : *list) paths.push_back(file.path);
  }
  for (const DamagedFile& damaged_file : damaged) paths.push_back(damaged_file.file.path);
  return paths;
}

bool AscendSpan::has_texts() const {
  return !timelines.empty() || !texts.empty() ||
         std::any_of(tables.begin(), tables.end(),
                     [](const SpanFile& file) { return IsKnownCsv(base::BaseName(file.path)); });
}

namespace {

// "op_summary_slice_0_20250109081616.csv" -> ("op_summary.csv", "20250109081616"): table and time
// of the export; no time where the name has none.
std::pair<std::string, std::string> ExportOf(std::string_view name) {
  constexpr size_t kTimeDigits = 14;
  const size_t point = name.rfind('.');
  std::string_view stem = name.substr(0, point);
  const size_t mark = stem.rfind('_');
  if (point == std::string_view::npos || mark == std::string_view::npos) return {};
  const std::string_view time = stem.substr(mark + 1);
  if (time.size() < kTimeDigits || time.find_first_not_of("0123456789") != std::string_view::npos) {
    return {};
  }
  stem = stem.substr(0, std::min(mark, stem.find("_slice_")));
  return {base::Concat(stem, name.substr(point)), std::string(time)};
}

// A capture may have been exported several times: only the newest export of each kind is read.
void KeepNewest(std::vector<SpanFile>& files, std::vector<std::string>& unread) {
  std::map<std::string, std::string> newest;
  for (const SpanFile& file : files) {
    const auto [what, time] = ExportOf(base::BaseName(file.path));
    if (!time.empty()) newest[what] = std::max(newest[what], time);
  }
  std::erase_if(files, [&](const SpanFile& file) {
    const auto [what, time] = ExportOf(base::BaseName(file.path));
    // All layers are in msprof_<time>.json, that of the marks too.
    const bool is_part = what == "msprof_tx.json" && newest.contains("msprof.json");
    if (time.empty() || (time == newest[what] && !is_part)) return false;
    unread.push_back(file.relative);
    return true;
  });
}

void PutBestFirst(std::vector<SpanFile>& databases) {
  const auto is_framework = [](const SpanFile& file) {
    return base::BaseName(file.path).starts_with("ascend_");
  };
  std::stable_sort(databases.begin(), databases.end(), [&](const SpanFile& a, const SpanFile& b) {
    if (is_framework(a) != is_framework(b)) return is_framework(a);
    return !is_framework(a) && base::BaseName(a.path) > base::BaseName(b.path);
  });
}

// The reason why a file is no complete database; by its first page only.
Status LookAtDatabase(const SpanFile& file) {
  constexpr std::string_view kMark("SQLite format 3\0", 16);
  constexpr size_t kHead = 100;
  SONDE_ASSIGN_OR_RETURN(const base::MappedFile content,
                         base::MappedFile::Open(file.path, base::MappedFile::Access::kRandom));
  const std::string_view text = content.text();
  if (text.empty()) return base::CorruptDataError(base::Concat("'", file.relative, "' is empty"));
  if (!text.starts_with(kMark) || text.size() < kHead) {
    return base::CorruptDataError(base::Concat("'", file.relative, "' is no SQLite database"));
  }
  const auto number = [&](size_t at, size_t bytes) {
    uint64_t value = 0;
    for (const char c : text.substr(at, bytes)) value = value << 8U | static_cast<uint8_t>(c);
    return value;
  };
  // The count of pages holds where it was written with the last change.
  const uint64_t page = number(16, 2) == 1 ? uint64_t{1} << 16U : number(16, 2);
  const bool is_counted = number(24, 4) == number(92, 4);
  if (is_counted && number(28, 4) * page > text.size()) {
    return base::CorruptDataError(base::Concat("'", file.relative, "' is cut off"));
  }
  return {};
}

// The same, where texts can replace it, by its list of tables too.
Status LookCloser(const SpanFile& file) {
  const Status schema = base::CheckSchema(file.path);
  if (schema.ok()) return {};
  return base::CorruptDataError(
      base::Concat("'", file.relative, "' is damaged: ", schema.message()));
}

// Where there is nothing else to read, the database that was named or found is opened all the same,
// and its reader reports the damage or saves what it can.
void SetDamagedAside(AscendSpan& span) {
  std::vector<SpanFile> good;
  std::vector<DamagedFile> damaged;
  for (const SpanFile& file : span.databases) {
    Status why = LookAtDatabase(file);
    if (why.ok() && span.has_texts()) why = LookCloser(file);
    if (why.ok()) {
      good.push_back(file);
    } else {
      damaged.push_back({file, std::move(why)});
    }
  }
  if (good.empty() && !span.has_texts()) return;
  span.databases = std::move(good);
  span.damaged = std::move(damaged);
}

// Of a database of any name.
bool HoldsProfilerTables(const std::string& path) {
  if (!LookAtDatabase({path, path}).ok()) return false;
  const auto reader = base::SqliteReader::Open(path);
  return reader.ok() && reader->HasTable("STRING_IDS") &&
         (reader->HasTable("TASK") || reader->HasTable("CANN_API") ||
          reader->HasTable("PYTORCH_API"));
}

// The PROF_* folders of a span whose framework's layer wrote nothing; one of them is read. None
// where each is a trace of its own: without a framework's layer, and with several of them or with
// folders of ranks in the same folder.
std::vector<std::string> ProfsOf(const AscendSpan& span) {
  std::vector<std::string> profs;
  bool is_span = !span.metadata.empty();
  bool has_ranks = false;
  const auto entries = base::ListDirectory(span.folder);
  if (!entries.ok()) return {};
  for (const base::DirectoryEntry& entry : *entries) {
    const std::string_view name = entry.name;
    if (!base::IsDirectory(JoinPath(span.folder, entry.name))) continue;
    if (name.starts_with(kProf)) profs.push_back(entry.name);
    is_span |= name == "FRAMEWORK";
    has_ranks |= name.ends_with("_ascend_pt") || name.ends_with("_ascend_ms");
  }
  const bool is_one = is_span || (profs.size() == 1 && !has_ranks);
  return is_one ? profs : std::vector<std::string>();
}

AscendSpan FindFiles(const std::string& path) {
  AscendSpan span;
  span.folder = path;
  if (base::IsRegularFile(path)) {
    span.folder = std::string(base::DirName(path));
    Sort(path, std::string(base::BaseName(path)), span);
    if (span.unread.size() == 1 && HoldsProfilerTables(path)) {
      span.databases.push_back({path, std::exchange(span.unread, {}).front()});
    }
    return span;
  }
  const std::string absolute = base::AbsolutePath(path);
  if (base::BaseName(absolute) == kOutput) span.folder = std::string(base::DirName(absolute));
  Collect(span.folder, "", span);
  Collect(JoinPath(span.folder, kOutput), std::string(kOutput), span);
  if (!IsEmpty(span)) {
    CollectHostMemory(span);
    return span;
  }
  // Not analysed by the framework's layer: the files of the device tool.
  if (base::BaseName(absolute).starts_with(kProf)) {
    CollectProf(span.folder, "", span);
    return span;
  }
  const std::vector<std::string> profs = ProfsOf(span);
  for (const std::string& name : profs) {
    CollectProf(JoinPath(span.folder, name), name, span);
    if (!IsEmpty(span)) break;
  }
  return span;
}

// The framework's timeline holds all of the device tool's: together everything would be there
// twice.
void KeepWholeTimeline(AscendSpan& span) {
  const auto is_whole = [](const SpanFile& file) {
    return base::BaseName(file.path) == "trace_view.json";
  };
  if (std::ranges::none_of(span.timelines, is_whole)) return;
  for (const SpanFile& file : span.timelines) {
    if (!is_whole(file)) span.unread.push_back(file.relative);
  }
  std::erase_if(span.timelines, [&](const SpanFile& file) { return !is_whole(file); });
}

}  // namespace

AscendSpan FindSpan(const std::string& path) {
  AscendSpan span = FindFiles(path);
  PutBestFirst(span.databases);
  KeepNewest(span.tables, span.unread);
  KeepNewest(span.timelines, span.unread);
  KeepWholeTimeline(span);
  SetDamagedAside(span);
  return span;
}

void CountUnread(const AscendSpan& span, store::ImportIssues& issues) {
  constexpr store::IssueKind kUnread{"files_not_read", store::Severity::kInfo, ""};
  constexpr size_t kNamed = 12;
  for (const DamagedFile& damaged : span.damaged) {
    CountUnreadable(damaged.file.relative, damaged.why, issues);
  }
  if (span.unread.empty()) return;
  std::vector<std::string> names = span.unread;
  const size_t more = names.size() > kNamed ? names.size() - kNamed : 0;
  names.resize(names.size() - more);
  issues.AddText(
      kUnread, base::BaseName(span.folder),
      base::Concat("no table is filled from these: ", base::Join(names, ", "),
                   more > 0 ? base::Concat(" and ", std::to_string(more), " more") : ""));
}

Result<int64_t> SpanStamp(const AscendSpan& span) {
  uint64_t stamp = 0;
  for (const std::string& path : span.all()) {
    stamp = base::HashString(base::BaseName(path), stamp);
    stamp = base::HashCombine(stamp, PartStamp(path));
    // The log of another viewer that is not in the database yet.
    if (base::FileSize(path + "-wal").value_or(0) == 0) continue;
    stamp = base::HashCombine(stamp, PartStamp(path + "-wal"));
  }
  return static_cast<int64_t>(stamp);
}

namespace {

int32_t RankNumber(std::string_view text) {
  const auto rank = base::ParseInt64(text);
  return rank && *rank >= 0 && *rank < INT32_MAX ? static_cast<int32_t>(*rank) : -1;
}

// MindSpore's profiler of a CPU writes no profiler_info.json; its own files end in the rank.
int32_t RankOfFramework(const std::string& folder) {
  constexpr std::string_view kOperators = "cpu_op_execute_timestamp_";
  const auto entries = base::ListDirectory(JoinPath(folder, "FRAMEWORK"));
  if (!entries.ok()) return -1;  // no such folder
  for (const base::DirectoryEntry& entry : *entries) {
    std::string_view name = entry.name;
    if (!name.starts_with(kOperators) || !name.ends_with(".txt")) continue;
    name.remove_prefix(kOperators.size());
    return RankNumber(name.substr(0, name.find('.')));
  }
  return -1;
}

}  // namespace

int32_t SpanRank(const AscendSpan& span) {
  for (const SpanFile& file : span.metadata) {
    if (!base::BaseName(file.path).starts_with("profiler_info")) continue;
    const auto info = base::JsonDocument::ReadFile(file.path);
    if (!info.ok()) continue;
    const base::JsonValue rank = info->root()["rank_id"];
    if (rank.IsString()) return RankNumber(rank.AsString().value_or(""));
    if (const auto value = rank.AsInt(); value.ok()) return RankNumber(std::to_string(*value));
  }
  std::vector<SpanFile> databases = span.databases;
  for (const DamagedFile& damaged : span.damaged) databases.push_back(damaged.file);
  for (const SpanFile& file : databases) {
    std::string_view name = base::BaseName(file.path);
    if (name.starts_with("msprof_")) continue;  // the number is a time
    if (!IsProfilerDb(name)) continue;          // renamed
    name.remove_suffix(3);
    return RankNumber(name.substr(name.rfind('_') + 1));
  }
  return RankOfFramework(span.folder);
}

}  // namespace sonde::importers
