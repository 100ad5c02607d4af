// Files and folders: whole reads, read-only mappings, outputs that appear complete or not at all.
//
// Paths are byte strings as the kernel takes them. Failures carry the path, the system's reason
// and, where there is one, a remedy. Errors: Status. Threads: objects belong to one thread at a
// time, the free functions may be called from any.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace sonde::base {

// "cannot <action> '<path>': <reason> (<remedy>)", with the code that fits `error_number` (errno).
Status ErrnoStatus(int error_number, std::string_view action, std::string_view path);

// --- Reading ---------------------------------------------------------------------------------

// The whole file; works for files of /proc too. Fails with kOutOfRange beyond `max_bytes`.
Result<std::string> ReadFile(const std::string& path,
                             size_t max_bytes = std::numeric_limits<size_t>::max());

// A read-only mapping, unmapped with the object. The file must not shrink meanwhile: touching a
// page that is gone kills the process. A file that grows keeps the size it had.
class MappedFile {
 public:
  enum class Access {
    kSequential,
    kRandom,
    kCopies,  // as kSequential, and CopyTo can be used: the file stays open
  };

  static Result<MappedFile> Open(const std::string& path, Access access = Access::kSequential);
  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  const std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data_), size_}; }

  // Gives the pages of [offset, offset + size) back to the system; they are read again when
  // touched.
  void Forget(size_t offset, size_t size) const;
  // Copies bytes of the file past the mapping; returns how many, less than asked for at the end or
  // where they cannot be read. Any thread.
  size_t CopyTo(uint64_t offset, std::span<char> to) const;

 private:
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
  int file_ = -1;  // only with kCopies
};

// --- Writing ---------------------------------------------------------------------------------

// A file written under a temporary name in the same folder; Commit() gives it its name. Destroyed
// without Commit() it is removed. The first failed write is kept: later appends and Commit() return
// it, so a writer may ignore single results and look at Commit() only.
class AtomicFile {
 public:
  struct Options {
    size_t buffer_bytes = size_t{1} << 20U;
    mode_t mode = 0666;         // less the umask
    bool sync_to_disk = false;  // fsync before the rename: survives a power cut
  };

  static Result<AtomicFile> Create(const std::string& path, const Options& options);
  static Result<AtomicFile> Create(const std::string& path) { return Create(path, Options()); }
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&& other) noexcept;
  ~AtomicFile();

  // Buffered; pieces larger than the buffer go straight to the file.
  Status Append(std::string_view text);
  // Reads appended bytes, from `offset` on.
  Status ReadBack(uint64_t offset, void* to, size_t size);
  // Replaces an existing file of that name.
  Status Commit();
  // Removes the temporary file now.
  void Abandon();

  const std::string& path() const { return path_; }
  const std::string& temporary_path() const { return temporary_path_; }
  uint64_t bytes_written() const { return flushed_bytes_ + buffer_.size(); }

 private:
  AtomicFile(std::string path, std::string temporary_path, int descriptor, const Options& options);
  Status Flush();
  Status WriteAll(std::string_view text);

  std::string path_;
  std::string temporary_path_;
  int descriptor_ = -1;
  Options options_;
  std::string buffer_;
  uint64_t flushed_bytes_ = 0;
  Status first_error_;
};

// Writes `text` under `path`, complete or not at all.
Status WriteFileAtomically(const std::string& path, std::string_view text);

// The same for a folder: fill temporary_path(), then Commit(). An existing folder of the final name
// is exchanged in one step and then removed, if `replace`; else Commit() fails with kAlreadyExists.
class AtomicDirectory {
 public:
  static Result<AtomicDirectory> Create(const std::string& path, bool replace = true);
  AtomicDirectory(AtomicDirectory&& other) noexcept;
  AtomicDirectory& operator=(AtomicDirectory&& other) noexcept;
  ~AtomicDirectory();

  const std::string& path() const { return path_; }
  const std::string& temporary_path() const { return temporary_path_; }
  Status Commit();
  void Abandon();

 private:
  AtomicDirectory(std::string path, std::string temporary_path, bool replace);

  std::string path_;
  std::string temporary_path_;  // empty once committed or abandoned
  bool replace_ = true;
};

// --- Folders ---------------------------------------------------------------------------------

struct DirectoryEntry {
  enum class Kind { kFile, kDirectory, kSymlink, kOther };
  std::string name;
  Kind kind = Kind::kOther;
};

// Sorted by name, without "." and "..".
Result<std::vector<DirectoryEntry>> ListDirectory(const std::string& path);

// With all parents; fine when it is there already.
Status MakeDirectories(const std::string& path, mode_t mode = 0777);

// A file, or a folder with all it holds; does not follow symbolic links. Fine when nothing is
// there.
Status RemoveTree(const std::string& path);

// Ok when files can be made in the folder, or the folder itself could be made. Leaves nothing
// behind.
Status CheckWritableDirectory(const std::string& path);

// --- Paths -----------------------------------------------------------------------------------

bool PathExists(const std::string& path);
bool IsDirectory(const std::string& path);
bool IsRegularFile(const std::string& path);
Result<uint64_t> FileSize(const std::string& path);
// Bytes that this user may still write on the file system of `path`, or of its nearest parent.
Result<uint64_t> FreeDiskBytes(const std::string& path);

// Joins with one '/'; an absolute `b` wins.
std::string JoinPath(std::string_view a, std::string_view b);
std::string_view BaseName(std::string_view path);   // "a/b.csv" -> "b.csv", "a/" -> "a"
std::string_view DirName(std::string_view path);    // "a/b.csv" -> "a", "b" -> ".", "/b" -> "/"
std::string_view Extension(std::string_view path);  // "a/b.tar.gz" -> ".gz", ".profile" -> ""
// Against the current folder, without "." and "..", links not resolved.
std::string AbsolutePath(const std::string& path);

}  // namespace sonde::base
