#include "cli/run_options.h"

#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "base/files.h"
#include "base/strings.h"

namespace sonde::cli {
namespace {

using base::Concat;

constexpr std::array<std::string_view, 4> kLevels = {"level_none", "level0", "level1", "level2"};
constexpr std::array<std::string_view, 2> kExportTypes = {"text", "db"};
constexpr std::string_view kHttpPrefix = "http://";
constexpr std::string_view kUnixPrefix = "unix:";

template <size_t N>
Status CheckOneOf(std::string_view option, const std::array<std::string_view, N>& known,
                  std::string_view value) {
  if (std::find(known.begin(), known.end(), value) != known.end()) return Status::Ok();
  return InvalidArgumentError(
      Concat(option, " must be one of ", base::Join(known, ", "), ", not '", value, "'"));
}

Status CheckSchedule(const RunOptions& options) {
  const int64_t start = options.step_start.value_or(0);
  const int64_t end = options.step_end.value_or(-1);
  if (start < 0) {
    return InvalidArgumentError(
        Concat("--profile-step-start must be 0 or more, not ", std::to_string(start)));
  }
  if (end == -1 || end > start) return Status::Ok();
  return InvalidArgumentError(Concat("impossible schedule: --profile-step-end (",
                                     std::to_string(end),
                                     ") must be greater than --profile-step-start (",
                                     std::to_string(start), "), or -1 for the end of the program"));
}

Status CheckRanks(const std::vector<int64_t>& ranks) {
  for (const int64_t rank : ranks) {
    if (rank >= 0 || (rank == -1 && ranks.size() == 1)) continue;
    return InvalidArgumentError(
        Concat("--profile-ranks takes numbers from 0, or -1 alone for all ranks, not ",
               std::to_string(rank)));
  }
  return Status::Ok();
}

Status CheckHttpAddress(const std::string& address) {
  const std::string_view place = std::string_view(address).substr(kHttpPrefix.size());
  const size_t colon = place.rfind(':');
  const auto port =
      colon == std::string_view::npos ? std::nullopt : base::ParseUint64(place.substr(colon + 1));
  if (!port || *port > 65535) {
    return InvalidArgumentError(
        Concat("--control needs a port, as in http://127.0.0.1:8765 (0: any free one), not '",
               address, "'"));
  }
  const std::string_view host = place.substr(0, colon);
  if (host == "127.0.0.1" || host == "localhost") return Status::Ok();
  return InvalidArgumentError(Concat("--control listens on 127.0.0.1 only, not '", host,
                                     "': use an SSH tunnel to reach it from elsewhere"));
}

// Reads one variable at a time into options that are still open, and keeps the first failure.
class VariableReader {
 public:
  explicit VariableReader(const VariableGetter& get_variable) : get_variable_(get_variable) {}

  void Read(const char* name, std::optional<int64_t>& value) {
    Parse(name, value, &base::ParseInt64, "a whole number");
  }
  void Read(const char* name, std::optional<double>& value) {
    Parse(name, value, &base::ParseDouble, "a number");
  }
  void Read(const char* name, std::optional<bool>& value) {
    Parse(name, value, &ParseSwitch, "1 or 0");
  }
  void Read(const char* name, std::optional<std::string>& value) {
    Parse(name, value, [](std::string_view text) { return std::optional(std::string(text)); }, "");
  }
  void Read(const char* name, std::vector<std::string>& values) {
    if (values.empty()) values = Words(name);
  }
  void Read(const char* name, std::vector<int64_t>& values) {
    if (!values.empty()) return;
    for (const std::string& word : Words(name)) {
      const auto number = base::ParseInt64(word);
      if (!number) return Fail(name, word, "numbers separated by commas");
      values.push_back(*number);
    }
  }
  Status Take() { return std::move(status_); }

 private:
  static std::optional<bool> ParseSwitch(std::string_view text) {
    const std::string word = base::ToLower(text);
    if (word == "1" || word == "true" || word == "on") return true;
    if (word == "0" || word == "false" || word == "off") return false;
    return std::nullopt;
  }
  std::string_view Text(const char* name) const {
    const char* text = get_variable_(name);
    return base::Trim(text == nullptr ? "" : text);
  }
  std::vector<std::string> Words(const char* name) const {
    std::vector<std::string> words;
    for (const auto word : base::Split(Text(name), ',')) {
      if (!base::Trim(word).empty()) words.emplace_back(base::Trim(word));
    }
    return words;
  }
  template <class T, class Parser>
  void Parse(const char* name, std::optional<T>& value, Parser parse, std::string_view wanted) {
    const std::string_view text = Text(name);
    if (value || text.empty()) return;
    value = parse(text);
    if (!value) Fail(name, text, wanted);
  }
  void Fail(const char* name, std::string_view text, std::string_view wanted) {
    if (!status_.ok()) return;
    status_ = InvalidArgumentError(
        Concat("the variable ", name, " must be ", wanted, ", not '", text, "'"));
  }

