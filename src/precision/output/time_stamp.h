// The time in names of result files.
#pragma once

#include <string>

namespace sonde::precision {

// "20261121153000": now, local time.
std::string TimeStamp();

}  // namespace sonde::precision
