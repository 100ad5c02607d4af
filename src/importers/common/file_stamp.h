// A number that changes when a file's content changes, whatever its name.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace sonde::importers {

// Of the whole content up to 64 MB. Of larger files of the size, the time of the last change and 64
// pieces spread over the file, so that it takes milliseconds, also where each is read from a disk.
Result<uint64_t> FileStamp(const std::string& path);

}  // namespace sonde::importers