  const VariableGetter& get_variable_;
  Status status_;
};

// As the recorder reads it.
bool IsSize(std::string_view text) {
  if (text.ends_with('K') || text.ends_with('M') || text.ends_with('G')) text.remove_suffix(1);
  constexpr size_t kMostDigits = 9;
  return !text.empty() && text.size() <= kMostDigits &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

void AddSwitch(EnvironmentVariables& out, const char* name, const std::optional<bool>& value) {
  if (value) out.emplace_back(name, *value ? "1" : "0");
}

}  // namespace

Result<std::string> NormalizeControl(const std::string& address) {
  if (address.starts_with(kHttpPrefix)) {
    SONDE_RETURN_IF_ERROR(CheckHttpAddress(address));
    return base::ReplaceAll(address, "//localhost:", "//127.0.0.1:");
  }
  const bool has_prefix = address.starts_with(kUnixPrefix);
  const std::string path = has_prefix ? address.substr(kUnixPrefix.size()) : address;
  const bool is_path =
      has_prefix || (path.find('/') != std::string::npos && path.find("://") == std::string::npos);
  if (path.empty() || !is_path) {
    return InvalidArgumentError(
        Concat("--control must be http://127.0.0.1:PORT or unix:PATH, not '", address, "'"));
  }
  const std::string full = base::AbsolutePath(path);
  if (full.size() >= sizeof(sockaddr_un::sun_path)) {
    return InvalidArgumentError(Concat("the socket path '", full, "' of --control is longer than ",
                                       std::to_string(sizeof(sockaddr_un::sun_path) - 1),
                                       " bytes"));
  }
  if (const std::string folder(base::DirName(full)); !base::IsDirectory(folder)) {
    return InvalidArgumentError(Concat("--control: there is no folder '", folder, "'"));
  }
  return Concat(kUnixPrefix, full);
}

Status ReadVariables(const VariableGetter& get_variable, RunOptions& options) {
  VariableReader reader(get_variable);
  reader.Read("SONDE_PROFILE_STEP_START", options.step_start);
  reader.Read("SONDE_PROFILE_STEP_END", options.step_end);
  reader.Read("SONDE_PROFILE_STEP_MARK", options.step_mark);
  reader.Read("SONDE_PROFILE_RANKS", options.ranks);
  reader.Read("SONDE_PROFILE_LEVEL", options.level);
  reader.Read("SONDE_PROFILE_EXPORT_TYPE", options.export_types);
  reader.Read("SONDE_PROFILE_DATA_SIMPLIFICATION", options.data_simplification);
  reader.Read("SONDE_PROFILE_WITH_CPU", options.with_cpu);
  reader.Read("SONDE_PROFILE_WITH_STACK", options.with_stack);
  reader.Read("SONDE_PROFILE_WITH_MEMORY", options.with_memory);
  reader.Read("SONDE_PROFILE_RECORD_SHAPES", options.record_shapes);
  reader.Read("SONDE_PROFILE_WITH_MODULES", options.with_modules);
  reader.Read("SONDE_PROFILE_WITH_DEVICE", options.with_device);
  reader.Read("SONDE_PROFILE_MSTX", options.mstx);
  reader.Read("SONDE_PROFILE_REQUEST_TEXT", options.request_text);
  reader.Read("SONDE_PROFILE_GC_THRESHOLD_MS", options.gc_threshold_ms);
  reader.Read("SONDE_PROFILE_SAVE_PATH", options.save_path);
  reader.Read("SONDE_PROFILE_MAX_SIZE", options.max_size);
  reader.Read("SONDE_PROFILE_MAX_SECONDS", options.max_seconds);
  reader.Read("SONDE_PROFILE_ANALYSE", options.analyse);
  reader.Read("SONDE_PROFILE_WAIT", options.wait);
  reader.Read("SONDE_KEEP_LAST_SECONDS", options.keep_last_s);
  reader.Read("SONDE_PROFILE_ROUTES", options.routes);
  reader.Read("SONDE_CONTROL", options.control);
  reader.Read("SONDE_QUIET", options.quiet);
  return reader.Take();
}

Status CheckRunOptions(const RunOptions& options) {
  SONDE_RETURN_IF_ERROR(CheckSchedule(options));
  SONDE_RETURN_IF_ERROR(CheckRanks(options.ranks));
  if (options.level) {
    SONDE_RETURN_IF_ERROR(CheckOneOf("--profile-level", kLevels, *options.level));
  }
  for (const std::string& type : options.export_types) {
    SONDE_RETURN_IF_ERROR(CheckOneOf("--profile-export-type", kExportTypes, type));
  }
  if (options.gc_threshold_ms &&
      !(std::isfinite(*options.gc_threshold_ms) && *options.gc_threshold_ms >= 0)) {
    return InvalidArgumentError("--profile-gc-threshold-ms must be 0 or more");
  }
  if (options.max_size && !IsSize(*options.max_size)) {
    return InvalidArgumentError(
        Concat("--profile-max-size must be a number of bytes, optionally with K, M or G, not '",
               *options.max_size, "'"));
  }
  if (options.max_seconds && *options.max_seconds < 0) {
    return InvalidArgumentError("--profile-max-seconds must be 0 (no limit) or more");
  }
  if (options.save_path && options.save_path->empty()) {
    return InvalidArgumentError("--profile-save-path must not be empty");
  }
  if (!options.control) return Status::Ok();
  if (options.step_start || options.step_end) {
    return InvalidArgumentError(
        "--control and --profile-step-start/--profile-step-end exclude each other: either requests "
        "or steps select the recorded part");
  }
  return NormalizeControl(*options.control).status();
}

EnvironmentVariables ToEnvironment(const RunOptions& options) {
  EnvironmentVariables out;
  // An end alone means "from the first step".
  if (options.step_start || options.step_end) {
    out.emplace_back("SONDE_PROFILE_STEP_START", std::to_string(options.step_start.value_or(0)));
    out.emplace_back("SONDE_PROFILE_STEP_END", std::to_string(options.step_end.value_or(-1)));
  }
  if (options.step_mark) out.emplace_back("SONDE_PROFILE_STEP_MARK", *options.step_mark);
  if (!options.ranks.empty()) {
    std::vector<std::string> ranks;
    ranks.reserve(options.ranks.size());
    for (const int64_t rank : options.ranks) ranks.push_back(std::to_string(rank));
    out.emplace_back("SONDE_PROFILE_RANKS", base::Join(ranks, ","));
  }
  if (options.level) out.emplace_back("SONDE_PROFILE_LEVEL", *options.level);
  if (!options.export_types.empty()) {
    out.emplace_back("SONDE_PROFILE_EXPORT_TYPE", base::Join(options.export_types, ","));
  }
  AddSwitch(out, "SONDE_PROFILE_DATA_SIMPLIFICATION", options.data_simplification);
  AddSwitch(out, "SONDE_PROFILE_WITH_CPU", options.with_cpu);
  AddSwitch(out, "SONDE_PROFILE_WITH_STACK", options.with_stack);
  AddSwitch(out, "SONDE_PROFILE_WITH_MEMORY", options.with_memory);
  AddSwitch(out, "SONDE_PROFILE_RECORD_SHAPES", options.record_shapes);
  AddSwitch(out, "SONDE_PROFILE_WITH_MODULES", options.with_modules);
  AddSwitch(out, "SONDE_PROFILE_WITH_DEVICE", options.with_device);
  AddSwitch(out, "SONDE_PROFILE_MSTX", options.mstx);
  AddSwitch(out, "SONDE_PROFILE_REQUEST_TEXT", options.request_text);
  if (options.gc_threshold_ms) {
    out.emplace_back("SONDE_PROFILE_GC_THRESHOLD_MS",
                     base::PythonDoubleText(*options.gc_threshold_ms));
  }
  if (options.keep_last_s) {
    out.emplace_back("SONDE_KEEP_LAST_SECONDS", std::to_string(*options.keep_last_s));
  }
  out.emplace_back("SONDE_PROFILE_SAVE_PATH",
                   base::AbsolutePath(options.save_path.value_or(kDefaultSavePath)));
  if (options.max_size) out.emplace_back("SONDE_PROFILE_MAX_SIZE", *options.max_size);
  if (options.max_seconds) {
    out.emplace_back("SONDE_PROFILE_MAX_SECONDS", std::to_string(*options.max_seconds));
  }
  AddSwitch(out, "SONDE_PROFILE_ANALYSE", options.analyse);
  AddSwitch(out, "SONDE_PROFILE_WAIT", options.wait);
  AddSwitch(out, "SONDE_PROFILE_ROUTES", options.routes);
  if (options.control) {
    // Checked before, so the address itself is only a fallback.
    out.emplace_back("SONDE_CONTROL",
                     NormalizeControl(*options.control).value_or(*options.control));
  }
  AddSwitch(out, "SONDE_QUIET", options.quiet);
  return out;
}

}  // namespace sonde::cli
