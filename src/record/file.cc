#include "record/file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

namespace sonde::record {
namespace {

// Holds SIGXFSZ back on the calling thread; one that came meanwhile is discarded, not delivered.
class HoldFileSizeSignal {
 public:
  HoldFileSizeSignal() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &set_, &before_);
  }
  ~HoldFileSizeSignal() {
    if (sigismember(&before_, SIGXFSZ) == 1) return;
    const timespec no_wait{};
    if (raised_) sigtimedwait(&set_, nullptr, &no_wait);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  HoldFileSizeSignal(const HoldFileSizeSignal&) = delete;
  HoldFileSizeSignal& operator=(const HoldFileSizeSignal&) = delete;
  void NoteRaised() { raised_ = true; }

 private:
  sigset_t set_;
  sigset_t before_;
  bool raised_ = false;
};

void Advance(iovec** iov, int* count, size_t done) {
  while (*count > 0 && done >= (*iov)->iov_len) {
    done -= (*iov)->iov_len;
    ++*iov;
    --*count;
  }
  if (*count > 0) {
    (*iov)->iov_base = static_cast<char*>((*iov)->iov_base) + done;
    (*iov)->iov_len -= done;
  }
}

}  // namespace

int WriteWhole(int fd, iovec* iov, int count, uint64_t offset) {
  HoldFileSizeSignal hold;
  auto position = static_cast<off_t>(offset);
  Advance(&iov, &count, 0);
  while (count > 0) {
    const ssize_t n = pwritev(fd, iov, count, position);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      const int error = n == 0 ? EIO : errno;
      if (error == EFBIG) hold.NoteRaised();
      // Where even this fails the reader still finds the cut by the checksums.
      [[maybe_unused]] const int ignored = ftruncate(fd, static_cast<off_t>(offset));
      return -error;
    }
    position += n;
    Advance(&iov, &count, static_cast<size_t>(n));
  }
  return 0;
}

int AllocateBlocks(int fd, uint64_t offset, uint64_t size) {
  HoldFileSizeSignal hold;
  while (fallocate(fd, 0, static_cast<off_t>(offset), static_cast<off_t>(size)) != 0) {
    if (errno == EINTR) continue;
    if (errno == EFBIG) hold.NoteRaised();
    if (errno != EOPNOTSUPP && errno != ENOSYS) return -errno;
    // A file system without preallocation: write zeros.
    static const char zeros[4096] = {};
    for (uint64_t at = 0; at < size; at += sizeof(zeros)) {
      iovec piece{const_cast<char*>(zeros), std::min<uint64_t>(sizeof(zeros), size - at)};
      const int result = WriteWhole(fd, &piece, 1, offset + at);
      if (result != 0) return result;
    }
    return 0;
  }
  return 0;
}

std::string ReadSmallFile(const std::string& path, size_t max_bytes) {
  std::string text;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return text;
  char buffer[4096];
  while (text.size() < max_bytes) {
    const ssize_t n = read(fd, buffer, std::min(sizeof(buffer), max_bytes - text.size()));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    text.append(buffer, static_cast<size_t>(n));
  }
  close(fd);
  return text;
}

int CreateFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, kFileMode);
  return fd < 0 ? -errno : fd;
}

int OpenOwnFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  return fd < 0 ? -errno : fd;
}

void CloseFile(int* fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

DescriptorIdentity::DescriptorIdentity(int fd) {
  struct stat info{};
  if (fstat(fd, &info) != 0) return;
  device_ = info.st_dev;
  inode_ = info.st_ino;
}

bool DescriptorIdentity::Holds(int fd) const {
  struct stat info{};
  return fstat(fd, &info) == 0 && info.st_dev == device_ && info.st_ino == inode_;
}

OwnFile& OwnFile::operator=(OwnFile&& other) noexcept {
  Close();
  fd_ = std::exchange(other.fd_, -1);
  identity_ = other.identity_;
  path_ = std::move(other.path_);
  return *this;
}

int OwnFile::Create(const std::string& path) {
  const int fd = CreateFile(path);
  if (fd < 0) return fd;
  fd_ = fd;
  identity_ = DescriptorIdentity(fd);
  path_ = path;
  return 0;
}

int OwnFile::Ensure() {
  if (identity_.Holds(fd_)) return 0;
  fd_ = -1;  // not ours to close
  int fd = OpenOwnFile(path_);
  if (fd < 0) return fd;
  if (!identity_.Holds(fd)) {
    CloseFile(&fd);
    return -ESTALE;
  }
  fd_ = fd;
  return 0;
}

int OwnFile::Write(iovec* iov, int count, uint64_t offset) {
  const int result = Ensure();
  return result != 0 ? result : WriteWhole(fd_, iov, count, offset);
}

int OwnFile::Reserve(uint64_t offset, uint64_t bytes) {
  if (const int result = Ensure(); result != 0) return result;
  // Not every file system asks for the limit where the file does not grow.
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && offset + bytes > limit.rlim_cur) return -EFBIG;
  while (fallocate(fd_, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                   static_cast<off_t>(bytes)) != 0) {
    if (errno != EINTR) return -errno;
  }
  return 0;
}

void OwnFile::Truncate(uint64_t bytes) {
  if (Ensure() != 0) return;
  [[maybe_unused]] const int ignored = ftruncate(fd_, static_cast<off_t>(bytes));
}

void OwnFile::Close() {
  if (fd_ >= 0 && identity_.Holds(fd_)) close(fd_);
  fd_ = -1;
}

}  // namespace sonde::record
