#include "importers/ascend_raw/system_usage.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/strings.h"
#include "importers/ascend_raw/issues.h"
#include "importers/ascend_raw/text_lines.h"
#include "importers/ascend_raw/units.h"

namespace sonde::importers::raw {
namespace {

using base::Concat;

constexpr std::string_view kStamp = "TimeStamp:";

// Numbers from a word on; nothing where one is none.
std::optional<std::vector<int64_t>> NumbersOf(const std::vector<std::string_view>& words,
                                              size_t first) {
  std::vector<int64_t> numbers;
  for (size_t i = first; i < words.size(); ++i) {
    const auto number = base::ParseInt64(words[i]);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
}

std::optional<int64_t> SumOf(const std::vector<int64_t>& numbers) {
  int64_t sum = 0;
  for (const int64_t number : numbers) {
    if (__builtin_add_overflow(sum, number, &sum)) return std::nullopt;
  }
  return sum;
}

bool IsProcessor(std::string_view word) { return word.starts_with("cpu"); }

}  // namespace

bool SystemUsage::Read(const Stream& stream) {
  const std::string_view name = stream.name;
  if (name == "SystemCpuUsage.data" || name == "host_sys_cpu.data") {
    ReadProcessors(stream);
    return true;
  }
  if (name == "Memory.data" || name == "host_sys_mem.data") {
    ReadMemory(stream);
    return true;
  }
  const size_t line = name.find('-');
  const std::string_view process = name.substr(0, line);
  if (line == std::string_view::npos || !base::ParseInt64(process)) return false;
  if (name.substr(line) == "-CpuUsage.data") {
    ReadTimesOfProcess(stream, process);
  } else if (name.substr(line) == "-Memory.data") {
    ReadPagesOfProcess(stream, process);
  } else {
    return false;
  }
  return true;
}

void SystemUsage::Add(const std::string& name, int64_t moment, double value) {
  const int32_t track = rows_.Track({.kind = capture::TrackKind::kCounter,
                                     .name = name,
                                     .process_id = rows_.Process(pid_),
                                     .device_id = device_id_});
  rows_.counters.push_back({.ts = to_moment_(moment), .track_id = track, .value = value});
}

void SystemUsage::ForEachBlock(
    const Stream& stream,
    const std::function<void(int64_t, const std::vector<std::string_view>&)>& take) {
  int64_t moment = 0;
  bool is_open = false;
  std::vector<std::string_view> lines;
  const auto close = [&] {
    if (is_open && !lines.empty()) take(moment, lines);
    is_open = false;
    lines.clear();
  };
  const std::string text = ReadTexts(stream, rows_.issues);
  for (const std::string_view raw_line : base::Split(text, '\n')) {
    const std::string_view line = base::Trim(raw_line);
    if (line.starts_with(kStamp)) {
      close();
      const auto stamp = base::ParseInt64(base::Trim(line.substr(kStamp.size())));
      if (!stamp) rows_.issues.Add(kBadRecord, stream.name);
      is_open = stamp.has_value();
      moment = stamp.value_or(0);
    } else if (!line.empty()) {
      if (is_open) lines.push_back(line);
    } else {
      close();
    }
  }
  close();
}

// Lines of /proc/stat: user, nice, system, idle, waiting, and time of interrupts.
void SystemUsage::ReadProcessors(const Stream& stream) {
  constexpr size_t kParts = 10;
  before_.clear();
  ForEachBlock(stream, [&](int64_t moment, const std::vector<std::string_view>& lines) {
    for (const std::string_view line : lines) {
      const std::vector<std::string_view> words = WordsOf(line);
      if (!IsProcessor(words[0])) continue;
      auto parts = NumbersOf(words, 1);
      const auto all = parts ? SumOf(*parts) : std::nullopt;
      if (!all || parts->size() < kParts) {
        rows_.issues.Add(kBadRecord, stream.name);
        continue;
      }
      const std::string_view number = words[0].substr(3);
      const std::string label = number.empty() ? "System CPU" : Concat("System CPU ", number);
      AddProcessor(label, moment, {.parts = *std::move(parts), .all = *all});
    }
  });
}

void SystemUsage::AddProcessor(const std::string& label, int64_t moment, const Times& times) {
  struct Part {
    size_t place;
    std::string_view name;
  };
  constexpr auto kParts = std::to_array<Part>(
      {{0, "user"}, {2, "system"}, {3, "idle"}, {4, "iowait"}, {5, "irq"}, {6, "softirq"}});
  const auto [last, is_first] = before_.try_emplace(label, times);
  const Times before = std::exchange(last->second, times);
  const int64_t passed = Change(times.all, before.all);
  if (is_first || passed <= 0) return;
  for (const Part& part : kParts) {
    const int64_t ticks = Change(times.parts[part.place], before.parts[part.place]);
    Add(Concat(label, " ", part.name, " %"), moment,
        static_cast<double>(ticks) * kPercent / static_cast<double>(passed));
  }
}

// Lines of /proc/meminfo, in KB except for the numbers of large pages.
void SystemUsage::ReadMemory(const Stream& stream) {
  constexpr auto kBytes = std::to_array<std::string_view>(
      {"MemTotal", "MemFree", "Buffers", "Cached", "Shmem", "CommitLimit", "Committed_AS"});
  constexpr auto kPages = std::to_array<std::string_view>({"HugePages_Total", "HugePages_Free"});
  ForEachBlock(stream, [&](int64_t moment, const std::vector<std::string_view>& lines) {
    for (const std::string_view line : lines) {
      const size_t colon = line.find(':');
      if (colon == std::string_view::npos) continue;
      const std::string_view key = line.substr(0, colon);
      const bool is_bytes = std::ranges::find(kBytes, key) != kBytes.end();
      if (!is_bytes && std::ranges::find(kPages, key) == kPages.end()) continue;
      const std::vector<std::string_view> words = WordsOf(line.substr(colon + 1));
      const auto value = words.empty() ? std::nullopt : base::ParseInt64(words[0]);
      if (!value) {
        rows_.issues.Add(kBadRecord, stream.name);
        continue;
      }
      Add(Concat("System Memory ", key, is_bytes ? " B" : ""), moment,
          static_cast<double>(*value) * (is_bytes ? kKilo : 1));
    }
  });
}

// A line of /proc/<pid>/stat, whose times (with those of children that ended) are fields 14 to 17,
// and the machine's line of /proc/stat.
void SystemUsage::ReadTimesOfProcess(const Stream& stream, std::string_view process) {
  constexpr size_t kUser = 11;  // behind the name, which may have blanks in it
  constexpr size_t kTimes = 4;
  std::optional<std::pair<int64_t, int64_t>> before;  // of the process, of the machine
  ForEachBlock(stream, [&](int64_t moment, const std::vector<std::string_view>& lines) {
    std::optional<int64_t> own;
    std::optional<int64_t> all;
    for (const std::string_view line : lines) {
      const size_t name_end = line.rfind(')');
      if (IsProcessor(line)) {
        const auto parts = NumbersOf(WordsOf(line), 1);
        all = parts ? SumOf(*parts) : std::nullopt;
      } else if (!line.starts_with("ProcessName") && name_end != std::string_view::npos) {
        std::vector<std::string_view> words = WordsOf(line.substr(name_end + 1));
        if (words.size() < kUser + kTimes) continue;
        words.resize(kUser + kTimes);
        const auto times = NumbersOf(words, kUser);
        own = times ? SumOf(*times) : std::nullopt;
      }
    }
    if (!own || !all) return rows_.issues.Add(kBadRecord, stream.name);
    const auto last = std::exchange(before, std::pair(*own, *all));
    const int64_t passed = last ? Change(*all, last->second) : 0;
    if (passed <= 0) return;
    Add(Concat("Process ", process, " CPU %"), moment,
        static_cast<double>(Change(*own, last->first)) * kPercent / static_cast<double>(passed));
  });
}

// A line of /proc/<pid>/statm: size, resident, shared, and more.
void SystemUsage::ReadPagesOfProcess(const Stream& stream, std::string_view process) {
  constexpr auto kParts = std::to_array<std::string_view>({"size", "resident", "shared"});
  ForEachBlock(stream, [&](int64_t moment, const std::vector<std::string_view>& lines) {
    for (const std::string_view line : lines) {
      if (line.starts_with("ProcessName")) continue;
      const auto numbers = NumbersOf(WordsOf(line), 0);
      if (!numbers || numbers->size() < kParts.size()) {
        rows_.issues.Add(kBadRecord, stream.name);
        continue;
      }
      for (size_t i = 0; i < kParts.size(); ++i) {
        Add(Concat("Process ", process, " Memory ", kParts.at(i), " pages"), moment,
            static_cast<double>((*numbers)[i]));
      }
    }
  });
}

}  // namespace sonde::importers::raw
