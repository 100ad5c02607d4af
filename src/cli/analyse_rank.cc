#include "cli/analyse_rank.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "base/files.h"
#include "base/host/parallel.h"
#include "base/strings.h"
#include "exporters/registry.h"
#include "exporters/span_files.h"
#include "importers/import_trace.h"
#include "job/job.h"
#include "recipes/trace/device_view.h"
#include "recipes/trace/trace_data.h"

namespace sonde::cli {
namespace {

using base::Concat;
using base::JoinPath;

constexpr std::string_view kOutputFolder = "ASCEND_PROFILER_OUTPUT";
constexpr std::string_view kDoneFile = "analyse.done";

// The folder that holds SONDE and the deliverables, whichever of the two was named.
// Values of --export-type that the capture asks for, without what we do not know.
std::vector<std::string> ExportTypes(const AnalyseOptions& options,
                                     const recipes::CaptureSettings& settings) {
  std::vector<std::string> types;
  for (const std::string& type :
       options.export_types.empty() ? settings.export_types : options.export_types) {
    const exporters::Exporter* exporter = exporters::FindExporter(type);
    const bool is_known = exporter != nullptr && !exporter->is_of_server;
    if (is_known && std::find(types.begin(), types.end(), type) == types.end()) {
      types.push_back(type);
    }
  }
  if (types.empty()) types.emplace_back("text");
  return types;
}

// Refuses what a disk has no room for, before it is filled; what takes little is tried.
Status CheckRoom(const std::vector<std::string>& types, const recipes::TraceData& data,
                 const std::string& folder) {
  constexpr uint64_t kLittle = uint64_t{16} << 20;
  const auto bytes_of = [&](std::string_view type) {
    return exporters::LeastBytesOf(*exporters::FindExporter(type), data);
  };
  uint64_t needed = 0;
  for (const std::string& type : types) needed += bytes_of(type);
  if (needed < kLittle) return {};
  const Result<uint64_t> free = base::FreeDiskBytes(folder);
  if (!free.ok() || needed <= *free) return {};
  std::string message = Concat("the deliverables take at least ", base::FormatBytes(needed),
                               ", and ", base::FormatBytes(*free), " are free for '", folder,
                               "': free some disk space or name a folder of another disk with -o");
  if (types != std::vector<std::string>{"db"} && bytes_of("db") < *free) {
    message += ", or ask for less with --export-type db";
  }
  return base::ResourceExhaustedError(std::move(message));
}

class RankExport {
 public:
  RankExport(store::Store& store, const recipes::DeviceView& view, std::string span_folder,
             const AnalyseOptions& options, bool is_whole, bool is_ours)
      : store_(store),
        view_(view),
        span_name_(base::BaseName(span_folder)),
        folder_(options.output_folder.empty() ? std::move(span_folder)
                                              : JoinPath(options.output_folder, span_name_)),
        types_(ExportTypes(options, view.settings)),
        threads_(options.threads),
        is_whole_(is_whole),
        has_span_files_(is_ours || !options.output_folder.empty()) {}

  // The store's file is for later questions: where nobody asks it now, it is made behind the
  // deliverables, or in parallel where they leave processors idle.
  Status RunAndPublish() {
    const bool is_asked = std::any_of(types_.begin(), types_.end(), [](const auto& type) {
      return exporters::FindExporter(type)->queries_store;
    });
    if (is_asked || store_.rows() == nullptr) {
      if (!store_.is_complete()) SONDE_RETURN_IF_ERROR(store_.Publish());
      const Status exported = Run(&store_);
      export_failed_ = !exported.ok();
      return exported;
    }
    Status published;
    std::optional<base::TaskGroup> background;
    if (std::any_of(types_.begin(), types_.end(), [this](const auto& type) {
          return exporters::LeavesIdle(*exporters::FindExporter(type), threads_);
        })) {
      background.emplace(threads_);
      background->Run([&] { published = store_.Publish(); });
    }
    const Status exported = Run(nullptr);
    export_failed_ = !exported.ok();
    if (background) {
      background->Wait();
    } else {
      published = store_.Publish();
    }
    SONDE_RETURN_IF_ERROR(exported);
    return published;
  }

  std::vector<std::string> TakeWritten() { return std::move(written_); }
  const std::vector<std::string>& types() const { return types_; }
  const std::string& folder() const { return folder_; }
  std::vector<std::string> LeftOutSentences() const { return left_out_.Sentences(); }

  // Whether RunAndPublish failed, and not for the sake of the store.
  bool export_failed() const { return export_failed_; }

