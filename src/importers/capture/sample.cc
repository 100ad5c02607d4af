#include "importers/capture/sample.h"

#include <string_view>

#include "base/files.h"

namespace sonde::importers {
namespace {

constexpr size_t kCaptureBytes = size_t{8} << 20U;  // some 250 000 records

}  // namespace

Status WriteCaptureSample(const std::string& path, const std::string& sample, size_t least_bytes) {
  const std::string inside = base::JoinPath(path, "SONDE");
  const std::string from = base::IsDirectory(inside) ? inside : path;
  const std::string to = base::JoinPath(sample, "SONDE");
  SONDE_ASSIGN_OR_RETURN(const auto entries, base::ListDirectory(from));
  std::string first;  // segment
  uint64_t recorded = 0;
  for (const auto& entry : entries) {
    if (!entry.name.starts_with("events_")) continue;
    if (first.empty() || entry.name < first) first = entry.name;
    recorded += base::FileSize(base::JoinPath(from, entry.name)).value_or(0);
  }
  if (recorded < least_bytes || recorded <= kCaptureBytes) {
    return base::NotFoundError("no sample is needed");
  }
  SONDE_RETURN_IF_ERROR(base::MakeDirectories(to));
  const auto copy = [&](const std::string& name, size_t most) -> Status {
    SONDE_ASSIGN_OR_RETURN(const auto file, base::MappedFile::Open(base::JoinPath(from, name)));
    return base::WriteFileAtomically(base::JoinPath(to, name), file.text().substr(0, most));
  };
  for (const auto& entry : entries) {
    if (entry.name.starts_with("dictionary_")) {
      SONDE_RETURN_IF_ERROR(copy(entry.name, std::string_view::npos));
    }
  }
  return copy(first, kCaptureBytes);
}

Result<std::string> WriteCapturePreview(const std::string& path, const std::string& folder) {
  std::string sample = base::JoinPath(folder, "begin_1_1_ascend_pt");
  SONDE_RETURN_IF_ERROR(WriteCaptureSample(path, sample));
  return sample;
}

}  // namespace sonde::importers
