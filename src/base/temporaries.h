// Names of files and folders that are being made, and what is left of them when their maker was
// killed.
//
// A name tells its maker: ".NAME.MACHINE-PID-BEGIN-N.partial", MACHINE a hash of this boot and of
// the space its process numbers are in, BEGIN when the process began. So whoever works in the
// folder later can tell what nobody will finish, also on a disk that machines share. Threads: any.
// Errors: Status; what cannot be looked at or removed stays.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/status.h"

namespace sonde::base {

// Beside `path`, so that a rename stays on one file system; hidden, and unlike any name that a
// reader of the folder looks for. Another one for each call.
std::string TemporaryBeside(std::string_view path);

// A new file, open for reading and writing; what is there already, links included, is an error
// (EEXIST) and never followed. Descriptor or a failure.
Result<int> CreateNewFile(const std::string& path, mode_t mode);

// The same in the place of a file that is there already: it is taken away first. A link is taken
// away, too, and what it leads to stays as it is. Folders, pipes and devices are an error (EEXIST).
Result<int> CreateFileAnew(const std::string& path, mode_t mode);

// Removes what TemporaryBeside named in `folder` and nobody will finish: the maker was of this
// machine and is gone, or it was of another and the last change is older than a day. Only of this
// user.
void RemoveLeftovers(const std::string& folder);

}  // namespace sonde::base
