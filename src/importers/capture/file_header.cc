#include "importers/capture/file_header.h"

#include "base/bytes.h"
#include "base/crc32c.h"
#include "importers/capture/issues.h"

namespace sonde::importers::capture_import {

std::optional<capture::FileHeader> ReadHeader(std::span<const std::byte> bytes, uint64_t magic,
                                              std::string_view file, store::ImportIssues& issues) {
  if (bytes.size() < sizeof(capture::FileHeader)) {
    issues.Add(kTruncatedFile, file, static_cast<int64_t>(bytes.size()));
    return std::nullopt;
  }
  const auto header = base::LoadLe<capture::FileHeader>(bytes.data());
  const size_t covered = offsetof(capture::FileHeader, header_crc);
  if (header.magic != magic || base::Crc32c(bytes.data(), covered) != header.header_crc) {
    issues.Add(kGarbledHeader, file, 0);
    return std::nullopt;
  }
  if (header.version != capture::kFormatVersion) {
    issues.Add(kVersion, file, offsetof(capture::FileHeader, version));
    return std::nullopt;
  }
  return header;
}

}  // namespace sonde::importers::capture_import
