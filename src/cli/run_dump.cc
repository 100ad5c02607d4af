#include "cli/run_dump.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/files.h"
#include "base/host/json.h"
#include "base/strings.h"

namespace sonde::cli {
namespace {

using base::Concat;

constexpr std::string_view kProvided = "msprobe";
constexpr std::array<std::string_view, 7> kTasks = {
    "statistics", "tensor", "structure", "nan_check", "diff_check", "overflow_check", "nan_watch"};
constexpr std::array<std::string_view, 5> kLevels = {"L0", "L1", "L2", "mix", "debug"};

template <size_t N>
Status CheckWord(const base::JsonValue& config, const std::string& path, std::string_view key,
                 std::string_view fallback, const std::array<std::string_view, N>& known) {
  SONDE_ASSIGN_OR_RETURN(const std::string word, config.GetString(key, fallback));
  if (std::find(known.begin(), known.end(), word) != known.end()) return Status::Ok();
  return InvalidArgumentError(Concat(path, ": ", key, " is invalid, it should be one of ",
                                     base::Join(known, ", "), ", not '", word, "'"));
}

}  // namespace

bool IsDump(const RunOptions& options) { return options.dump_config || options.provide; }

Status CheckDump(const RunOptions& options) {
  if (options.provide && *options.provide != kProvided) {
    return InvalidArgumentError(
        Concat("--provide must be ", kProvided, ", not '", *options.provide, "'"));
  }
  if (options.step_start || options.step_end) {
    return InvalidArgumentError(
        "--dump-config and --provide record values, not times: the --profile-step options do not "
        "go with them");
  }
  if (options.provide && !options.dump_config && options.control) {
    return InvalidArgumentError("--control goes with --dump-config, not with --provide alone");
  }
  if (!options.dump_config) return Status::Ok();
  const std::string& path = *options.dump_config;
  SONDE_ASSIGN_OR_RETURN(const base::JsonDocument document, base::JsonDocument::ReadFile(path));
  const base::JsonValue config = document.root();
  if (!config.IsObject()) {
    return InvalidArgumentError(Concat(path, ": the configuration must be an object"));
  }
  SONDE_RETURN_IF_ERROR(CheckWord(config, path, "task", "statistics", kTasks));
  SONDE_RETURN_IF_ERROR(CheckWord(config, path, "level", "L1", kLevels));
  SONDE_ASSIGN_OR_RETURN(const std::string folder, config.GetString("dump_path", ""));
  if (folder.empty()) return InvalidArgumentError(Concat(path, ": the dump_path not found"));
  return base::CheckWritableDirectory(folder).Annotate(Concat(path, ": dump_path"));
}

void AddDumpVariables(const RunOptions& options, const Layout& layout, EnvironmentVariables& out,
                      std::string& python_folders) {
  if (options.dump_config) {
    out.emplace_back("SONDE_DUMP_CONFIG", base::AbsolutePath(*options.dump_config));
  }
  if (options.provide) {
    python_folders.append(":").append(base::JoinPath(layout.python_package, "_provide"));
  }
}

}  // namespace sonde::cli
