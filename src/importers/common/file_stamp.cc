#include "importers/common/file_stamp.h"

#include <sys/stat.h>

#include <cerrno>

#include "base/files.h"
#include "base/hash.h"

namespace sonde::importers {

Result<uint64_t> FileStamp(const std::string& path) {
  constexpr size_t kWhole = size_t{64} << 20U;
  constexpr size_t kPieces = 64;
  constexpr size_t kPieceBytes = 4096;
  SONDE_ASSIGN_OR_RETURN(const uint64_t size, base::FileSize(path));
  using Access = base::MappedFile::Access;
  const Access access = size <= kWhole ? Access::kSequential : Access::kRandom;  // of pieces
  SONDE_ASSIGN_OR_RETURN(const base::MappedFile file, base::MappedFile::Open(path, access));
  uint64_t stamp = base::HashInt(file.size());
  if (file.size() <= kWhole) return base::HashBytes(file.data(), file.size(), stamp);
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return base::ErrnoStatus(errno, "look at", path);
  stamp = base::HashCombine(stamp, static_cast<uint64_t>(info.st_mtim.tv_sec));
  stamp = base::HashCombine(stamp, static_cast<uint64_t>(info.st_mtim.tv_nsec));
  const size_t step = (file.size() - kPieceBytes) / (kPieces - 1);
  for (size_t i = 0; i < kPieces; ++i) {
    stamp = base::HashBytes(file.data() + i * step, kPieceBytes, stamp);
  }
  return stamp;
}

}  // namespace sonde::importers