 private:
  // `store`: null where it cannot be queried yet.
  Status Run(const store::Store* store) {
    SONDE_RETURN_IF_ERROR(CheckRoom(types_, *view_.data, folder_));
    SONDE_RETURN_IF_ERROR(base::MakeDirectories(folder_));
    const bool needs_output = std::any_of(types_.begin(), types_.end(), [](const auto& type) {
      return exporters::FindExporter(type)->in_output_folder;
    });
    std::optional<base::AtomicDirectory> output;
    if (needs_output) {
      SONDE_ASSIGN_OR_RETURN(output,
                             base::AtomicDirectory::Create(JoinPath(folder_, kOutputFolder)));
    }
    const exporters::ExportContext context{
        .view = view_,
        .span_folder = folder_,
        .output_folder = output ? output->temporary_path() : std::string(),
        .span_name = span_name_,
        .threads = threads_,
        .store = store,
        .left_out = &left_out_};
    for (const std::string& type : types_) {
      SONDE_RETURN_IF_ERROR(exporters::FindExporter(type)->run(context).Annotate(
          Concat("while writing ", type, " deliverables")));
    }
    if (has_span_files_) SONDE_RETURN_IF_ERROR(exporters::WriteSpanFiles(context));
    if (!output) {
      written_.push_back(folder_);
      return {};
    }
    if (is_whole_) {
      SONDE_RETURN_IF_ERROR(
          base::WriteFileAtomically(JoinPath(output->temporary_path(), kDoneFile), ""));
    }
    written_.push_back(output->path());
    return output->Commit();
  }

