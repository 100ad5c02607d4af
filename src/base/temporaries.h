// Names of files and folders that are being made, and removal of those whose maker was killed.
//
// A name identifies its maker: ".NAME.MACHINE-PID-BEGIN-N.partial", MACHINE a hash of this boot and
// of the PID namespace, BEGIN the start time of the process. So a later program recognizes files
// that no process will finish, also on a disk that machines share. Threads: any. Errors: Status;
// files that cannot be examined or removed stay.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"

namespace sonde::base {

// In the folder of `path`, so that a rename stays on one file system; hidden, and unlike any name
// that a reader of the folder looks for. Each call gives a new one.
std::string TemporaryNextTo(std::string_view path);

// Creates a new file, open for reading and writing. An existing file or link is an error (EEXIST)
// and is never followed. Returns the descriptor.
Result<int> CreateNewFile(const std::string& path, mode_t mode);

// The same, but an existing file is removed first. A link is removed, too, and its target stays
// unchanged. Folders, pipes and devices are an error (EEXIST).
Result<int> RecreateFile(const std::string& path, mode_t mode);

// Removes this user's files in `folder` that TemporaryNextTo named and no process will finish.
// Their maker ran on this machine and has ended, or ran on another one and the last change is older
// than a day.
void RemoveLeftovers(const std::string& folder);

// For a process that a signal ends in the middle of its work: writes the folders in which
// TemporaryNextTo named something, as absolute paths with a NUL behind each. May be called in a
// signal handler. How many there are; 0 where they cannot be written.
size_t WriteTemporaryFolders(int descriptor);
// Removes this process's own, finished or not; also after it has become another program (execve).
void RemoveOwnTemporaries(const std::string& folder);

}  // namespace sonde::base
