#include "importers/ascend/keep_files.h"

#include "base/files.h"
#include "store/name_pool.h"
#include "store/table_writer.h"

namespace sonde::importers {
namespace {

constexpr store::IssueKind kNotKept{
    "file_not_kept", store::Severity::kInfo,
    "a file is larger than 64 MB or no valid UTF-8: an export recreates it from the tables"};
constexpr size_t kLargest = size_t{64} << 20U;

}  // namespace

Status KeepTexts(const std::vector<SpanFile>& files, store::ImportIssues& issues,
                 store::Transaction& transaction) {
  SONDE_ASSIGN_OR_RETURN(auto writer, store::TableWriter<store::SourceTextRow>::Open(transaction));
  for (const SpanFile& file : files) {
    const auto content = base::ReadFile(file.path, kLargest);
    if (!content.ok() || !store::IsValidUtf8(*content)) {
      issues.Add(kNotKept, file.relative);
      continue;
    }
    writer.Append({.file = file.relative, .content = *content});
  }
  return writer.Close();
}

}  // namespace sonde::importers