  store::Store& store_;
  const recipes::DeviceView& view_;
  std::string span_name_;
  std::string folder_;
  std::vector<std::string> types_;
  int threads_;
  bool is_whole_;        // nothing of the trace is left to be worked on: only then it is done
  bool has_span_files_;  // else the folder's are those of another profiler
  std::vector<std::string> written_;
  exporters::LeftOut left_out_;
  bool export_failed_ = false;
};

// Whether the store holds everything of the raw records, now and later.
bool IsWhole(const recipes::TraceData& data) {
  return std::all_of(data.issues.begin(), data.issues.end(), [](const auto& issue) {
    return issue.severity == "info" && issue.code != "capture_no_end";
  });
}

// Whether a capture without records lost none: what killed the process, or the length of its
// clock's tick, does not affect records.
bool HadNoRecords(const recipes::TraceData& data) {
  return std::all_of(data.issues.begin(), data.issues.end(), [](const auto& issue) {
    return issue.severity == "info" || issue.code == "clock_rate_guessed";
  });
}

Status Simplify(const importers::TraceSource& source, const store::Store& store,
                const recipes::DeviceView& view, const AnalyseOptions& options) {
  const bool is_wanted = options.data_simplification.value_or(view.settings.data_simplification) &&
                         options.output_folder.empty() &&
                         source.importer->remove_records != nullptr;
  // The store takes the place of the records: one in the cache folder does not last.
  if (!is_wanted || !IsWhole(*view.data) || store.path() != importers::StorePath(source)) return {};
  return source.importer->remove_records(source.path);
}

Result<AnalysedRank> SummariseOnly(const importers::TraceSource& source,
                                   const std::string& span_folder, int threads) {
  const auto ignore_notices = [](std::string_view) {};
  SONDE_ASSIGN_OR_RETURN(const auto store,
                         importers::OpenOrImport(source, {.threads = threads}, ignore_notices));
  SONDE_ASSIGN_OR_RETURN(const recipes::TraceData data, recipes::TraceData::Load(*store, threads));
  AnalysedRank result;
  const recipes::DeviceView view = recipes::DeviceView::Make(data);
  result.summary = recipes::Summarise(view);
  result.arrivals = recipes::ArrivalsOf(view);
  result.span_name = base::BaseName(span_folder);
  result.written.push_back(JoinPath(span_folder, kOutputFolder));
  return result;
}

// Whether rows of imported files are kept, though no table of ours has any: they can be written
// again.
Result<bool> KeepsRows(const importers::TraceSource& source, const store::Store& store) {
  if (source.importer->is_ours) return false;
  SONDE_ASSIGN_OR_RETURN(const auto kept, store.Query("SELECT sum(row_count) FROM source_table"));
  return !kept.IsNull(0, 0) && kept.Int(0, 0) > 0;
}

// With the store's file at that path. `export_failed`: see RankExport.
Result<AnalysedRank> AnalyseWithStore(const importers::TraceSource& source,
                                      const std::string& store_path, const AnalyseOptions& options,
                                      bool& export_failed) {
  SONDE_ASSIGN_OR_RETURN(
      const importers::ImportedTrace imported,
      importers::ImportUnpublished(source, store_path, {.threads = options.threads}));
  SONDE_ASSIGN_OR_RETURN(const recipes::TraceData data,
                         recipes::TraceData::Load(*imported.store, options.threads));
  const bool is_empty = data.slices.empty() && data.memory_events.empty() && data.marks.empty() &&
                        data.counters.empty();
  SONDE_ASSIGN_OR_RETURN(const bool keeps_rows, KeepsRows(source, *imported.store));
  if (is_empty && !keeps_rows) {
    if (source.importer->is_ours && HadNoRecords(data)) {
      AnalysedRank empty;
      empty.is_empty = true;
      return empty;
    }
    std::string reason = "the capture holds no records";
    for (const recipes::ImportIssue& issue : data.issues) {
      if (issue.severity == "error") reason += Concat(": ", issue.advice);
    }
    return base::CorruptDataError(std::move(reason));
  }
  const recipes::DeviceView view = recipes::DeviceView::Make(data);
  const std::string span_folder = job::SpanFolder(source.path);
  const bool is_whole =
      source.importer->left_out == nullptr || source.importer->left_out(source.path).empty();
  RankExport rank_export(*imported.store, view, span_folder, options, is_whole,
                         source.importer->is_ours);
  const Status done = rank_export.RunAndPublish();
  export_failed = rank_export.export_failed();
  SONDE_RETURN_IF_ERROR(done);
  AnalysedRank result;
  if (imported.kept_finished.empty()) {
    SONDE_RETURN_IF_ERROR(Simplify(source, *imported.store, view, options));
  } else {
    result.notices.push_back(imported.kept_finished);
  }
  for (std::string& sentence : rank_export.LeftOutSentences()) {
    result.notices.push_back(Concat(span_folder, ": ", sentence));
  }
  result.summary = recipes::Summarise(view);
  result.span_name = base::BaseName(span_folder);
  result.written = rank_export.TakeWritten();
  result.arrivals = recipes::ArrivalsOf(view);
  // Waits reported by other tools stay.
  if (source.importer->is_ours) {
    result.types = rank_export.types();
    result.folder = rank_export.folder();
    result.output_folder = JoinPath(result.folder, kOutputFolder);
    result.store_path = imported.store->path();
  }
  return result;
}

}  // namespace

namespace {

bool LacksResults(const importers::TraceSource& source) {
  const auto lacks_results = source.importer->lacks_results;
  return lacks_results != nullptr && lacks_results(source.path);
}

// Files of other tools are only read. Raw records that nobody has analysed get their results where
// their own profiler would put them, in place of what a failed analysis left there.
bool MayHoldResults(const importers::TraceSource& source, const std::string& span_folder) {
  if (source.importer->is_ours) return true;
  const std::string absolute = base::AbsolutePath(span_folder);
  const std::string_view name = base::BaseName(absolute);
  const bool is_span = name.ends_with("_ascend_pt") || name.ends_with("_ascend_ms");
  return is_span && base::IsDirectory(span_folder) &&
         (!base::PathExists(JoinPath(span_folder, kOutputFolder)) || LacksResults(source));
}

}  // namespace

bool IsAnalysed(const std::string& span_folder) {
  return base::PathExists(JoinPath(JoinPath(span_folder, kOutputFolder), kDoneFile));
}

Result<AnalysedRank> AnalyseRank(const importers::TraceSource& source,
                                 const AnalyseOptions& options) {
  const std::string span_folder = job::SpanFolder(source.path);
  // Of raw records of another tool only what was made of them is read once it is there.
  const bool rests = (options.only_missing || !source.importer->is_ours) && !LacksResults(source);
  if (rests && options.output_folder.empty() && IsAnalysed(span_folder)) {
    return SummariseOnly(source, span_folder, options.threads);
  }
  if (!MayHoldResults(source, span_folder) && options.output_folder.empty()) {
    return base::InvalidArgumentError(
        Concat("these are ", source.importer->what,
               ", which stay as they are: name a folder for the result with -o"));
  }
  const std::string spare = options.output_folder.empty()
                                ? ""
                                : JoinPath(options.output_folder, base::BaseName(span_folder));
  std::vector<std::string> notices;
  std::optional<Result<AnalysedRank>> result;
  const Status placed = importers::WithStorePath(
      source, spare, [&](std::string_view notice) { notices.emplace_back(notice); },
      [&](const std::string& path) -> Status {
        bool export_failed = false;
        result.emplace(AnalyseWithStore(source, path, options, export_failed));
        return export_failed ? Status() : result->status();
      });
  SONDE_RETURN_IF_ERROR(placed);
  if (result->ok()) {
    auto& all = (*result)->notices;
    all.insert(all.end(), notices.begin(), notices.end());
  }
  return *std::move(result);
}

}  // namespace sonde::cli
