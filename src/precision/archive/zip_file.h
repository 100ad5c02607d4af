// Small zip files, whole in memory: members by name, packed or plain.
//
// Errors: Status for files that are no zip file, are broken, or would unpack to more than 4 GiB.
// Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace sonde::precision {

// The names of all members, in the order of the directory.
Result<std::vector<std::string>> ZipNames(std::string_view file);
// A member by name; nullopt when there is none.
Result<std::optional<std::string>> ReadZipMember(std::string_view file, std::string_view name);

// A zip file with these members (name, content), unpacked. All must be below 4 GiB.
std::string MakeZip(const std::vector<std::pair<std::string, std::string>>& members);

}  // namespace sonde::precision
