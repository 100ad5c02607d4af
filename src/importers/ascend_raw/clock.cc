#include "importers/ascend_raw/clock.h"

#include <algorithm>
#include <vector>

#include "base/files.h"
#include "base/host/json.h"
#include "base/strings.h"

namespace sonde::importers::raw {
namespace {

using base::JoinPath;

constexpr size_t kMostBytes = size_t{1} << 20U;

// As a number or a text of one.
std::optional<int64_t> NumberOf(const base::JsonValue& value) {
  if (value.IsString()) return base::ParseInt64(base::Trim(value.AsString().value_or("")));
  const auto number = value.AsInt();
  return number.ok() ? std::optional(*number) : std::nullopt;
}

std::string TextOf(const base::JsonValue& value) {
  return value.IsString() ? value.AsString().value_or("") : value.Dump();
}

std::optional<int64_t> Difference(std::optional<int64_t> a, std::optional<int64_t> b) {
  int64_t difference = 0;
  if (!a || !b || __builtin_sub_overflow(*a, *b, &difference)) return std::nullopt;
  return difference;
}

void TakeStartInfo(const std::string& path, Clock& clock) {
  const auto info = base::JsonDocument::ReadFile(path);
  if (!info.ok()) return;
  const auto wall_us = NumberOf(info->root()["collectionTimeBegin"]);
  if (!wall_us || *wall_us <= 0 || *wall_us > INT64_MAX / 1000) return;
  clock.wall = Difference(*wall_us * 1000, NumberOf(info->root()["clockMonotonicRaw"]));
  if (clock.wall) clock.began_ns = *wall_us * 1000;
}

// "<name>.<device>", or its name from before devices had a folder each.
std::string SettingOf(const std::string& folder, std::string_view name, int32_t device) {
  const std::string numbered = JoinPath(folder, base::Concat(name, ".", std::to_string(device)));
  return base::IsRegularFile(numbered) ? numbered : JoinPath(folder, name);
}

// The monotonic time of the host at which the counters were read.
std::optional<int64_t> HostInstant(std::string_view log, int64_t kilohertz) {
  const auto monotonic = LogValue(log, "clock_monotonic_raw");
  if (!monotonic || kilohertz <= 0) return monotonic;
  const int64_t more = LogValue(log, "cntvct_diff").value_or(0);
  const __int128 shifted = static_cast<__int128>(more) * 1'000'000 / kilohertz + *monotonic;
  if (shifted < 0 || shifted > INT64_MAX) return std::nullopt;
  return static_cast<int64_t>(shifted);
}

// The clock of profiler_info*.json in the folder.
Clock ClockOfInfo(const base::JsonValue& root) {
  Clock clock;
  const base::JsonValue start = root["start_info"];
  const auto ticks = NumberOf(start["start_cnt"]);
  const auto monotonic = NumberOf(start["start_monotonic"]);
  if (start["syscnt_enable"].AsBool().value_or(false)) {
    clock.kilohertz = KilohertzOf(TextOf(start["freq"]));
    clock.is_known = clock.kilohertz > 0 && ticks && *ticks >= 0 && monotonic;
    clock.start_ticks = static_cast<uint64_t>(ticks.value_or(0));
    clock.start_ns = monotonic.value_or(0);
  } else {
    clock.is_known = !start.IsNull();
  }
  const base::JsonValue end = root["end_info"];
  clock.wall = Difference(NumberOf(end["collectionTimeEnd"]), NumberOf(end["MonotonicTimeEnd"]));
  return clock;
}

}  // namespace

int64_t Clock::FromTicks(uint64_t ticks) const {
  if (!is_known) return ticks > INT64_MAX ? -1 : static_cast<int64_t>(ticks);
  if (kilohertz == 0) return ticks > INT64_MAX ? -1 : FromMonotonic(static_cast<int64_t>(ticks));
  constexpr uint64_t kToNs = 1'000'000;
  constexpr uint64_t kNear = INT64_MAX / kToNs;  // a day at 100 MHz: no wider numbers are needed
  int64_t near_ns = 0;
  if (ticks >= start_ticks && ticks - start_ticks <= kNear &&
      !__builtin_add_overflow((ticks - start_ticks) * kToNs / static_cast<uint64_t>(kilohertz),
                              start_ns, &near_ns)) {
    return FromMonotonic(near_ns);
  }
  const auto since = static_cast<__int128>(ticks) - static_cast<__int128>(start_ticks);
  const __int128 ns = since * 1'000'000 / kilohertz + start_ns + wall.value_or(0);
  return ns < 0 || ns > INT64_MAX ? -1 : static_cast<int64_t>(ns);
}

int64_t Clock::FromMonotonic(int64_t ns) const {
  int64_t sum = 0;
  return __builtin_add_overflow(ns, wall.value_or(0), &sum) || sum < 0 ? -1 : sum;
}

int64_t KilohertzOf(std::string_view megahertz) {
  constexpr int64_t kMost = 10'000'000'000;
  const int64_t kilohertz = base::ParseMicrosecondsToNs(base::Trim(megahertz)).value_or(0);
  return kilohertz > 0 && kilohertz <= kMost ? kilohertz : 0;
}

std::optional<int64_t> LogValue(std::string_view text, std::string_view key) {
  for (const std::string_view line : base::Split(text, '\n')) {
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos || base::Trim(line.substr(0, colon)) != key) continue;
    return base::ParseInt64(base::Trim(line.substr(colon + 1)));
  }
  return std::nullopt;
}

