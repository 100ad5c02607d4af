// Files of the recorder within a program that knows nothing of them. Results are 0 or a negative
// errno (no text: callers know what they were doing). Any thread, but each object one at a time.
//
// Writes never raise SIGXFSZ in the host program: the signal is blocked and discarded. A program
// may close any descriptor (daemons close all), and its next file then has the same number: the
// recorder uses a descriptor only while it refers to the file that was opened.
#ifndef SONDE_RECORD_FILE_H_
#define SONDE_RECORD_FILE_H_

#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <cstdint>
#include <string>
#include <utility>

namespace sonde::record {

inline constexpr mode_t kFolderMode = 0750;
inline constexpr mode_t kFileMode = 0640;

// Appends all pieces at `offset`, where the file ends. A write that cannot be finished is undone by
// cutting the file back to `offset`. `iov` is used up.
[[nodiscard]] int WriteWhole(int fd, iovec* iov, int count, uint64_t offset);

// Makes sure that `size` bytes of the file from `offset` on have disk blocks, so that a mapping of
// it cannot fault. That part must not have been written: it may become zeros.
[[nodiscard]] int AllocateBlocks(int fd, uint64_t offset, uint64_t size);

std::string ReadSmallFile(const std::string& path, size_t max_bytes);

// Creates a file that must not exist yet, close-on-exec. Descriptor or negative errno.
[[nodiscard]] int CreateFile(const std::string& path);

// Opens a file that the recorder made, for writing; no links. Descriptor or negative errno.
[[nodiscard]] int OpenOwnFile(const std::string& path);

void CloseFile(int* fd);  // -1 afterwards

// The file that a descriptor refers to.
class DescriptorIdentity {
 public:
  DescriptorIdentity() = default;
  explicit DescriptorIdentity(int fd);
  bool Holds(int fd) const;  // whether it still does

 private:
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

// A file that the recorder makes and writes. Where the program closed its descriptor it is opened
// again by its path.
class OwnFile {
 public:
  OwnFile() = default;
  ~OwnFile() { Close(); }
  OwnFile(OwnFile&& other) noexcept { *this = std::move(other); }
  OwnFile& operator=(OwnFile&& other) noexcept;

  [[nodiscard]] int Create(const std::string& path);                // must not exist yet
  [[nodiscard]] int Write(iovec* iov, int count, uint64_t offset);  // as WriteWhole
  // Blocks for the bytes from `offset` on, also behind the end of the file, which stays where it
  // is. -EFBIG where the process may not write so far, -EOPNOTSUPP where the file system cannot.
  [[nodiscard]] int Reserve(uint64_t offset, uint64_t bytes);
  void Truncate(uint64_t bytes);  // best effort
  void Close();
  bool is_open() const { return fd_ >= 0; }
  const std::string& path() const { return path_; }

 private:
  [[nodiscard]] int Ensure();

  int fd_ = -1;
  DescriptorIdentity identity_;
  std::string path_;
};

}  // namespace sonde::record

#endif  // SONDE_RECORD_FILE_H_
