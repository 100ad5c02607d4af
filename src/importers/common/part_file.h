// One file of a trace of many files: an unusable one is left out, the others are read.
//
// Threads: pure, but for the issues.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/files.h"
#include "base/status.h"
#include "store/import_issues.h"

namespace sonde::importers {

// A row of import_issue for this file alone (`file`: relative to the trace) with the reason.
void CountUnreadable(std::string_view file, const Status& why, store::ImportIssues& issues);

// Whether a text is UTF-16 or UTF-32: by its mark, or since its first character has a byte that is
// 0.
bool IsWideText(std::string_view text);

// The content; nothing, and counted, where the file cannot be read, is empty or such a text.
std::optional<base::MappedFile> OpenPart(const std::string& path, std::string_view file,
                                         store::ImportIssues& issues, bool is_binary = false);

// Whether a file that could not be opened has been removed since it was listed; a link to nothing
// has not.
bool IsGone(const std::string& path, const Status& opened);

// FileStamp; of a file that cannot be read a fixed number.
uint64_t PartStamp(const std::string& path);

}  // namespace sonde::importers
