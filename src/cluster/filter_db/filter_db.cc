// filter_db: a smaller copy of each rank, which every reader of such traces takes for the trace.
//
// Rows that stay: ranks of --rank_list, rows that begin in --step_id or --time_range, tables of
// --tables, kernels and calls from --min_duration on (10 us), all communication operations;
// smaller_db.h has the rules. Databases are copied as they are declared; of a rank without one
// (text, traces of other tools, captures) the database that 'sonde analyse --export-type db' makes
// is the source, which holds what the tables of the store do. analysis.db is of whole steps: with
// --time_range or --tables it stays away, and modes compute its rows. Files go to FilterDb/<folder
// of the rank> of the results; those of an earlier run go. Pure but for these files, any thread.
#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "base/files.h"
#include "base/host/private_folder.h"
#include "base/host/sqlite_reader.h"
#include "base/strings.h"
#include "cluster/filter_db/smaller_db.h"
#include "cluster/frame/add_finding.h"
#include "cluster/frame/facts.h"
#include "exporters/ascend_db/ascend_db.h"
#include "importers/ascend/span.h"

namespace sonde::cluster {
namespace {

using base::Concat;
using base::JoinPath;
using importers::AscendSpan;
using importers::SpanFile;

constexpr std::string_view kFilterDbFolder = "FilterDb";
constexpr std::string_view kOutput = "ASCEND_PROFILER_OUTPUT";

struct Copied {
  std::string folder;  // below kFilterDbFolder
  SmallerDb db;
};

std::string RootOf(const ModeOptions& options) {
  return JoinPath(options.result_folder, kFilterDbFolder);
}

// As the rank lies below -d, so that ranks of one name on several hosts stay apart.
std::string FolderOf(const std::string& path, const ModeOptions& options) {
  const auto place = std::filesystem::path(base::AbsolutePath(path))
                         .lexically_relative(base::AbsolutePath(options.profiling_path))
                         .string();
  const bool is_below = !place.empty() && place != "." && !place.starts_with("..");
  return is_below ? place : std::string(base::BaseName(base::AbsolutePath(path)));
}

StepWindow Both(const StepWindow& a, const StepWindow& b) {
  return {std::max(a.begin_ns, b.begin_ns), std::min(a.end_ns, b.end_ns)};
}

// "100,200", in nanoseconds.
std::optional<StepWindow> ParseTimeRange(std::string_view text) {
  const auto parts = base::Split(text, ',');
  if (parts.size() != 2) return std::nullopt;
  const auto begin = base::ParseInt64(base::Trim(parts[0]));
  const auto end = base::ParseInt64(base::Trim(parts[1]));
  if (!begin || !end || *begin > *end) return std::nullopt;
  return StepWindow{*begin, *end};
}

Status CheckTimeRange(std::string_view value) {
  if (ParseTimeRange(value)) return {};
  return base::InvalidArgumentError(
      Concat("must be two numbers, the smaller first, like 100,200, not '", value, "'"));
}

Status CheckDuration(std::string_view value) {
  const auto number = base::ParseDouble(value);
  if (number && *number >= 0) return {};
  return base::InvalidArgumentError(Concat("must be a number of at least 0, not '", value, "'"));
}

constexpr ModeOption kTimeRange = {
    .name = "--time_range",
    .help = "BEGIN,END in nanoseconds, as the databases have them: what begins in it",
    .check = &CheckTimeRange};
constexpr ModeOption kFilterTables = {
    .name = "--tables", .help = "Tables that stay, as TASK,COMMUNICATION_OP; the others go"};
constexpr ModeOption kMinDuration = {.name = "--min_duration",
                                     .kind = OptionKind::kReal,
                                     .help = "Microseconds that a kernel or call must take to stay",
                                     .usual = "10",
                                     .check = &CheckDuration};
constexpr std::array kFilterDbOptions = {&kTimeRange, &kFilterTables, &kMinDuration};

// Empty: all.
std::vector<std::string> WantedTables(const ModeOptions& options) {
  std::vector<std::string> tables;
  const std::string text = TextOf(options.values, kFilterTables);
  for (const std::string_view table : base::Split(text, ',')) {
    if (!base::Trim(table).empty()) tables.emplace_back(base::Trim(table));
  }
  return tables;
}

SmallerOptions OptionsOf(const StepWindow& step, const ModeOptions& options) {
  constexpr double kNsPerUs = 1000;
  const auto range = ParseTimeRange(TextOf(options.values, kTimeRange));
  return {.window = range ? Both(step, *range) : step,
          .min_dur_ns = static_cast<int64_t>(RealOf(options.values, kMinDuration) * kNsPerUs),
          .tables = WantedTables(options)};
}

bool KeepsAnalysis(const ModeOptions& options) {
  return !IsGiven(options.values, kTimeRange) && WantedTables(options).empty();
}

// Nothing where the database has no steps; an error where it has others.
Result<bool> FindStep(const std::string& database, int64_t step_id, StepWindow& window) {
  SONDE_ASSIGN_OR_RETURN(const auto reader, base::SqliteReader::Open(database));
  std::vector<int32_t> ids;
  bool is_found = false;
  SONDE_RETURN_IF_ERROR(
      reader.Read("STEP_TIME", {"id", "startNs", "endNs"}, [&](const base::SqliteRow& row) {
        const auto id = row.Int(0);
        const auto begin = row.Int(1);
        const auto end = row.Int(2);
        if (!id || !begin || !end) return;
        ids.push_back(static_cast<int32_t>(*id));
        if (*id != step_id) return;
        window = {*begin, *end};
        is_found = true;
      }));
  if (!is_found && !ids.empty()) return NoSuchStep(step_id, ids);
  return is_found;
}

Status CopyAnalysis(const AscendSpan& span, const std::string& folder, int64_t step_id) {
  for (const SpanFile& file : span.analysis) {
    const std::string target = JoinPath(folder, file.relative);
    SONDE_RETURN_IF_ERROR(base::MakeDirectories(std::string(base::DirName(target)), 0750));
    SONDE_RETURN_IF_ERROR(WriteStepOfAnalysis(file.path, target, step_id));
  }
  return {};
}

// Tables that describe the rank, its groups and its device.
Status CopyMetadata(const AscendSpan& span, const std::string& folder) {
  for (const SpanFile& file : span.metadata) {
    SONDE_ASSIGN_OR_RETURN(const std::string bytes, base::ReadFile(file.path));
    const std::string target = JoinPath(folder, file.relative);
    SONDE_RETURN_IF_ERROR(base::MakeDirectories(std::string(base::DirName(target)), 0750));
    SONDE_RETURN_IF_ERROR(base::WriteFileAtomically(target, bytes));
  }
  return {};
}

Result<base::AtomicDirectory> Begin(const std::string& name, const ModeOptions& options) {
  const std::string folder = JoinPath(RootOf(options), name);
  SONDE_RETURN_IF_ERROR(base::MakeDirectories(std::string(base::DirName(folder)), 0750));
  return base::AtomicDirectory::Create(folder);
}

Status CopyDatabase(const std::string& from, const std::string& to, const SmallerOptions& options,
                    Copied& copied) {
  SONDE_RETURN_IF_ERROR(base::MakeDirectories(std::string(base::DirName(to)), 0750));
  SONDE_ASSIGN_OR_RETURN(copied.db, WriteSmallerDb(from, to, options));
  return {};
}

void KeepCopied(Copied copied, const ModeOptions& options, Part& part) {
  part.Rows<ResultPath>().push_back({JoinPath(RootOf(options), copied.folder)});
  part.Rows<Copied>().push_back(std::move(copied));
}

Result<bool> MapFiles(const RankFiles& rank, Part& part) {
  const AscendSpan span = importers::FindSpan(rank.path);
  if (span.databases.empty()) return false;
  const SpanFile& database = span.databases.front();  // the one that is read
  StepWindow step;
  if (rank.options.step_id >= 0) {
    SONDE_ASSIGN_OR_RETURN(const bool has_step,
                           FindStep(database.path, rank.options.step_id, step));
    if (!has_step) return false;
  }
  Copied copied{.folder = FolderOf(rank.path, rank.options), .db = {}};
  SONDE_ASSIGN_OR_RETURN(auto folder, Begin(copied.folder, rank.options));
  const std::string& place = folder.temporary_path();
  SONDE_RETURN_IF_ERROR(CopyDatabase(database.path, JoinPath(place, database.relative),
                                     OptionsOf(step, rank.options), copied));
  SONDE_RETURN_IF_ERROR(CopyMetadata(span, place));
  if (KeepsAnalysis(rank.options)) {
    SONDE_RETURN_IF_ERROR(CopyAnalysis(span, place, rank.options.step_id));
  }
  SONDE_RETURN_IF_ERROR(folder.Commit());
  KeepCopied(std::move(copied), rank.options, part);
  return true;
}

// The name by which readers know the rank.
Status CopyExported(const RankInput& rank, const std::string& from, const std::string& to,
                    Copied& copied) {
  SONDE_ASSIGN_OR_RETURN(const auto entries, base::ListDirectory(from));
  for (const base::DirectoryEntry& entry : entries) {
    const std::string path = JoinPath(from, entry.name);
    if (importers::IsProfilerDb(entry.name)) {
      const std::string name = Concat("ascend_pytorch_profiler_", std::to_string(rank.rank), ".db");
      SONDE_RETURN_IF_ERROR(CopyDatabase(path, JoinPath(JoinPath(to, kOutput), name),
                                         OptionsOf(rank.window, rank.options), copied));
    } else if (KeepsAnalysis(rank.options)) {
      SONDE_RETURN_IF_ERROR(WriteStepOfAnalysis(path, JoinPath(JoinPath(to, kOutput), entry.name),
                                                rank.options.step_id));
    }
  }
  return {};
}

Status MapFilterDb(const RankInput& rank, Part& part) {
  if (rank.data().tasks.empty() && rank.data().communications.empty() && rank.data().ops.empty()) {
    return {};
  }
  SONDE_ASSIGN_OR_RETURN(const auto whole, base::PrivateFolder::Make("filter_db"));
  SONDE_RETURN_IF_ERROR(exporters::ExportAscendDb({.view = rank.view,
                                                   .span_folder = whole->path(),
                                                   .output_folder = whole->path(),
                                                   .span_name = "rank"}));
  Copied copied{.folder = FolderOf(rank.path, rank.options), .db = {}};
  SONDE_ASSIGN_OR_RETURN(auto folder, Begin(copied.folder, rank.options));
  SONDE_RETURN_IF_ERROR(base::MakeDirectories(JoinPath(folder.temporary_path(), kOutput), 0750));
  SONDE_RETURN_IF_ERROR(CopyExported(rank, whole->path(), folder.temporary_path(), copied));
  SONDE_RETURN_IF_ERROR(CopyMetadata(importers::FindSpan(rank.path), folder.temporary_path()));
  SONDE_RETURN_IF_ERROR(folder.Commit());
  KeepCopied(std::move(copied), rank.options, part);
  return {};
}

// Of ranks that an earlier run chose and this one did not.
Status RemoveOthers(const ModeOptions& options, const std::set<std::string>& kept) {
  SONDE_ASSIGN_OR_RETURN(const auto entries, base::ListDirectory(RootOf(options)));
  for (const base::DirectoryEntry& entry : entries) {
    const bool is_kept = std::ranges::any_of(kept, [&](const std::string& folder) {
      return folder == entry.name || folder.starts_with(Concat(entry.name, "/"));
    });
    if (is_kept) continue;
    SONDE_RETURN_IF_ERROR(base::RemoveTree(JoinPath(RootOf(options), entry.name)));
  }
  return {};
}

void ReportUnknownTables(const ModeOptions& options, const std::set<std::string>& known,
                         Outcome& outcome) {
  for (const std::string& table : WantedTables(options)) {
    const bool is_known = std::ranges::any_of(known, [&](const std::string& name) {
      return base::ToLower(name) == base::ToLower(table);
    });
    if (!is_known) outcome.notices.push_back(Concat("no rank has a table '", table, "'"));
  }
}

Status ReduceFilterDb(std::span<const RankPart> ranks, const ModeOptions& options,
                      Outcome& outcome) {
  SmallerDb sum;
  std::set<std::string> folders;
  std::set<std::string> tables;
  for (const RankPart& rank : ranks) {
    for (const Copied& copied : rank.part.Rows<Copied>()) {
      outcome.files.push_back(JoinPath(RootOf(options), copied.folder));
      folders.insert(copied.folder);
      tables.insert(copied.db.tables.begin(), copied.db.tables.end());
      sum.bytes_before += copied.db.bytes_before;
      sum.bytes_after += copied.db.bytes_after;
      sum.rows_before += copied.db.rows_before;
      sum.rows_after += copied.db.rows_after;
    }
  }
  SONDE_RETURN_IF_ERROR(RemoveOthers(options, folders));
  ReportUnknownTables(options, tables, outcome);
  AddFinding(outcome, "cluster.filtered",
             {std::to_string(folders.size()), base::FormatBytes(sum.bytes_before),
              base::FormatBytes(sum.bytes_after), std::to_string(sum.rows_before),
              std::to_string(sum.rows_after), RootOf(options)})
      .value = static_cast<double>(sum.bytes_after);
  return {};
}

}  // namespace

extern const Mode kFilterDbMode;
constexpr Mode kFilterDbMode = {
    .name = "filter_db",
    .folder = kFilterDbFolder,
    .summary = "A smaller copy of each rank: a step or time, some tables, no short events",
    .tables = {},
    .needs = {.waits = true},
    .wants = kWantsKernels,
    .options = kFilterDbOptions,
    .writes_files = true,
    .map_files = &MapFiles,
    .map = &MapFilterDb,
    .reduce = &ReduceFilterDb};

}  // namespace sonde::cluster
