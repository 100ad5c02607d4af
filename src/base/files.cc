#include "base/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/strings.h"

namespace sonde::base {
namespace {

struct ErrnoMeaning {
  int error_number;
  StatusCode code;
  std::string_view remedy;
};

constexpr std::array kErrnoMeanings = {
    ErrnoMeaning{ENOENT, StatusCode::kNotFound, "check the path"},
    ErrnoMeaning{ENOTDIR, StatusCode::kNotFound, "a part of the path is a file, not a folder"},
    ErrnoMeaning{EISDIR, StatusCode::kInvalidArgument, "it is a folder; name a file"},
    ErrnoMeaning{EACCES, StatusCode::kPermissionDenied,
                 "change its permissions or choose another path"},
    ErrnoMeaning{EPERM, StatusCode::kPermissionDenied,
                 "change its permissions or choose another path"},
    ErrnoMeaning{EROFS, StatusCode::kPermissionDenied, "choose a path on a writable disk"},
    ErrnoMeaning{EEXIST, StatusCode::kAlreadyExists, "remove it or choose another name"},
    ErrnoMeaning{ENOTEMPTY, StatusCode::kAlreadyExists, "remove it or choose another name"},
    ErrnoMeaning{ENOSPC, StatusCode::kResourceExhausted,
                 "free some disk space or choose another disk"},
    ErrnoMeaning{EDQUOT, StatusCode::kResourceExhausted, "free some of your disk quota"},
    ErrnoMeaning{EFBIG, StatusCode::kResourceExhausted, "raise the file size limit (ulimit -f)"},
    ErrnoMeaning{ENOMEM, StatusCode::kResourceExhausted, "free some memory"},
    ErrnoMeaning{EMFILE, StatusCode::kResourceExhausted, "raise the open file limit (ulimit -n)"},
    ErrnoMeaning{ENFILE, StatusCode::kResourceExhausted, "close other programs' files"},
    ErrnoMeaning{ENAMETOOLONG, StatusCode::kInvalidArgument, "choose a shorter path"},
    ErrnoMeaning{ELOOP, StatusCode::kInvalidArgument, "a symbolic link leads back to itself"},
    ErrnoMeaning{EINVAL, StatusCode::kInvalidArgument, ""},
    ErrnoMeaning{EAGAIN, StatusCode::kUnavailable, "try again"},
    ErrnoMeaning{EBUSY, StatusCode::kUnavailable, "try again"},
};

// Closes on scope exit; read-only descriptors have no close error worth reporting.
struct ScopedDescriptor {
  int value;
  explicit ScopedDescriptor(int descriptor) : value(descriptor) {}
  ScopedDescriptor(const ScopedDescriptor&) = delete;
  ScopedDescriptor& operator=(const ScopedDescriptor&) = delete;
  ~ScopedDescriptor() {
    if (value >= 0) close(value);
  }
};

Result<struct stat> StatPath(const std::string& path) {
  struct stat info{};
  if (stat(path.c_str(), &info) != 0) return ErrnoStatus(errno, "look at", path);
  return info;
}

DirectoryEntry::Kind KindOf(const std::string& folder, const dirent& entry) {
  using Kind = DirectoryEntry::Kind;
  switch (entry.d_type) {
    case DT_REG:
      return Kind::kFile;
    case DT_DIR:
      return Kind::kDirectory;
    case DT_LNK:
      return Kind::kSymlink;
    case DT_UNKNOWN:
      break;  // some network file systems do not report it
    default:
      return Kind::kOther;
  }
  struct stat info{};
  if (lstat(JoinPath(folder, entry.d_name).c_str(), &info) != 0) return Kind::kOther;
  if (S_ISREG(info.st_mode)) return Kind::kFile;
  if (S_ISDIR(info.st_mode)) return Kind::kDirectory;
  return S_ISLNK(info.st_mode) ? Kind::kSymlink : Kind::kOther;
}

}  // namespace

Status ErrnoStatus(int error_number, std::string_view action, std::string_view path) {
  const auto* meaning =
      std::find_if(kErrnoMeanings.begin(), kErrnoMeanings.end(),
                   [&](const ErrnoMeaning& m) { return m.error_number == error_number; });
  const bool known = meaning != kErrnoMeanings.end();
  std::array<char, 128> reason;
  const char* text = strerror_r(error_number, reason.data(), reason.size());
  std::string message = Concat("cannot ", action, " '", path, "': ", text);
  if (known && !meaning->remedy.empty()) message += Concat(" (", meaning->remedy, ")");
  return {known ? meaning->code : StatusCode::kInternal, std::move(message)};
}

Result<std::string> ReadFile(const std::string& path, size_t max_bytes) {
  const ScopedDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.value < 0) return ErrnoStatus(errno, "open", path);
  struct stat info{};
  if (fstat(file.value, &info) != 0) return ErrnoStatus(errno, "look at", path);
  if (S_ISDIR(info.st_mode)) return ErrnoStatus(EISDIR, "read", path);
  const auto too_large = [&] {
    return OutOfRangeError(
        Concat("cannot read '", path, "': larger than ", FormatBytes(max_bytes)));
  };
  if (info.st_size > 0 && static_cast<uint64_t>(info.st_size) > max_bytes) return too_large();
  std::string text;
  // The stated size is a hint only: files of /proc state 0, others grow.
  size_t capacity = std::min(static_cast<size_t>(info.st_size) + 1, max_bytes);
  capacity = std::max(capacity, size_t{4096});
  size_t size = 0;
  while (true) {
    text.resize(capacity);
    const ssize_t n = read(file.value, text.data() + size, capacity - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, "read", path);
    size += static_cast<size_t>(n);
    if (size > max_bytes) return too_large();
    if (n == 0) break;
    if (size == capacity) capacity *= 2;
  }
  text.resize(size);
  return text;
}

