#include "store/import_issues.h"

#include "store/table_writer.h"

namespace sonde::store {

std::string_view SeverityName(Severity severity) {
  switch (severity) {
    case Severity::kInfo:
      return "info";
    case Severity::kWarning:
      return "warning";
    case Severity::kError:
      return "error";
  }
  return "";
}

void ImportIssues::Add(const IssueKind& kind, std::string_view source, int64_t position,
                       int64_t count) {
  for (ImportIssue& known : list_) {
    if (known.source == source && known.code == kind.code && known.advice == kind.advice) {
      known.count += count;
      return;
    }
  }
  list_.push_back({kind.severity, kind.code, count, std::string(source), position, kind.advice,
                   kind.is_choice});
}

void ImportIssues::AddText(const IssueKind& kind, std::string_view source, std::string_view text) {
  Add({kind.severity, kind.code, 1, std::string(source), -1, ToValidUtf8(text), kind.is_choice});
}

void ImportIssues::AddGarbled(const NamePool& names, std::string_view source) {
  constexpr IssueKind kGarbled{"text_garbled", Severity::kWarning,
                               "a text is not valid UTF-8; its bad bytes were replaced"};
  if (names.garbled() > 0) Add(kGarbled, source, -1, names.garbled());
}

void ImportIssues::Add(const ImportIssue& issue) {
  for (ImportIssue& known : list_) {
    if (known.source == issue.source && known.code == issue.code && known.advice == issue.advice) {
      known.count += issue.count;
      return;
    }
  }
  list_.push_back(issue);
}

int64_t ImportIssues::Count(std::string_view code) const {
  int64_t count = 0;
  for (const ImportIssue& issue : list_) {
    if (issue.code == code) count += issue.count;
  }
  return count;
}

void ImportIssues::MergeInto(ImportIssues& target) const {
  for (const ImportIssue& issue : list_) target.Add(issue);
}

Status ImportIssues::Write(Transaction& transaction, NamePool& names) const {
  SONDE_ASSIGN_OR_RETURN(auto writer, TableWriter<ImportIssueRow>::Open(transaction));
  for (const ImportIssue& issue : list_) {
    const std::string source = ToValidUtf8(issue.source);
    writer.Append({.severity = names.Intern(SeverityName(issue.severity)),
                   .code = names.Intern(issue.code),
                   .count = issue.count,
                   .source = source,
                   .position = issue.position,
                   .advice = issue.advice});
  }
  return writer.Close();
}

}  // namespace sonde::store
