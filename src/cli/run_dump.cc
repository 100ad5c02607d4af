#include "cli/run_dump.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/host/json.h"
#include "base/strings.h"

namespace sonde::cli {
namespace {

using base::Concat;
using base::JsonValue;

constexpr std::string_view kProbe = "msprobe";  // values; the other packages are of times
// By name, the folder in Sonde's Python package that holds what stands in for it.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kProvided = {
    {{kProbe, "_provide"}, {"torch_npu", "_provide_npu"}}};
constexpr std::array<std::string_view, 8> kTasks = {"statistics", "tensor",       "structure",
                                                    "nan_check",  "diff_check",   "overflow_check",
                                                    "nan_watch",  "compile_check"};
constexpr std::array<std::string_view, 5> kDumpLevels = {"L0", "L1", "L2", "mix", "debug"};

template <size_t N>
Status CheckWord(const JsonValue& config, const std::string& path, std::string_view key,
                 std::string_view fallback, const std::array<std::string_view, N>& known) {
  SONDE_ASSIGN_OR_RETURN(const std::string word, config.GetString(key, fallback));
  if (std::find(known.begin(), known.end(), word) != known.end()) return Status::Ok();
  return InvalidArgumentError(Concat(path, ": ", key, " is invalid, it should be one of ",
                                     base::Join(known, ", "), ", not '", word, "'"));
}

// The key that was probably meant to be dump_path, in words.
std::string MeantBy(const JsonValue& config) {
  constexpr size_t kNear = 3;
  for (const auto& [key, value] : config.Members()) {
    const bool is_near = base::EditDistance(base::ToLower(key), "dump_path") <= kNear;
    const bool is_other = key == "path" || key == "output_path";
    if (value.IsString() && (is_near || is_other)) {
      return Concat("; is it meant by '", key, "'?");
    }
  }
  return {};
}

}  // namespace

bool Provides(const RunOptions& options, std::string_view package) {
  const auto& given = options.provide;
  return std::find(given.begin(), given.end(), package) != given.end();
}

bool IsDump(const RunOptions& options) { return options.dump_config || Provides(options, kProbe); }

Status CheckProvided(const RunOptions& options) {
  for (const std::string& package : options.provide) {
    const bool is_known = std::any_of(kProvided.begin(), kProvided.end(),
                                      [&](const auto& known) { return known.first == package; });
    if (is_known) continue;
    std::vector<std::string> names;
    for (const auto& [name, folder] : kProvided) names.emplace_back(name);
    return InvalidArgumentError(
        Concat("--provide must be ", base::Join(names, " or "), ", not '", package, "'"));
  }
  return Status::Ok();
}

Status CheckDump(const RunOptions& options) {
  if (options.step_start || options.step_end) {
    return InvalidArgumentError(
        "--dump-config and --provide msprobe record values, not times: the --profile-step options "
        "do not go with them");
  }
  if (!options.dump_config && options.control) {
    return InvalidArgumentError(
        "--control goes with --dump-config, not with --provide msprobe alone");
  }
  if (!options.dump_config) return Status::Ok();
  const std::string& path = *options.dump_config;
  SONDE_ASSIGN_OR_RETURN(const base::JsonDocument document, base::JsonDocument::ReadFile(path));
  const JsonValue config = document.root();
  if (!config.IsObject()) {
    return InvalidArgumentError(Concat(path, ": the configuration must be an object"));
  }
  SONDE_RETURN_IF_ERROR(CheckWord(config, path, "task", "statistics", kTasks));
  SONDE_RETURN_IF_ERROR(CheckWord(config, path, "level", "L1", kDumpLevels));
  SONDE_ASSIGN_OR_RETURN(const std::string folder, config.GetString("dump_path", ""));
  if (folder.empty()) {
    const JsonValue load = config["load"];  // a run that only loads writes nothing
    const bool loads_only =
        load.IsObject() && !load.GetBool("dump_after_load", false).value_or(true);
    if (loads_only) return Status::Ok();
    return InvalidArgumentError(Concat(path, ": the dump_path not found", MeantBy(config)));
  }
  return base::CheckWritableDirectory(folder).Annotate(Concat(path, ": dump_path"));
}

std::string ProvidedFolders(const RunOptions& options, const Layout& layout) {
  std::string folders;
  for (const auto& [name, folder] : kProvided) {
    if (!Provides(options, name)) continue;
    folders.append(":").append(base::JoinPath(layout.python_package, folder));
  }
  return folders;
}

}  // namespace sonde::cli
