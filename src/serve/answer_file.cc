#include "serve/answer_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/files.h"
#include "base/strings.h"

namespace sonde::serve {

Result<std::shared_ptr<const AnswerFile>> AnswerFile::TakeOver(const std::string& path,
                                                               uint64_t most) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (descriptor < 0) return base::ErrnoStatus(errno, "read", path);
  struct stat info = {};
  const bool is_known = ::fstat(descriptor, &info) == 0;
  const int error = errno;
  ::unlink(path.c_str());
  std::shared_ptr<const AnswerFile> file(
      new AnswerFile(descriptor, is_known ? static_cast<uint64_t>(info.st_size) : 0));
  if (!is_known) return base::ErrnoStatus(error, "read", path);
  if (file->size() > most) {
    return base::OutOfRangeError(base::Concat("more than ", std::to_string(most >> 20U),
                                              " MiB: use sonde query with --format"));
  }
  return file;
}

AnswerFile::~AnswerFile() { ::close(descriptor_); }

bool AnswerFile::Read(uint64_t offset, std::span<char> to) const {
  while (!to.empty()) {
    const ssize_t size = ::pread(descriptor_, to.data(), to.size(), static_cast<off_t>(offset));
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return false;
    offset += static_cast<uint64_t>(size);
    to = to.subspan(static_cast<size_t>(size));
  }
  return true;
}

}  // namespace sonde::serve
