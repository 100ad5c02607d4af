#include "cli/output_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "base/files.h"
#include "base/strings.h"
#include "base/temporaries.h"

namespace sonde::cli {
namespace {

using base::Concat;

constexpr std::array kEndingSignals = {SIGINT, SIGTERM, SIGHUP};

// Read by the handler.
std::array<char, PATH_MAX> temporary_path;
std::array<char, PATH_MAX> temporary_folder;

void RemoveAndEnd(int number) {
  ::unlink(temporary_path.data());
  ::rmdir(temporary_folder.data());
  ::signal(number, SIG_DFL);
  ::raise(number);
}

// While it lives, ending signals remove the file; ignored ones stay ignored.
class RemovedBySignal {
 public:
  explicit RemovedBySignal(const std::string& path) {
    if (path.size() >= temporary_path.size()) return;
    const std::string_view folder = base::DirName(path);
    path.copy(temporary_path.data(), path.size());
    temporary_path.at(path.size()) = '\0';
    folder.copy(temporary_folder.data(), folder.size());
    temporary_folder.at(folder.size()) = '\0';
    struct sigaction action = {};
    action.sa_handler = &RemoveAndEnd;
    for (size_t i = 0; i < kEndingSignals.size(); ++i) {
      ::sigaction(kEndingSignals.at(i), nullptr, &before_.at(i));
      if (before_.at(i).sa_handler != SIG_IGN) ::sigaction(kEndingSignals.at(i), &action, nullptr);
    }
    is_set_ = true;
  }
  RemovedBySignal(const RemovedBySignal&) = delete;
  RemovedBySignal& operator=(const RemovedBySignal&) = delete;
  ~RemovedBySignal() {
    if (!is_set_) return;
    for (size_t i = 0; i < kEndingSignals.size(); ++i) {
      ::sigaction(kEndingSignals.at(i), &before_.at(i), nullptr);
    }
  }

 private:
  std::array<struct sigaction, kEndingSignals.size()> before_ = {};
  bool is_set_ = false;
};

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
  Status status;
  {
    const RemovedBySignal removed(temporary);
    status = write(temporary);
    if (status.ok() && std::rename(temporary.c_str(), path.c_str()) != 0) {
      status = base::ErrnoStatus(errno, "write", output);
    }
    base::RemoveTree(folder).IgnoreError();  // the next command tries again
  }
  return status;
}

Status WriteOutput(const std::string& output, const std::function<Status(std::FILE* file)>& write) {
  if (IsWrittenInto(output)) return WriteInto(output, "ae", output, write);
  return WriteOutputPath(
      output, [&](const std::string& path) { return WriteInto(path, "we", output, write); });
}

}  // namespace sonde::cli
