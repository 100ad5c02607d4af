#include "importers/mindspore/import.h"

#include <optional>
#include <utility>

#include "base/files.h"
#include "base/hash.h"
#include "base/strings.h"
#include "importers/ascend/groups.h"
#include "importers/ascend/span.h"
#include "importers/ascend_text/copy_csv.h"
#include "importers/common/part_file.h"
#include "importers/mindspore/issues.h"
#include "importers/mindspore/trace.h"

namespace sonde::importers {
namespace {

using mindspore::Files;
using mindspore::RangeRows;

class FolderImport {
 public:
  FolderImport(const std::string& path, const Files& files, store::Transaction& transaction)
      : path_(path), files_(files), transaction_(transaction) {
    rows_.rank = mindspore::RankOf(files);
    rows_.source = files.all().empty() ? "" : files.all().front();
  }

  Result<ImportSummary> Run() {
    TakeOperators();
    TakeRanges();
    for (const SpanFile& file : files_.memory) {
      Take(file, [&](std::string_view text) {
        mindspore::ReadMemoryRecord(file, text, rows_.Process(mindspore::PidOf(files_)), rows_);
      });
    }
    for (const SpanFile& file : files_.tables) {
      Status status;
      Take(file, [&](std::string_view text) {
        status = CopyCsv(file, text, names_, rows_.issues, transaction_);
      });
      SONDE_RETURN_IF_ERROR(status);
    }
    ComputeWaits(rows_);
    for (store::ProcessRow& process : rows_.processes) {
      process.rank = rows_.rank;
      process.name = rows_.names.Intern("MindSpore");
    }
    if (rows_.rank >= 0) rows_.AddJson("rank", std::to_string(rows_.rank));
    CountOthers();
    rows_.issues.AddGarbled(rows_.names, rows_.source);
    return rows_.Write(transaction_);
  }

 private:
  std::optional<base::MappedFile> Open(const SpanFile& file) {
    return OpenPart(file.path, file.relative, rows_.issues);
  }
  // A file that cannot be read is counted.
  template <class Use>
  void Take(const SpanFile& file, Use&& use) {
    const auto content = Open(file);
    if (content) use(content->text());
  }

  // The unread files. A timeline in the folder was tried first, and has no events.
  void CountOthers() {
    for (const SpanFile& file : FindSpan(path_).timelines) Open(file);
    AscendSpan span;
    span.folder = files_.folder;
    span.unread = files_.unread;
    CountUnread(span, rows_.issues);
  }

  void TakeOperators() {
    for (size_t i = 0; i < files_.operators.size(); ++i) {
      base::MappedFile launches;
      if (i < files_.launches.size()) {
        if (auto content = Open(files_.launches[i])) launches = std::move(*content);
      }
      Take(files_.operators[i], [&](std::string_view text) {
        mindspore::ReadOperators(files_.operators[i], text, launches.text(),
                                 mindspore::PidOf(files_), rows_);
      });
    }
  }

  void TakeRanges() {
    RangeRows ranges(rows_);
    for (const SpanFile& file : files_.runtime) {
      // RuntimeProfilerDetail17.csv goes with RuntimeProfilerJson17.json.
      const std::string json_name = base::ReplaceAll(
          base::ReplaceAll(base::BaseName(file.path), "Detail", "Json"), ".csv", ".json");
      base::MappedFile json;
      for (const SpanFile& other : files_.runtime_json) {
        if (base::BaseName(other.path) != json_name) continue;
        if (auto content = Open(other)) json = std::move(*content);
        rows_.issues.Add(mindspore::kDoubleTimes, other.relative);
      }
      Take(file, [&](std::string_view text) {
        mindspore::ReadRuntimeProfile(file, text, json.text(), ranges, rows_);
      });
    }
    const mindspore::TickClock clock = mindspore::ReadClock(files_.clocks);
    for (const SpanFile& file : files_.op_ranges) {
      const auto content = OpenPart(file.path, file.relative, rows_.issues, /*is_binary=*/true);
      if (content) mindspore::ReadOpRange(file, content->text(), clock, ranges, rows_);
    }
    ranges.Finish();
  }

  const std::string& path_;
  const Files& files_;
  store::Transaction& transaction_;
  TraceRows rows_;
  store::SourceNames names_;
};

}  // namespace

bool IsMindspore(const std::string& path) { return mindspore::FindFiles(path).HasTrace(); }

Result<int32_t> MindsporeRank(const std::string& path) {
  return mindspore::RankOf(mindspore::FindFiles(path));
}

Result<int64_t> MindsporeStamp(const std::string& path) {
  uint64_t stamp = 0;
  for (const std::string& file : mindspore::FindFiles(path).all()) {
    stamp = base::HashString(base::BaseName(file), stamp);
    stamp = base::HashCombine(stamp, PartStamp(file));
  }
  return static_cast<int64_t>(stamp);
}

Result<ImportSummary> ImportMindspore(const std::string& path, store::Store& store,
                                      const ImportOptions& /*options*/) {
  const Files files = mindspore::FindFiles(path);
  SONDE_ASSIGN_OR_RETURN(auto transaction, store.Begin());
  SONDE_ASSIGN_OR_RETURN(ImportSummary summary, FolderImport(path, files, transaction).Run());
  SONDE_RETURN_IF_ERROR(transaction.Commit());
  return summary;
}

}  // namespace sonde::importers