Result<MappedFile> MappedFile::Open(const std::string& path, Access access) {
  // A pipe without writer would hold up the opening; it has no size, so it is empty here.
  ScopedDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.value < 0) return ErrnoStatus(errno, "open", path);
  struct stat info{};
  if (fstat(file.value, &info) != 0) return ErrnoStatus(errno, "look at", path);
  if (S_ISDIR(info.st_mode)) return ErrnoStatus(EISDIR, "read", path);
  MappedFile mapped;
  if (info.st_size == 0) return mapped;  // an empty mapping is refused by the system
  const auto size = static_cast<size_t>(info.st_size);
  void* address = mmap(nullptr, size, PROT_READ, MAP_SHARED, file.value, 0);
  if (address == MAP_FAILED) return ErrnoStatus(errno, "map", path);
  // Advice only: a refusal changes speed, nothing else.
  madvise(address, size, access == Access::kRandom ? MADV_RANDOM : MADV_SEQUENTIAL);
  mapped.data_ = static_cast<const std::byte*>(address);
  mapped.size_ = size;
  if (access == Access::kCopies) mapped.file_ = std::exchange(file.value, -1);
  return mapped;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      file_(std::exchange(other.file_, -1)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(file_, other.file_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(const_cast<std::byte*>(data_), size_);
  if (file_ >= 0) close(file_);
}

size_t MappedFile::CopyTo(uint64_t offset, std::span<char> to) const {
  size_t copied = 0;
  while (copied < to.size()) {
    const ssize_t n =
        pread(file_, to.data() + copied, to.size() - copied, static_cast<off_t>(offset + copied));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    copied += static_cast<size_t>(n);
  }
  return copied;
}

void MappedFile::Forget(size_t offset, size_t size) const {
  if (data_ == nullptr || offset >= size_) return;
  const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const size_t first = (offset + page - 1) / page * page;
  const size_t end = std::min(offset + size, size_) / page * page;
  if (first >= end) return;
  madvise(const_cast<std::byte*>(data_) + first, end - first, MADV_DONTNEED);
}

Result<std::vector<DirectoryEntry>> ListDirectory(const std::string& path) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir(path.c_str()), &closedir);
  if (folder == nullptr) return ErrnoStatus(errno, "list", path);
  std::vector<DirectoryEntry> entries;
  while (true) {
    errno = 0;
    const dirent* entry = readdir(folder.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    entries.push_back({std::string(name), KindOf(path, *entry)});
  }
  if (errno != 0) return ErrnoStatus(errno, "list", path);
  std::sort(entries.begin(), entries.end(),
            [](const DirectoryEntry& a, const DirectoryEntry& b) { return a.name < b.name; });
  return entries;
}

