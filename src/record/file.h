// File helpers of the recorder: whole writes to open files. Results are 0 or a negative errno
// (no text: callers know what they were doing). Any thread.
//
// Writes never raise SIGXFSZ in the host program: the signal is held back and taken off.
#ifndef SONDE_RECORD_FILE_H_
#define SONDE_RECORD_FILE_H_

#include <sys/types.h>
#include <sys/uio.h>

#include <cstdint>
#include <string>

namespace sonde::record {

inline constexpr mode_t kFolderMode = 0750;
inline constexpr mode_t kFileMode = 0640;

// Appends all pieces at `offset`, where the file ends. A write that cannot be finished is undone by
// cutting the file back to `offset`. `iov` is used up.
[[nodiscard]] int WriteWhole(int fd, iovec* iov, int count, uint64_t offset);

// Makes sure that `size` bytes of the file have disk blocks, so that a mapping of it cannot fault.
[[nodiscard]] int AllocateBlocks(int fd, uint64_t size);

std::string ReadSmallFile(const std::string& path, size_t max_bytes);

// Creates a file that must not exist yet, close-on-exec. Descriptor or negative errno.
[[nodiscard]] int CreateFile(const std::string& path);

void CloseFile(int* fd);  // -1 afterwards

}  // namespace sonde::record

#endif  // SONDE_RECORD_FILE_H_
