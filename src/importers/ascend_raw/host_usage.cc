#include "importers/ascend_raw/host_usage.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/host/json.h"
#include "base/strings.h"
#include "importers/ascend_raw/issues.h"
#include "importers/ascend_raw/text_lines.h"
#include "importers/ascend_raw/units.h"

namespace sonde::importers::raw {
namespace {

using base::Concat;

// A line "time <ns>" gives the moment of the lines behind it.
std::optional<int64_t> HostMomentOf(const std::vector<std::string_view>& words) {
  return words.size() < 2 ? std::nullopt : base::ParseInt64(words[1]);
}

// Processor time of a thread of the process until now, and its last processor.
struct ThreadUse {
  double ticks = 0;
  int64_t processor = 0;
};

// A line of /proc/<pid>/task/<tid>/stat; its name may have blanks in it.
std::optional<ThreadUse> ThreadUseOf(std::string_view line) {
  constexpr size_t kUser = 11;  // behind the name
  constexpr size_t kSystem = 12;
  constexpr size_t kProcessor = 36;
  const size_t name_end = line.rfind(')');
  if (name_end == std::string_view::npos) return std::nullopt;
  const std::vector<std::string_view> words = WordsOf(line.substr(name_end + 1));
  if (words.size() <= kProcessor) return std::nullopt;
  const auto user = base::ParseInt64(words[kUser]);
  const auto system = base::ParseInt64(words[kSystem]);
  const auto processor = base::ParseInt64(words[kProcessor]);
  if (!user || !system || !processor) return std::nullopt;
  return ThreadUse{.ticks = static_cast<double>(*user) + static_cast<double>(*system),
                   .processor = *processor};
}

// Blocks that a line "time <ns>" begins: `begin` has its moment, nothing where that is no number;
// `take` has each line behind it, and its words.
template <class Begin, class Take>
void ForEachBlock(const Stream& stream, store::ImportIssues& issues, const Begin& begin,
                  const Take& take) {
  const std::string text = ReadTexts(stream, issues);
  for (const std::string_view line : base::Split(text, '\n')) {
    const std::vector<std::string_view> words = WordsOf(line);
    if (words.empty()) continue;
    if (words[0] != "time") {
      take(line, words);
      continue;
    }
    const auto moment = HostMomentOf(words);
    if (!moment) issues.Add(kBadRecord, stream.name);
    begin(moment);
  }
}

struct ProcessorSample {
  std::optional<int64_t> moment;
  double ticks = 0;  // since the machine's start
  std::map<int64_t, ThreadUse> threads;
};

// The use of a processor is that of the threads that ran on it last. `processors`: their number; 0
// unknown.
template <class Add>
void AddProcessorUsage(const ProcessorSample& before, const ProcessorSample& now, double processors,
                       const Add& add) {
  const double passed = now.ticks - before.ticks;
  if (!now.moment || !before.moment || passed <= 0) return;
  double all = 0;
  std::map<int64_t, double> used;
  for (const auto& [thread, use] : now.threads) {
    const auto last = before.threads.find(thread);
    if (last == before.threads.end()) continue;
    const double ticks = std::min(use.ticks - last->second.ticks, passed);
    used[use.processor] += ticks;
    all += ticks;
  }
  for (const auto& [processor, ticks] : used) {
    if (ticks > passed) continue;  // threads that came from another one
    add(Concat("CPU ", std::to_string(processor), " Usage %"), ticks * kPercent / passed);
  }
  if (processors > 0) add("CPU Avg Usage %", all * kPercent / (passed * processors));
}

struct NetworkSample {
  std::optional<int64_t> moment;
  std::vector<std::pair<std::string, int64_t>> bytes;  // by card, in the order of the text
};

// Traffic of the cards since the sample before, on average of them, as a share of the speed of the
// last one (`cards`: bytes a second).
template <class Add>
void AddNetworkUsage(const NetworkSample& before, const NetworkSample& now,
                     const std::map<std::string, double>& cards, const Add& add) {
  if (!now.moment || !before.moment || *now.moment <= *before.moment) return;
  double all = 0;
  double count = 0;
  double most = 0;
  for (const auto& [card, bytes] : now.bytes) {
    const auto last =
        std::ranges::find(before.bytes, card, &std::pair<std::string, int64_t>::first);
    if (last == before.bytes.end() || bytes < last->second) continue;
    all += static_cast<double>(bytes - last->second);
    most = cards.at(card);
    ++count;
  }
  if (count == 0) return;
  const double seconds =
      (static_cast<double>(*now.moment) - static_cast<double>(*before.moment)) / kNsPerSecond;
  add("Network Usage %", all / count / seconds * kPercent / most);
  add("Network Usage speed B/s", all / seconds);
}

// Kilobytes a second of "12.5 M/s".
std::optional<double> RateOf(std::string_view number, std::string_view unit) {
  const auto value = base::ParseDouble(number);
  if (!value) return std::nullopt;
  const double factor = unit == "B/s"   ? 1 / kKilo
                        : unit == "M/s" ? kKilo
                        : unit == "G/s" ? kKilo * kKilo
                                        : 1;
  return *value * factor;
}

}  // namespace

HostUsage::HostUsage(TraceRows& rows, const Clock& clock, const std::string& host_folder,
                     int64_t pid)
    : rows_(rows), clock_(clock), pid_(pid) {
  constexpr double kBytesPerMegabit = 125'000;
  const auto info = base::JsonDocument::ReadFile(base::JoinPath(host_folder, "info.json"));
  if (info.ok()) {
    const auto number = [&](std::string_view key) {
      return info->root().GetDouble(key, 0).value_or(0);
    };
    memory_kilobytes_ = number("memoryTotal");
    processors_ = number("cpuNums");
    ticks_per_second_ = number("sysClockFreq");
    for (const base::JsonValue& card : info->root()["netCard"].Elements()) {
      const double speed = card.GetDouble("speed", -1).value_or(-1);
      const std::string name = card.GetString("netCardName", "").value_or("");
      if (speed > 0) cards_[name] = speed * kBytesPerMegabit;
    }
  }
  const auto sample = base::JsonDocument::ReadFile(base::JoinPath(host_folder, "sample.json"));
  if (sample.ok()) disk_samples_ = sample->root().GetDouble("host_disk_freq", 0).value_or(0);
}

bool HostUsage::Read(const Stream& stream) {
  if (stream.name == "host_cpu.data" && ticks_per_second_ > 0) {
    ReadProcessors(stream);
  } else if (stream.name == "host_mem.data" && memory_kilobytes_ > 0) {
    ReadMemory(stream);
  } else if (stream.name == "host_disk.data" && disk_samples_ > 0) {
    ReadDisk(stream);
  } else if (stream.name == "host_network.data" && !cards_.empty()) {
    ReadNetwork(stream);
  } else {
    return false;
  }
  return true;
}

void HostUsage::Add(std::string_view name, int64_t monotonic, double value) {
  const int32_t track = rows_.Track(
      {.kind = capture::TrackKind::kCounter, .name = name, .process_id = rows_.Process(pid_)});
  rows_.counters.push_back(
      {.ts = clock_.FromMonotonic(monotonic), .track_id = track, .value = value});
}

// Samples of all threads of the process, behind a line of the machine's uptime.
void HostUsage::ReadProcessors(const Stream& stream) {
  ProcessorSample before;
  ProcessorSample now;
  bool is_uptime = false;
  const auto close = [&] {
    AddProcessorUsage(before, now, processors_, [&](const std::string& name, double value) {
      Add(name, *before.moment, value);
    });
    before = std::exchange(now, {});
  };
  const auto begin = [&](std::optional<int64_t> moment) {
    close();
    now.moment = moment;
    is_uptime = moment.has_value();
  };
  ForEachBlock(stream, rows_.issues, begin, [&](std::string_view line, const auto& words) {
    if (is_uptime) {
      const auto seconds = base::ParseDouble(words[0]);
      if (!seconds) rows_.issues.Add(kBadRecord, stream.name);
      now.ticks = seconds.value_or(0) * ticks_per_second_;
      is_uptime = false;
      return;
    }
    const auto thread = base::ParseInt64(words[0]);
    const auto use = ThreadUseOf(line);
    if (thread && use) {
      now.threads[*thread] = *use;
    } else {
      rows_.issues.Add(kBadRecord, stream.name);
    }
  });
  close();
}

// "<ns> <size> <resident> ..." of /proc/<pid>/statm, in pages of 4 KB.
void HostUsage::ReadMemory(const Stream& stream) {
  constexpr double kPageKilobytes = 4;
  std::optional<int64_t> before;
  const std::string text = ReadTexts(stream, rows_.issues);
  for (const std::string_view line : base::Split(text, '\n')) {
    const std::vector<std::string_view> words = WordsOf(line);
    if (words.empty()) continue;
    const auto moment = base::ParseInt64(words[0]);
    const auto resident = words.size() > 2 ? base::ParseInt64(words[2]) : std::nullopt;
    if (!moment || !resident) {
      rows_.issues.Add(kBadRecord, stream.name);
      continue;
    }
    if (before) {
      Add("Memory Usage %", *before,
          static_cast<double>(*resident) * kPageKilobytes * kPercent / memory_kilobytes_);
    }
    before = moment;
  }
}

// The output of iotop, begun by "start_time <ns>": a line a sample, without times.
void HostUsage::ReadDisk(const Stream& stream) {
  constexpr size_t kRead = 4;
  constexpr size_t kShare = 10;
  constexpr double kMostNs = 1e15;  // a file may have any value
  const auto interval =
      static_cast<int64_t>(std::clamp(kNsPerSecond / disk_samples_, 1.0, kMostNs));
  int64_t at = 0;
  const std::string text = ReadTexts(stream, rows_.issues);
  for (const std::string_view line : base::Split(text, '\n')) {
    const std::vector<std::string_view> words = WordsOf(line);
    if (words.size() < 2 || !base::ParseInt64(words[1])) continue;  // a heading
    if (words[0] == "start_time") {
      at = *HostMomentOf(words);
      continue;
    }
    const bool is_whole = words.size() > kRead + 3;
    const auto read = is_whole ? RateOf(words[kRead], words[kRead + 1]) : std::nullopt;
    const auto written = is_whole ? RateOf(words[kRead + 2], words[kRead + 3]) : std::nullopt;
    if (!read || !written) {
      rows_.issues.Add(kBadRecord, stream.name);
      continue;
    }
    const auto share = words.size() > kShare ? base::ParseDouble(words[kShare]) : std::nullopt;
    Add("Disk Usage %", at, share.value_or(0));
    Add("Disk Usage read B/s", at, *read * kKilo);
    Add("Disk Usage write B/s", at, *written * kKilo);
    if (__builtin_add_overflow(at, interval, &at)) {
      return rows_.issues.Add(kBadRecord, stream.name);
    }
  }
}

// /proc/net/dev of the cards whose speed is known.
void HostUsage::ReadNetwork(const Stream& stream) {
  constexpr size_t kReceived = 1;
  constexpr size_t kSent = 9;
  NetworkSample before;
  NetworkSample now;
  const auto begin = [&](std::optional<int64_t> moment) {
    AddNetworkUsage(before, now, cards_, [&](const std::string& name, double value) {
      Add(name, *before.moment, value);
    });
    before = std::exchange(now, {});
    now.moment = moment;
  };
  ForEachBlock(stream, rows_.issues, begin, [&](std::string_view /*line*/, const auto& words) {
    const std::string card(words[0].substr(0, words[0].size() - 1));  // without its colon
    if (words[0].back() != ':' || !cards_.contains(card)) return;
    const auto received = words.size() > kSent ? base::ParseInt64(words[kReceived]) : std::nullopt;
    const auto sent = words.size() > kSent ? base::ParseInt64(words[kSent]) : std::nullopt;
    int64_t bytes = 0;
    if (!received || !sent || __builtin_add_overflow(*received, *sent, &bytes)) {
      return rows_.issues.Add(kBadRecord, stream.name);
    }
    now.bytes.emplace_back(card, bytes);
  });
  begin(std::nullopt);  // the last one ends with the file
}

}  // namespace sonde::importers::raw
