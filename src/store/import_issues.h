// Bad data met while importing: counted by kind and file, with the place of the first.
//
// Importers declare their kinds as constants (IssueKind) and call Add; the counts become the table
// import_issue. One thread at a time; MergeInto joins the lists of parallel readers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "store/name_pool.h"
#include "store/store.h"

namespace sonde::store {

enum class Severity { kInfo, kWarning, kError };
std::string_view SeverityName(Severity severity);

// Lives as long as the program.
struct IssueKind {
  const char* code;  // lower_case_words
  Severity severity;
  const char* advice;      // meaning and remedy, one sentence
  bool is_choice = false;  // between several forms of the data: reported to the user at once
};

struct ImportIssue {
  Severity severity = Severity::kWarning;
  std::string code;
  int64_t count = 0;
  std::string source;     // file, or its part; "" for the whole input
  int64_t position = -1;  // byte position of the first, -1 unknown
  std::string advice;
  bool is_choice = false;
};

class ImportIssues {
 public:
  void Add(const IssueKind& kind, std::string_view source, int64_t position = -1,
           int64_t count = 1);
  // For problems whose text is known only at run time; each distinct text is a row of its own.
  void AddText(const IssueKind& kind, std::string_view source, std::string_view text);

  // Texts of `names` that were not valid UTF-8; once, when all are in it.
  void AddGarbled(const NamePool& names, std::string_view source);

  const std::vector<ImportIssue>& list() const { return list_; }
  int64_t Count(std::string_view code) const;
  bool empty() const { return list_.empty(); }

  void MergeInto(ImportIssues& target) const;
  Status Write(Transaction& transaction, NamePool& names) const;

 private:
  void Add(const ImportIssue& issue);
  std::vector<ImportIssue> list_;  // few: searched from the begin
};

}  // namespace sonde::store
