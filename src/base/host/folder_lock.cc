#include "base/host/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/files.h"

namespace sonde::base {

Result<FolderLock> FolderLock::Take(const std::string& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return ErrnoStatus(errno, "open", folder);
  // Any other failure: this file system has no locks for folders.
  while (::flock(descriptor, LOCK_EX) != 0 && errno == EINTR) {
  }
  return FolderLock(descriptor);
}

FolderLock::FolderLock(FolderLock&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

FolderLock::~FolderLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace sonde::base
