#include "cli/output_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

#include "base/files.h"
#include "base/strings.h"
#include "base/temporaries.h"

namespace sonde::cli {
namespace {

using base::Concat;

// Where links lead, also to a file that is not there yet.
Result<std::string> Followed(const std::string& output) {
  constexpr int kMostLinks = 40;
  std::filesystem::path path = output;
  for (int i = 0; i < kMostLinks; ++i) {
    std::error_code error;
    const auto link = std::filesystem::read_symlink(path, error);
    if (error) return path.string();  // no link, or nothing there
    path = path.parent_path() / link;
  }
  return base::ErrnoStatus(ELOOP, "write", output);
}

// A descriptor's name is no place for another file, whatever it leads to.
bool IsWrittenInto(const std::string& output) {
  if (output.starts_with("/dev/") || output.starts_with("/proc/")) return true;
  struct stat info = {};
  return ::stat(output.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

Status WriteInto(const std::string& path, const char* mode, const std::string& output,
                 const std::function<Status(std::FILE* file)>& write) {
  std::FILE* file = std::fopen(path.c_str(), mode);
  if (file == nullptr) return base::ErrnoStatus(errno, "write", output);
  Status status = write(file);
  if (std::fclose(file) != 0 && status.ok()) status = base::ErrnoStatus(errno, "write", output);
  return status;
}

}  // namespace

Status WriteOutputPath(const std::string& output,
                       const std::function<Status(const std::string& path)>& write) {
  if (IsWrittenInto(output)) {
    return base::InvalidArgumentError(
        Concat("'", output, "' is not a regular file, which this format needs"));
  }
  SONDE_ASSIGN_OR_RETURN(const std::string path, Followed(output));
  base::RemoveLeftovers(std::string(base::DirName(path)));
  // In a folder of its own: who writes by name, the database, would follow a link of that name.
  const std::string folder = base::TemporaryNextTo(path);
  constexpr mode_t kOnlyForTheUser = 0700;
  if (::mkdir(folder.c_str(), kOnlyForTheUser) != 0) {
    return base::ErrnoStatus(errno, "write", output);
  }
  const std::string temporary = base::JoinPath(folder, "output");
  Status status = write(temporary);
  if (status.ok() && std::rename(temporary.c_str(), path.c_str()) != 0) {
    status = base::ErrnoStatus(errno, "write", output);
  }
  base::RemoveTree(folder).IgnoreError();  // the next command tries again
  return status;
}

Status WriteOutput(const std::string& output, const std::function<Status(std::FILE* file)>& write) {
  if (IsWrittenInto(output)) return WriteInto(output, "ae", output, write);
  return WriteOutputPath(
      output, [&](const std::string& path) { return WriteInto(path, "we", output, write); });
}

}  // namespace sonde::cli
