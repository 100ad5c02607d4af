// Header check common to the files of a capture.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "capture/format.h"
#include "store/import_issues.h"

namespace sonde::importers::capture_import {

// The header of a dictionary or segment file; nullopt and an issue where it is not valid.
std::optional<capture::FileHeader> ReadHeader(std::span<const std::byte> bytes, uint64_t magic,
                                              std::string_view file, store::ImportIssues& issues);

}  // namespace sonde::importers::capture_import
