#include "recipes/trace/issue_texts.h"

#include <cstdint>
#include <map>
#include <string_view>

#include "base/strings.h"

namespace sonde::recipes {

std::vector<std::string> IssueTexts(std::span<const ImportIssue> issues) {
  std::map<std::string_view, int64_t> counts;
  for (const ImportIssue& issue : issues) {
    if (issue.severity != "info") counts[issue.code] += issue.count;
  }
  std::vector<std::string> texts;
  texts.reserve(counts.size());
  for (const auto& [code, count] : counts) {
    texts.push_back(base::Concat(code, " (", std::to_string(count), ")"));
  }
  return texts;
}

}  // namespace sonde::recipes
