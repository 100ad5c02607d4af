// Keeps other processes out of a folder while a file in it is read, changed and replaced.
//
// The lock is on the folder itself (flock), so no file is left behind, and it ends with the process
// whatever happens to that. Where the file system has no such locks, Take() succeeds without one.
// One thread; another lock of the same folder in the same process waits, too. Errors: Status with
// the path.
#pragma once

#include <string>

#include "base/status.h"

namespace sonde::base {

class FolderLock {
 public:
  // Waits until nobody else has the lock.
  static Result<FolderLock> Take(const std::string& folder);
  FolderLock(FolderLock&& other) noexcept;
  FolderLock& operator=(FolderLock&&) = delete;
  ~FolderLock();

 private:
  explicit FolderLock(int descriptor) : descriptor_(descriptor) {}

  int descriptor_;
};

}  // namespace sonde::base
