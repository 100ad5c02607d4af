// `sonde --licenses`: the notices of the libraries that are inside this installation.
#pragma once

#include <string>

#include "base/status.h"

namespace sonde::cli {

// Names of the parts, a line each, then their notices, from <home>/licenses, where `make wheel` and
// `make install` put them. kNotFound where the program was only built.
Result<std::string> LicenseTexts(const std::string& home);

}  // namespace sonde::cli
