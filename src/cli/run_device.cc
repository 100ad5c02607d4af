#include "cli/run_device.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/strings.h"

namespace sonde::cli {
namespace {

using base::Concat;

constexpr std::string_view kLibrary = "libmspti.so";

std::string_view Value(const VariableGetter& get_variable, const char* name) {
  const char* text = get_variable(name);
  return text == nullptr ? std::string_view() : std::string_view(text);
}

}  // namespace

std::optional<std::string> FindMspti(const VariableGetter& get_variable) {
  std::vector<std::string> folders;
  for (const char* name : {"ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"}) {
    const std::string_view home = Value(get_variable, name);
    if (home.empty()) continue;
    folders.push_back(base::JoinPath(home, "lib64"));
    folders.push_back(base::JoinPath(home, "tools/mspti/lib64"));
  }
  for (std::string_view rest = Value(get_variable, "LD_LIBRARY_PATH"); !rest.empty();) {
    const size_t end = rest.find(':');
    if (end != 0) folders.emplace_back(rest.substr(0, end));
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  }
  for (const std::string& folder : folders) {
    const std::string path = base::JoinPath(folder, kLibrary);
    // The loader takes blanks and colons for ends of a name.
    const bool can_be_named = path.find_first_of(" :") == std::string::npos;
    if (can_be_named && base::IsRegularFile(path)) return base::AbsolutePath(path);
  }
  return std::nullopt;
}

void AddDeviceVariables(const std::string& library, const VariableGetter& get_variable,
                        EnvironmentVariables& out) {
  const std::string_view theirs = Value(get_variable, "LD_PRELOAD");
  const bool is_there = theirs.find(kLibrary) != std::string_view::npos;
  if (!is_there) {
    out.emplace_back("LD_PRELOAD", theirs.empty() ? library : Concat(library, ":", theirs));
  }
  const std::pair<std::string, std::string> is_wanted = {"SONDE_PROFILE_WITH_DEVICE", "1"};
  if (std::find(out.begin(), out.end(), is_wanted) != out.end()) {
    out.emplace_back("SONDE_NPU_COLLECTOR", "mspti");
  } else {
    out.push_back(is_wanted);
  }
}

}  // namespace sonde::cli
