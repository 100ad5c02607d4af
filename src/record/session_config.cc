#include "record/session_config.h"

#include <errno.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/clock.h"
#include "base/files.h"
#include "record/clock.h"
#include "record/error.h"
#include "record/file.h"

namespace sonde::record {
namespace {

constexpr char kUtcSuffix[] = "_ascend_ms";  // of folders with the time in UTC
constexpr int kNameAttempts = 200;           // names differ by the millisecond

std::string Text(const char* text) { return text == nullptr ? std::string() : std::string(text); }

std::string HostName() {
  char name[256] = {};
  if (gethostname(name, sizeof(name) - 1) != 0 || name[0] == '\0') return "localhost";
  return name;
}

// A file name part: a slash in it would be another folder.
std::string Sanitized(std::string name) {
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

std::string Timestamp(bool is_utc) {
  const int64_t now_ns = base::RealtimeNs();
  const auto seconds = static_cast<time_t>(now_ns / 1'000'000'000);
  tm parts{};
  if (is_utc) {
    gmtime_r(&seconds, &parts);
  } else {
    localtime_r(&seconds, &parts);
  }
  char text[32];
  const size_t length = strftime(text, sizeof(text), "%Y%m%d%H%M%S", &parts);
  snprintf(text + length, sizeof(text) - length, "%03d",
           static_cast<int>(now_ns / 1'000'000 % 1000));
  return text;
}

std::string SpanName(const SessionConfig& config, bool forked_child) {
  const std::string pid = std::to_string(getpid());
  if (config.folder.empty()) {
    const std::string worker = config.worker_name.empty() ? HostName() : config.worker_name;
    const bool is_utc = config.span_suffix == kUtcSuffix;
    return Sanitized(worker) + "_" + pid + "_" + Timestamp(is_utc) + Sanitized(config.span_suffix);
  }
  std::string name = Sanitized(config.folder);
  if (!forked_child) return name;
  const std::string& suffix = config.span_suffix;
  if (name.size() > suffix.size() && name.ends_with(suffix)) {
    name.resize(name.size() - suffix.size());
  }
  return name + "_" + pid + suffix;
}

}  // namespace

SessionConfig SessionConfig::FromC(const sonde_session_config* config) {
  sonde_session_config full{};
  if (config != nullptr) {
    std::memcpy(&full, config, std::min<size_t>(config->struct_size, sizeof(full)));
  }
  SessionConfig result;
  result.features = full.features & kFeatureMask;
  if (result.features == 0) result.features = SONDE_FEATURE_OPS | SONDE_FEATURE_MARKERS;
  result.features |= SONDE_FEATURE_RECORDING;
  result.directory = Text(full.directory);
  if (result.directory.empty()) result.directory = Text(std::getenv("SONDE_SAVE_PATH"));
  if (result.directory.empty()) result.directory = ".";
  result.worker_name = Text(full.worker_name);
  result.folder = Text(full.folder);
  result.domain_include = Text(full.domain_include);
  result.domain_exclude = Text(full.domain_exclude);
  result.options = Text(full.options);
  if (full.span_suffix != nullptr) result.span_suffix = full.span_suffix;
  result.ring_slots = full.ring_slots;
  result.keep_last_seconds = full.keep_last_seconds;
  result.max_bytes = full.max_bytes;
  return result;
}

sonde_session_config SessionConfig::ToC() const {
  sonde_session_config config{};
  config.struct_size = sizeof(config);
  config.features = features;
  config.directory = directory.c_str();
  config.worker_name = worker_name.empty() ? nullptr : worker_name.c_str();
  config.folder = folder.empty() ? nullptr : folder.c_str();
  config.domain_include = domain_include.c_str();
  config.domain_exclude = domain_exclude.c_str();
  config.ring_slots = ring_slots;
  config.keep_last_seconds = keep_last_seconds;
  config.max_bytes = max_bytes;
  config.options = options.empty() ? nullptr : options.c_str();
  config.span_suffix = span_suffix.c_str();
  return config;
}

Budget BudgetOfEnvironment() {
  const auto read = [](const char* name, bool is_size) -> uint64_t {
    const std::string text = Text(std::getenv(name));
    if (text.empty()) return 0;
    uint64_t value = 0;
    const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const std::string_view unit(rest, static_cast<size_t>(text.data() + text.size() - rest));
    const size_t power = std::string_view("KMG").find(unit.empty() ? ' ' : unit[0]);
    const bool has_unit = is_size && unit.size() == 1 && power != std::string_view::npos;
    constexpr uint64_t kMost = uint64_t{1} << 60;
    const int shift = has_unit ? 10 * (static_cast<int>(power) + 1) : 0;
    if (error == std::errc() && (unit.empty() || has_unit) && value <= kMost >> shift) {
      return value << shift;
    }
    PrintMessage("%s='%s' is no limit and is ignored", name, text.c_str());
    return 0;
  };
  return {read("SONDE_PROFILE_MAX_SIZE", true), read("SONDE_PROFILE_MAX_SECONDS", false)};
}

int MakeSpanFolder(const SessionConfig& config, bool forked_child, std::string* path) {
  const Status made = base::MakeDirectories(config.directory, kFolderMode);
  if (!made.ok()) return FailWith(made);
  // Absolute, because the program may change its working directory before the session ends.
  char* absolute = realpath(config.directory.c_str(), nullptr);
  if (absolute == nullptr) {
    const int error = errno;
    return Fail(error, "cannot find folder %s: %s", config.directory.c_str(), ErrorText(error));
  }
  const std::string parent = absolute;
  free(absolute);
  for (int attempt = 0; attempt < kNameAttempts; ++attempt) {
    *path = parent + "/" + SpanName(config, forked_child);
    const bool made_now = mkdir(path->c_str(), kFolderMode) == 0;
    // A folder named by the caller may exist already and hold other things, but no capture.
    if (made_now || (errno == EEXIST && !config.folder.empty())) {
      const std::string inner = *path + "/SONDE";
      if (mkdir(inner.c_str(), kFolderMode) == 0) return 0;
      const int error = errno;
      return Fail(error, "cannot create folder %s: %s", inner.c_str(),
                  error == EEXIST ? "it holds a capture already" : ErrorText(error));
    }
    if (errno != EEXIST) break;
    const timespec pause{0, 1'000'000};
    nanosleep(&pause, nullptr);
  }
  const int error = errno;
  return Fail(error, "cannot create folder %s: %s", path->c_str(), ErrorText(error));
}

}  // namespace sonde::record
