#include "importers/common/part_file.h"

#include <sys/stat.h>

#include <utility>

#include "base/hash.h"
#include "base/strings.h"
#include "importers/common/file_stamp.h"

namespace sonde::importers {
namespace {

constexpr store::IssueKind kUnreadable{"file_unreadable", store::Severity::kError, ""};
constexpr store::IssueKind kEmpty{"file_empty", store::Severity::kWarning, ""};

}  // namespace

void CountUnreadable(std::string_view file, const Status& why, store::ImportIssues& issues) {
  issues.AddText(kUnreadable, file,
                 base::Concat("a file was left out, the others are imported: ", why.message()));
}

bool IsWideText(std::string_view text) {
  if (text.size() < 4) return false;
  return text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF") ||
         text.substr(0, 4).find('\0') != std::string_view::npos;
}

std::optional<base::MappedFile> OpenPart(const std::string& path, std::string_view file,
                                         store::ImportIssues& issues, bool is_binary) {
  auto content = base::MappedFile::Open(path);
  if (!content.ok()) {
    CountUnreadable(file, content.status(), issues);
    return std::nullopt;
  }
  if (content->size() == 0) {
    issues.AddText(kEmpty, file,
                   base::Concat("'", file,
                                "' is empty (its writer was stopped, or the disk was full); the "
                                "other files are imported"));
    return std::nullopt;
  }
  if (!is_binary && IsWideText(content->text())) {
    CountUnreadable(file,
                    base::InvalidArgumentError(
                        base::Concat("'", file, "' is UTF-16 or UTF-32 text: convert it to UTF-8")),
                    issues);
    return std::nullopt;
  }
  return std::move(*content);
}

bool IsGone(const std::string& path, const Status& opened) {
  struct stat info{};
  return opened.code() == base::StatusCode::kNotFound && ::lstat(path.c_str(), &info) != 0;
}

uint64_t PartStamp(const std::string& path) {
  const auto stamp = FileStamp(path);
  constexpr uint64_t kNone = 0x6e6f6e65;
  return stamp.ok() ? *stamp
                    : base::HashCombine(kNone, static_cast<uint64_t>(stamp.status().code()));
}

}  // namespace sonde::importers
