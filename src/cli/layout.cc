#include "cli/layout.h"

#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/files.h"

namespace sonde::cli {
namespace {

using base::DirName;
using base::JoinPath;

bool IsPackage(const std::string& folder) {
  return base::IsRegularFile(JoinPath(folder, "_inject/sitecustomize.py"));
}

// The package is the home folder itself, or lies in python/ of a folder above.
std::string FindPackage(const std::string& home) {
  if (IsPackage(home)) return home;
  std::string above = home;
  for (int levels = 0; levels < 4 && above != "/"; ++levels) {
    const std::string package = JoinPath(above, "python/sonde");
    if (IsPackage(package)) return package;
    above = std::string(DirName(above));
  }
  return {};
}

}  // namespace

std::string Layout::PythonFolder() const { return std::string(DirName(python_package)); }

Layout FindLayout(const std::string& binary, const char* sonde_home) {
  Layout layout;
  layout.binary = binary;
  const bool is_given = sonde_home != nullptr && *sonde_home != '\0';
  layout.home = is_given ? base::AbsolutePath(sonde_home) : std::string(DirName(DirName(binary)));
  layout.library_folder = JoinPath(layout.home, "lib");
  layout.python_package = FindPackage(layout.home);
  return layout;
}

Result<std::string> SelfPath() {
  std::array<char, 4096> path;
  const ssize_t size = readlink("/proc/self/exe", path.data(), path.size());
  if (size <= 0) return base::ErrnoStatus(errno, "read", "/proc/self/exe");
  return std::string(path.data(), static_cast<size_t>(size));
}

}  // namespace sonde::cli
