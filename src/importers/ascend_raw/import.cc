#include "importers/ascend_raw/import.h"

#include <algorithm>
#include <utility>

#include "base/files.h"
#include "base/hash.h"
#include "importers/ascend/groups.h"
#include "importers/ascend/keep_files.h"
#include "importers/ascend_raw/clock.h"
#include "importers/ascend_raw/files.h"
#include "importers/ascend_raw/framework.h"
#include "importers/ascend_raw/issues.h"
#include "importers/common/part_file.h"

namespace sonde::importers {
namespace {

bool HasContent(const std::vector<SpanFile>& files) {
  return std::any_of(files.begin(), files.end(), [](const SpanFile& file) {
    return base::FileSize(file.path).value_or(0) > 0;
  });
}

bool HasFinished(const std::string& path) {
  const AscendSpan span = FindSpan(path);
  return !span.databases.empty() || !span.analysis.empty() || span.has_texts();
}

void ReadFrameworkFiles(const raw::Files& files, TraceRows& rows) {
  const raw::Clock clock = raw::FrameworkClockOf(files.folder);
  if (!clock.is_known) rows.issues.Add(raw::kNoClock, "FRAMEWORK");
  if (clock.is_known && !clock.wall) rows.issues.Add(raw::kNoWallClock, "FRAMEWORK");
  raw::FrameworkLayer layer(rows);
  std::vector<std::string> unread;
  for (const SpanFile& file : files.framework) {
    const auto content = OpenPart(file.path, file.relative, rows.issues, /*is_binary=*/true);
    if (!content) continue;
    if (!layer.Read({file.relative, content->text(), rows.issues}, clock)) {
      unread.push_back(file.relative);
    }
  }
  layer.Finish();
  AscendSpan others;
  others.folder = files.folder;
  others.unread = std::move(unread);
  CountUnread(others, rows.issues);
}

}  // namespace

bool IsAscendRaw(const std::string& path) {
  const raw::Files files = raw::FindFiles(path);
  return HasContent(files.framework) && (raw::PrefersRaw() || !HasFinished(path));
}

Result<int32_t> AscendRawRank(const std::string& path) { return SpanRank(FindSpan(path)); }

Result<int64_t> AscendRawStamp(const std::string& path) {
  uint64_t stamp = 0;
  for (const std::string& file : raw::FindFiles(path).all()) {
    stamp = base::HashString(base::BaseName(file), stamp);
    stamp = base::HashCombine(stamp, PartStamp(file));
  }
  return static_cast<int64_t>(stamp);
}

Result<ImportSummary> ImportAscendRaw(const std::string& path, store::Store& store,
                                      const ImportOptions& /*options*/) {
  const raw::Files files = raw::FindFiles(path);
  TraceRows rows(std::string(base::DirName(store.path())));
  rows.rank = SpanRank(FindSpan(path));
  rows.source = files.framework.empty() ? "" : files.framework.front().relative;
  ReadSpanMetadata(files.folder, rows);
  ReadFrameworkFiles(files, rows);
  ComputeWaits(rows);
  for (store::ProcessRow& process : rows.processes) process.rank = rows.rank;
  if (rows.rank >= 0) rows.AddJson("rank", std::to_string(rows.rank));
  for (GroupFact& group : rows.groups) group.process_id = rows.processes.empty() ? -1 : 0;
  rows.issues.AddGarbled(rows.names, rows.source);
  SONDE_ASSIGN_OR_RETURN(auto transaction, store.Begin());
  SONDE_RETURN_IF_ERROR(KeepTexts(files.metadata, rows.issues, transaction));
  SONDE_ASSIGN_OR_RETURN(ImportSummary summary, rows.Write(transaction));
  SONDE_RETURN_IF_ERROR(transaction.Commit());
  return summary;
}

}  // namespace sonde::importers