std::optional<Clock> HostClockOf(const std::string& prof_folder) {
  const std::string host = JoinPath(prof_folder, "host");
  const auto info = base::JsonDocument::ReadFile(JoinPath(host, "info.json"));
  const auto log = base::ReadFile(JoinPath(host, "host_start.log"), kMostBytes);
  if (!info.ok() || !log.ok()) return std::nullopt;
  Clock clock;
  const std::vector<base::JsonValue> processors = info->root()["CPU"].Elements();
  if (processors.empty()) return std::nullopt;
  const std::string frequency = TextOf(processors.back()["Frequency"]);
  const bool is_ns = base::Trim(frequency).empty() || KilohertzOf(frequency) == 1'000'000;
  clock.kilohertz = is_ns ? 0 : KilohertzOf(frequency);
  const auto ticks = LogValue(*log, "cntvct");
  const auto instant = HostInstant(*log, clock.kilohertz);
  if (!is_ns && (clock.kilohertz == 0 || !ticks || *ticks < 0 || !instant)) return std::nullopt;
  clock.start_ticks = static_cast<uint64_t>(ticks.value_or(0));
  clock.start_ns = instant.value_or(0);
  TakeStartInfo(JoinPath(host, "start_info"), clock);
  clock.is_known = true;
  return clock;
}

std::optional<Clock> DeviceClockOf(const std::string& device_folder, int32_t device,
                                   const Clock& host) {
  const auto info = base::JsonDocument::ReadFile(SettingOf(device_folder, "info.json", device));
  const auto host_log =
      base::ReadFile(SettingOf(device_folder, "host_start.log", device), kMostBytes);
  const auto device_log =
      base::ReadFile(SettingOf(device_folder, "dev_start.log", device), kMostBytes);
  if (!info.ok() || !host_log.ok() || !device_log.ok()) return std::nullopt;
  Clock clock;
  clock.kilohertz = KilohertzOf(TextOf(info->root()["DeviceInfo"][size_t{0}]["hwts_frequency"]));
  const auto instant = HostInstant(*host_log, host.kilohertz);
  const auto ticks = LogValue(*device_log, "cntvct");
  if (clock.kilohertz <= 0 || !instant || !ticks || *ticks < 0) return std::nullopt;
  clock.start_ticks = static_cast<uint64_t>(*ticks);
  clock.start_ns = *instant;
  TakeStartInfo(SettingOf(device_folder, "start_info", device), clock);
  if (!clock.wall) {
    clock.wall = host.wall;
    clock.began_ns = host.began_ns;
  }
  clock.is_known = true;
  return clock;
}

SampleClocks SampleClocksOf(const std::string& device_folder, int32_t device, const Clock& host,
                            const Clock& device_clock) {
  SampleClocks clocks;
  const auto host_log =
      base::ReadFile(SettingOf(device_folder, "host_start.log", device), kMostBytes);
  const auto device_log =
      base::ReadFile(SettingOf(device_folder, "dev_start.log", device), kMostBytes);
  const auto info = base::JsonDocument::ReadFile(SettingOf(device_folder, "info.json", device));
  if (device_log.ok()) clocks.device_start_ns = LogValue(*device_log, "clock_monotonic_raw");
  if (info.ok()) clocks.is_version_2 = info->root().GetString("version", "").value_or("") == "2.0";
  const auto ticks = host_log.ok() ? LogValue(*host_log, "cntvct") : std::nullopt;
  if (!ticks || *ticks < 0 || !host.is_known) return clocks;
  clocks.driver = device_clock;
  clocks.driver->kilohertz = host.kilohertz;
  clocks.driver->start_ticks = static_cast<uint64_t>(*ticks);
  return clocks;
}

DeviceInfo DeviceInfoOf(const std::string& device_folder, int32_t device) {
  DeviceInfo result;
  const auto info = base::JsonDocument::ReadFile(SettingOf(device_folder, "info.json", device));
  if (!info.ok()) return result;
  result.chip = NumberOf(info->root()["platform_version"]).value_or(-1);
  const base::JsonValue first = info->root()["DeviceInfo"][size_t{0}];
  result.aic_mhz = static_cast<double>(KilohertzOf(TextOf(first["aic_frequency"]))) / 1000;
  result.aic_count = NumberOf(first["ai_core_num"]).value_or(0);
  result.aiv_count = NumberOf(first["aiv_num"]).value_or(0);
  return result;
}

int64_t PidOf(const std::string& prof_folder) {
  const auto info = base::JsonDocument::ReadFile(JoinPath(prof_folder, "host/info.json"));
  if (!info.ok()) return 0;
  return std::max<int64_t>(NumberOf(info->root()["pid"]).value_or(0), 0);
}

Clock FrameworkClockOf(const std::string& span_folder) {
  Clock clock;
  std::optional<Clock> host;
  const auto entries = base::ListDirectory(span_folder);
  if (!entries.ok()) return clock;
  for (const base::DirectoryEntry& entry : *entries) {
    const std::string path = JoinPath(span_folder, entry.name);
    if (entry.name.starts_with("PROF_") && !host) host = HostClockOf(path);
    if (!entry.name.starts_with("profiler_info") || !entry.name.ends_with(".json")) continue;
    const auto info = base::JsonDocument::ReadFile(path);
    if (info.ok() && !clock.is_known) clock = ClockOfInfo(info->root());
  }
  if (!host) return clock;
  if (host->wall) clock.wall = host->wall;
  // Only the framework's own file states whether it counted ticks.
  if (clock.is_known && clock.kilohertz == 0) return clock;
  host->wall = clock.wall;
  return *host;
}

}  // namespace sonde::importers::raw
