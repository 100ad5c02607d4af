#include "record/file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>

namespace sonde::record {
namespace {

// Holds SIGXFSZ back on the calling thread; one that came meanwhile is taken off, not delivered.
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

int AllocateBlocks(int fd, uint64_t size) {
  HoldFileSizeSignal hold;
  while (fallocate(fd, 0, 0, static_cast<off_t>(size)) != 0) {
    if (errno == EINTR) continue;
    if (errno == EFBIG) hold.NoteRaised();
    if (errno != EOPNOTSUPP && errno != ENOSYS) return -errno;
    // A file system without preallocation: write zeros.
    static const char zeros[4096] = {};
    for (uint64_t at = 0; at < size; at += sizeof(zeros)) {
      iovec piece{const_cast<char*>(zeros), std::min<uint64_t>(sizeof(zeros), size - at)};
      const int result = WriteWhole(fd, &piece, 1, at);
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

void CloseFile(int* fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

}  // namespace sonde::record
