// Small zip files: members by name, packed or plain.
//
// A few bytes may unpack to gigabytes: members are unpacked piece by piece, and who wants one whole
// says how much that may be. Errors: Status for files that are no zip file or are broken,
// OutOfRange for members that are larger. Pure.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace sonde::precision {

// The names of all members, in the order of the directory.
Result<std::vector<std::string>> ZipNames(std::string_view file);
// A member by name, of at most `max_bytes`; nullopt when there is none.
Result<std::optional<std::string>> ReadZipMember(std::string_view file, std::string_view name,
                                                 size_t max_bytes);
// The same in pieces of up to 256 KiB, of any size; false when there is none. A failure of `take`
// ends it.
Result<bool> StreamZipMember(std::string_view file, std::string_view name,
                             const std::function<Status(std::string_view piece)>& take);

// A zip file with these members (name, content), unpacked. All must be below 4 GiB.
std::string MakeZip(const std::vector<std::pair<std::string, std::string>>& members);

}  // namespace sonde::precision
