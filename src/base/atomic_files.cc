// AtomicFile, AtomicDirectory and the checks of a folder before something is written there.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "base/files.h"
#include "base/strings.h"
#include "base/temporaries.h"

namespace sonde::base {

AtomicFile::AtomicFile(std::string path, std::string temporary_path, int descriptor,
                       const Options& options)
    : path_(std::move(path)),
      temporary_path_(std::move(temporary_path)),
      descriptor_(descriptor),
      options_(options) {
  buffer_.reserve(options.buffer_bytes);
}

Result<AtomicFile> AtomicFile::Create(const std::string& path, const Options& options) {
  if (IsDirectory(path)) return ErrnoStatus(EISDIR, "write", path);
  std::string temporary = TemporaryNextTo(path);
  const int descriptor =
      open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, options.mode);
  if (descriptor < 0) return ErrnoStatus(errno, "write", path);
  return AtomicFile(path, std::move(temporary), descriptor, options);
}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_path_(std::move(other.temporary_path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      options_(other.options_),
      buffer_(std::move(other.buffer_)),
      flushed_bytes_(other.flushed_bytes_),
      first_error_(std::move(other.first_error_)) {}

AtomicFile& AtomicFile::operator=(AtomicFile&& other) noexcept {
  if (this == &other) return *this;
  Abandon();
  path_ = std::move(other.path_);
  temporary_path_ = std::move(other.temporary_path_);
  descriptor_ = std::exchange(other.descriptor_, -1);
  options_ = other.options_;
  buffer_ = std::move(other.buffer_);
  flushed_bytes_ = other.flushed_bytes_;
  first_error_ = std::move(other.first_error_);
  return *this;
}

AtomicFile::~AtomicFile() { Abandon(); }

Status AtomicFile::WriteAll(std::string_view text) {
  flushed_bytes_ += text.size();
  while (!text.empty()) {
    const ssize_t n = write(descriptor_, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      first_error_ = ErrnoStatus(errno, "write", path_);
      return first_error_;
    }
    text.remove_prefix(static_cast<size_t>(n));
  }
  return Status::Ok();
}

Status AtomicFile::Flush() {
  const Status status = WriteAll(buffer_);
  buffer_.clear();
  return status;
}

Status AtomicFile::Append(std::string_view text) {
  if (!first_error_.ok()) return first_error_;
  CHECK(descriptor_ >= 0, "append after Commit() or Abandon()");
  if (buffer_.size() + text.size() > options_.buffer_bytes) SONDE_RETURN_IF_ERROR(Flush());
  if (text.size() >= options_.buffer_bytes) return WriteAll(text);
  buffer_.append(text);
  return Status::Ok();
}

Status AtomicFile::ReadBack(uint64_t offset, void* to, size_t size) {
  if (!first_error_.ok()) return first_error_;
  CHECK(offset + size <= bytes_written(), "reads what was not appended");
  if (offset + size > flushed_bytes_) SONDE_RETURN_IF_ERROR(Flush());
  while (size > 0) {
    const ssize_t n = pread(descriptor_, to, size, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return ErrnoStatus(n < 0 ? errno : EIO, "read back", path_);
    to = static_cast<char*>(to) + n;
    offset += static_cast<uint64_t>(n);
    size -= static_cast<size_t>(n);
  }
  return Status::Ok();
}

Status AtomicFile::Commit() {
  if (!first_error_.ok()) return first_error_;
  CHECK(descriptor_ >= 0, "Commit() twice or after Abandon()");
  SONDE_RETURN_IF_ERROR(Flush());
  if (options_.sync_to_disk && fsync(descriptor_) != 0) {
    first_error_ = ErrnoStatus(errno, "write", path_);
    return first_error_;
  }
  // Network file systems report a full disk only here.
  if (close(std::exchange(descriptor_, -1)) != 0 ||
      rename(temporary_path_.c_str(), path_.c_str()) != 0) {
    first_error_ = ErrnoStatus(errno, "write", path_);
  }
  if (!first_error_.ok()) unlink(temporary_path_.c_str());
  return first_error_;
}

void AtomicFile::Abandon() {
  if (descriptor_ < 0) return;
  close(std::exchange(descriptor_, -1));
  unlink(temporary_path_.c_str());
}

Status WriteFileAtomically(const std::string& path, std::string_view text) {
  SONDE_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  SONDE_RETURN_IF_ERROR(file.Append(text));
  return file.Commit();
}

AtomicDirectory::AtomicDirectory(std::string path, std::string temporary_path, bool replace)
    : path_(std::move(path)), temporary_path_(std::move(temporary_path)), replace_(replace) {}

Result<AtomicDirectory> AtomicDirectory::Create(const std::string& path, bool replace) {
  const std::string target = AbsolutePath(path);
  std::string temporary = TemporaryNextTo(target);
  RemoveLeftovers(std::string(DirName(target)));
  if (mkdir(temporary.c_str(), 0777) != 0) return ErrnoStatus(errno, "write", path);
  return AtomicDirectory(target, std::move(temporary), replace);
}

AtomicDirectory::AtomicDirectory(AtomicDirectory&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_path_(std::exchange(other.temporary_path_, std::string())),
      replace_(other.replace_) {}

AtomicDirectory& AtomicDirectory::operator=(AtomicDirectory&& other) noexcept {
  if (this == &other) return *this;
  Abandon();
  path_ = std::move(other.path_);
  temporary_path_ = std::exchange(other.temporary_path_, std::string());
  replace_ = other.replace_;
  return *this;
}

AtomicDirectory::~AtomicDirectory() { Abandon(); }

Status AtomicDirectory::Commit() {
  CHECK(!temporary_path_.empty(), "Commit() twice or after Abandon()");
  if (renameat2(AT_FDCWD, temporary_path_.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE) ==
      0) {
    temporary_path_.clear();
    return Status::Ok();
  }
  // EINVAL: a file system without these flags (some network ones); then not in one step.
  if (errno != EEXIST && errno != EINVAL) return ErrnoStatus(errno, "write", path_);
  if (PathExists(path_)) {
    if (!replace_) return ErrnoStatus(EEXIST, "write", path_);
    if (renameat2(AT_FDCWD, temporary_path_.c_str(), AT_FDCWD, path_.c_str(), RENAME_EXCHANGE) ==
        0) {
      return RemoveTree(std::exchange(temporary_path_, std::string()));  // the old one by now
    }
    if (errno != EINVAL) return ErrnoStatus(errno, "write", path_);
    SONDE_RETURN_IF_ERROR(RemoveTree(path_));
  }
  if (rename(temporary_path_.c_str(), path_.c_str()) != 0)
    return ErrnoStatus(errno, "write", path_);
  temporary_path_.clear();
  return Status::Ok();
}

void AtomicDirectory::Abandon() {
  // A folder that cannot be removed stays under its hidden name: a destructor has no caller to
  // report to.
  if (!temporary_path_.empty()) RemoveTree(temporary_path_).IgnoreError();
  temporary_path_.clear();
}

Status CheckWritableDirectory(const std::string& path) {
  std::string existing = AbsolutePath(path);
  while (!PathExists(existing) && existing != "/") existing = std::string(DirName(existing));
  if (!IsDirectory(existing)) return ErrnoStatus(ENOTDIR, "write into", path);
  // Trying is the only test that holds for root, read-only mounts, quotas and network disks alike.
  const std::string probe = TemporaryNextTo(JoinPath(existing, "probe"));
  const int descriptor = open(probe.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (descriptor < 0) return ErrnoStatus(errno, "write into", path);
  close(descriptor);
  unlink(probe.c_str());
  return Status::Ok();
}

}  // namespace sonde::base