Status MakeDirectories(const std::string& path, mode_t mode) {
  if (path.empty()) return InvalidArgumentError("cannot make a folder without a name");
  for (size_t at = 1; at <= path.size(); ++at) {
    if (at != path.size() && path[at] != '/') continue;
    const std::string part = path.substr(0, at);
    if (mkdir(part.c_str(), mode) == 0 || (errno == EEXIST && IsDirectory(part))) continue;
    const int error_number = errno;
    // A parent that exists may answer EACCES or EROFS to mkdir.
    if (IsDirectory(part)) continue;
    return ErrnoStatus(error_number == EEXIST ? ENOTDIR : error_number, "make folder", part);
  }
  return Status::Ok();
}

Status RemoveTree(const std::string& path) {
  struct stat info{};
  if (lstat(path.c_str(), &info) != 0) {
    return errno == ENOENT ? Status::Ok() : ErrnoStatus(errno, "remove", path);
  }
  if (S_ISDIR(info.st_mode)) {
    SONDE_ASSIGN_OR_RETURN(const auto entries, ListDirectory(path));
    for (const auto& entry : entries) {
      SONDE_RETURN_IF_ERROR(RemoveTree(JoinPath(path, entry.name)));
    }
  }
  const int result = S_ISDIR(info.st_mode) ? rmdir(path.c_str()) : unlink(path.c_str());
  if (result != 0 && errno != ENOENT) return ErrnoStatus(errno, "remove", path);
  return Status::Ok();
}

bool PathExists(const std::string& path) { return StatPath(path).ok(); }

bool IsDirectory(const std::string& path) {
  const auto info = StatPath(path);
  return info.ok() && S_ISDIR(info->st_mode);
}

bool IsRegularFile(const std::string& path) {
  const auto info = StatPath(path);
  return info.ok() && S_ISREG(info->st_mode);
}

Result<uint64_t> FileSize(const std::string& path) {
  SONDE_ASSIGN_OR_RETURN(const struct stat info, StatPath(path));
  return static_cast<uint64_t>(info.st_size);
}

Result<uint64_t> FreeDiskBytes(const std::string& path) {
  std::string existing = AbsolutePath(path);
  while (!PathExists(existing) && existing != "/") existing = std::string(DirName(existing));
  struct statvfs info{};
  if (statvfs(existing.c_str(), &info) != 0) return ErrnoStatus(errno, "look at the disk of", path);
  return uint64_t{info.f_bavail} * info.f_frsize;
}

std::string JoinPath(std::string_view a, std::string_view b) {
  if (a.empty() || b.starts_with('/')) return std::string(b);
  if (b.empty()) return std::string(a);
  return a.ends_with('/') ? Concat(a, b) : Concat(a, "/", b);
}

std::string_view BaseName(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos || path.size() == 1 ? path : path.substr(slash + 1);
}

std::string_view DirName(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  path = path.substr(0, slash == 0 ? 1 : slash);
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return path;
}

std::string_view Extension(std::string_view path) {
  const std::string_view name = BaseName(path);
  const size_t dot = name.rfind('.');
  return dot == std::string_view::npos || dot == 0 ? std::string_view() : name.substr(dot);
}

std::string AbsolutePath(const std::string& path) {
  std::string full = path;
  if (!path.starts_with('/')) {
    const std::unique_ptr<char, void (*)(void*)> here(getcwd(nullptr, 0), &std::free);
    full = JoinPath(here == nullptr ? "/" : here.get(), path);
  }
  std::vector<std::string_view> parts;
  for (const std::string_view part : Split(full, '/')) {
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      parts.push_back(part);
    } else if (!parts.empty()) {
      parts.pop_back();
    }
  }
  std::string absolute = "/";
  absolute += Join(parts, "/");  // not one expression: GCC 12 warns of an overlap at -O3
  return absolute;
}

}  // namespace sonde::base
