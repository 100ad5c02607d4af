// The file that a result goes to: complete under its name or not at all. What is there and no
// regular file (a pipe, a device) is written into, links are followed.
//
// A signal that ends the program takes the temporary file with it. One at a time, one thread.
#pragma once

#include <cstdio>
#include <functional>
#include <string>

#include "base/status.h"

namespace sonde::cli {

Status WriteOutput(const std::string& output, const std::function<Status(std::FILE* file)>& write);

// For who writes to a path: `write` gets one to make. Only for regular files.
Status WriteOutputPath(const std::string& output,
                       const std::function<Status(const std::string& path)>& write);

}  // namespace sonde::cli
