#include "cli/licenses.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/files.h"
#include "base/strings.h"

namespace sonde::cli {
namespace {

constexpr std::string_view kRule =
    "--------------------------------------------------------------------------------\n";

}  // namespace

Result<std::string> LicenseTexts(const std::string& home) {
  const std::filesystem::path folder = base::JoinPath(home, "licenses");
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".txt") files.push_back(entry.path().string());
  }
  if (files.empty()) {
    return NotFoundError(base::Concat("no notices in '", folder.string(),
                                      "': this program was built, not installed; 'make wheel' "
                                      "writes them to build/release/licenses"));
  }
  std::sort(files.begin(), files.end());
  std::string names;
  std::string notices;
  for (const std::string& file : files) {
    SONDE_ASSIGN_OR_RETURN(const std::string text, base::ReadFile(file));
    names += base::Concat("  ", text.substr(0, text.find('\n')), "\n");
    notices += base::Concat(kRule, text);
  }
  return base::Concat("Inside this program\n", names, "\n", notices);
}

}  // namespace sonde::cli
