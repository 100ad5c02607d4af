// The rules of the program lie in it, one behind the other (rules.S); those of users in folders.
#include <algorithm>

#include "advisor/frame/rule.h"
#include "base/files.h"
#include "base/strings.h"

// NOLINTBEGIN(readability-identifier-naming): symbols of rules.S
extern "C" {
extern const char sonde_advisor_rules[];
extern const char sonde_advisor_rules_end[];
}
// NOLINTEND(readability-identifier-naming)

namespace sonde::advisor {
namespace {

using base::Concat;

constexpr std::string_view kBetween = "\n--- # ";

Status AddOurs(RuleBook& book) {
  std::string_view all(sonde_advisor_rules,
                       static_cast<size_t>(sonde_advisor_rules_end - sonde_advisor_rules));
  while (true) {
    const size_t begin = all.find(kBetween);
    if (begin == std::string_view::npos) return {};
    all.remove_prefix(begin + kBetween.size());
    const size_t line_end = all.find('\n');
    const std::string_view name = all.substr(0, line_end);
    const size_t end = std::min(all.find(kBetween), all.size());
    SONDE_RETURN_IF_ERROR(AddFile(std::string(all.substr(line_end, end - line_end)), name, book));
  }
}

Status AddFolder(const std::string& folder, RuleBook& book) {
  SONDE_ASSIGN_OR_RETURN(const auto entries, base::ListDirectory(folder));
  constexpr size_t kMaxBytes = size_t{1} << 20U;
  bool is_empty = true;
  for (const base::DirectoryEntry& entry : entries) {
    if (!entry.name.ends_with(".yaml") && !entry.name.ends_with(".yml")) continue;
    is_empty = false;
    const std::string path = base::JoinPath(folder, entry.name);
    SONDE_ASSIGN_OR_RETURN(const std::string text, base::ReadFile(path, kMaxBytes));
    SONDE_RETURN_IF_ERROR(AddFile(text, Concat("'", path, "'"), book));
  }
  if (is_empty) {
    return base::NotFoundError(Concat("'", folder, "' holds no rule: files named *.yaml"));
  }
  return {};
}

}  // namespace

Result<RuleBook> LoadRules(const std::vector<std::string>& folders) {
  RuleBook book;
  for (const std::string& folder : folders) {
    // Tables of users come before ours of the same name.
    RuleBook theirs;
    SONDE_RETURN_IF_ERROR(AddFolder(folder, theirs));
    for (SharedTable& table : theirs.tables) book.tables.push_back(std::move(table));
  }
  SONDE_RETURN_IF_ERROR(AddOurs(book));
  for (const std::string& folder : folders) SONDE_RETURN_IF_ERROR(AddFolder(folder, book));
  std::stable_sort(book.rules.begin(), book.rules.end(),
                   [](const Rule& a, const Rule& b) { return a.order < b.order; });
  return book;
}

}  // namespace sonde::advisor
