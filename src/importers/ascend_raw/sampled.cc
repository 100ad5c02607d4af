#include "importers/ascend_raw/sampled.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "importers/ascend_raw/ge_names.h"
#include "importers/ascend_raw/issues.h"
#include "importers/ascend_raw/pmu.h"
#include "importers/ascend_raw/text_lines.h"
#include "importers/ascend_raw/units.h"

namespace sonde::importers::raw {
namespace {

using base::Concat;

constexpr int64_t kNsPerUsInt = 1000;

// "seconds:nanoseconds", or one number.
std::optional<int64_t> MomentOf(std::string_view text) {
  return base::ParseInt64(base::ReplaceAll(text, ":", ""));
}

// Lines of numbers; a first one that is a header is none.
template <class Take>
void ForEachRow(const Stream& stream, size_t least, store::ImportIssues& issues, Take&& take) {
  bool is_first = true;
  const std::string text = ReadTexts(stream, issues);
  for (const std::string_view line : base::Split(text, '\n')) {
    const std::vector<std::string_view> words = WordsOf(line);
    if (words.empty()) continue;
    const auto moment = MomentOf(words[0]);
    if (moment && words.size() >= least) {
      take(*moment, words);
    } else if (!is_first) {
      issues.Add(kBadRecord, stream.name);
    }
    is_first = false;
  }
}

}  // namespace

SampledValues::SampledValues(TraceRows& rows, const DeviceLayer& device,
                             const std::string& device_folder, const Clock& host_clock, int64_t pid)
    : rows_(rows),
      device_(device),
      clocks_(SampleClocksOf(device_folder, device.device(), host_clock, device.clock())),
      host_clock_(host_clock),
      has_samples_of_cores_(!PmuSettingsOf(device_folder, 0, 0).is_of_tasks),
      has_samples_of_vectors_(!PmuSettingsOf(device_folder, 0, 0).is_vector_of_tasks),
      core_mhz_(DeviceInfoOf(device_folder, device.device()).aic_mhz),
      pid_(pid) {}

bool SampledValues::Read(const Stream& stream) {
  if (stream.name == "hbm.data") {
    ReadHbm(stream);
  } else if (stream.name == "npu_mem.data" || stream.name == "npu_mem.app") {
    ReadNpuMemory(stream);
  } else if (stream.name == "npu_module_mem.data" && clocks_.driver) {
    ReadModules(stream);
  } else if (stream.name == "pcie.data" && clocks_.device_start_ns) {
    ReadPcie(stream);
  } else if (stream.name == "hccs.data" && clocks_.device_start_ns) {
    ReadHccs(stream);
  } else if (stream.name == "nic.data" && clocks_.device_start_ns) {
    ReadPorts(stream, "NIC Port");
  } else if (stream.name == "roce.data" && clocks_.device_start_ns) {
    ReadPorts(stream, "RoCE Port");
  } else if (stream.name == "netdev_stats.data") {
    ReadNetworkDevice(stream);
  } else if (stream.name == "dvpp.data" && clocks_.device_start_ns) {
    ReadImageUnits(stream);
  } else if (stream.name == "ffts_profile.data" && has_samples_of_cores_) {
    ReadCores(stream, CoreKind::kByNumber);
  } else if (device_.chip().is_hwts() && stream.name == "aicore.data" && has_samples_of_cores_) {
    ReadCores(stream, CoreKind::kCube);
  } else if (device_.chip().is_hwts() && stream.name == "aiVectorCore.data" &&
             has_samples_of_vectors_) {
    ReadCores(stream, CoreKind::kVector);
  } else if (stream.name == "lpmInfoConv.data") {
    ReadVoltage(stream);
  } else if (stream.name == "ub.data" && device_.chip().is_v6()) {
    ReadUnifiedBus(stream);
  } else {
    return false;
  }
  return true;
}

void SampledValues::Add(std::string_view name, int64_t ts, double value) {
  const int32_t track = rows_.Track({.kind = capture::TrackKind::kCounter,
                                     .name = name,
                                     .process_id = rows_.Process(pid_),
                                     .device_id = device_.device()});
  rows_.counters.push_back({.ts = ts, .track_id = track, .value = value});
}

int64_t SampledValues::SinceStart(uint64_t microseconds) const {
  constexpr uint64_t kMost = uint64_t{1} << 50U;
  int64_t ns = 0;
  if (microseconds > kMost ||
      __builtin_add_overflow(static_cast<int64_t>(microseconds) * kNsPerUsInt,
                             device_.clock().start_ns, &ns)) {
    return -1;
  }
  return device_.clock().FromMonotonic(ns);
}

int64_t SampledValues::OfDevice(std::optional<int64_t> monotonic) const {
  int64_t since = 0;
  int64_t ns = 0;
  if (!monotonic || !clocks_.device_start_ns ||
      __builtin_sub_overflow(*monotonic, *clocks_.device_start_ns, &since) ||
      __builtin_add_overflow(since, device_.clock().start_ns, &ns)) {
    return -1;
  }
  return device_.clock().FromMonotonic(ns);
}

// A count is 32 bytes since the sample before of the same memory and direction.
void SampledValues::ReadHbm(const Stream& stream) {
  constexpr double kBytes = 32;
  struct Sample {
    int64_t ts;
    uint64_t count;
  };
  std::map<std::pair<uint32_t, bool>, std::vector<Sample>> samples;
  const bool is_new = clocks_.is_version_2;
  const RecordForm form{is_new ? size_t{32} : size_t{24}};
  ReadRecords(stream, form, rows_.issues, [&](std::string_view r) {
    const auto event = At<uint32_t>(r, is_new ? 8 : 16);
    const auto memory = At<uint32_t>(r, is_new ? 12 : 20);
    const auto time = At<uint64_t>(r, is_new ? 24 : 0);
    const int64_t ts = !is_new            ? SinceStart(time)
                       : time > INT64_MAX ? -1
                                          : static_cast<int64_t>(time);
    samples[{memory, event != 0}].push_back({ts, At<uint64_t>(r, is_new ? 16 : 8)});
  });
  for (auto& [key, list] : samples) {
    std::stable_sort(list.begin(), list.end(),
                     [](const Sample& a, const Sample& b) { return a.ts < b.ts; });
    const std::string name =
        Concat("HBM ", std::to_string(key.first), key.second ? " write B/s" : " read B/s");
    for (size_t i = 1; i < list.size(); ++i) {
      const int64_t dt = list[i].ts - list[i - 1].ts;
      if (dt <= 0) continue;
      Add(name, list[i].ts,
          static_cast<double>(list[i].count) * kBytes * kNsPerSecond / static_cast<double>(dt));
    }
  }
}

void SampledValues::ReadNpuMemory(const Stream& stream) {
  constexpr RecordForm kForm{32};
  ReadRecords(stream, kForm, rows_.issues, [&](std::string_view r) {
    const int64_t ts = SinceStart(clocks_.is_version_2 ? At<uint64_t>(r, 8) : At<uint32_t>(r, 0));
    const std::string_view owner = At<uint32_t>(r, 4) == 0 ? "app" : "device";
    Add(Concat("NPU MEM ", owner, " DDR B"), ts, static_cast<double>(At<uint64_t>(r, 16)));
    Add(Concat("NPU MEM ", owner, " HBM B"), ts, static_cast<double>(At<uint64_t>(r, 24)));
  });
}

void SampledValues::ReadModules(const Stream& stream) {
  constexpr RecordForm kForm{24};
  ReadRecords(stream, kForm, rows_.issues, [&](std::string_view r) {
    Add(Concat("NPU Module ", ModuleName(At<uint32_t>(r, 0)), " B"),
        clocks_.driver->FromTicks(At<uint64_t>(r, 8)), static_cast<double>(At<uint64_t>(r, 16)));
  });
}

// Of each kind of traffic min, max, average in bytes a microsecond, of a latency in nanoseconds.
void SampledValues::ReadPcie(const Stream& stream) {
  constexpr RecordForm kForm{96};
  constexpr size_t kValues = 12;
  constexpr size_t kLatency = 3;
  constexpr std::array<std::string_view, 7> kKinds = {
      "Tx post", "Tx nonpost", "Tx cpl", "Tx nonpost latency", "Rx post", "Rx nonpost", "Rx cpl"};
  ReadRecords(stream, kForm, rows_.issues, [&](std::string_view r) {
    const auto time = At<uint64_t>(r, 0);
    const int64_t ts = time > INT64_MAX ? -1 : OfDevice(static_cast<int64_t>(time));
    if (At<uint32_t>(r, kValues + 4) < At<uint32_t>(r, kValues)) {
      rows_.issues.Add(kBadRecord, stream.name);
      return;
    }
    for (size_t i = 0; i < kKinds.size(); ++i) {
      const bool is_latency = i == kLatency;
      const double unit = is_latency ? 1 : 1e6;
      const std::string_view end = is_latency ? " ns" : " B/s";
      const size_t at = kValues + i * 12;
      const auto value = [&](size_t k) { return At<uint32_t>(r, at + k * 4) * unit; };
      Add(Concat("PCIe ", kKinds.at(i), " min", end), ts, value(0));
      Add(Concat("PCIe ", kKinds.at(i), " max", end), ts, value(1));
      Add(Concat("PCIe ", kKinds.at(i), end), ts, value(2));
    }
  });
}

// Running counters of bytes, as changes since the line before; none where a counter went back.
void SampledValues::ReadHccs(const Stream& stream) {
  std::optional<std::tuple<int64_t, int64_t, int64_t>> before;
  ForEachRow(stream, 3, rows_.issues, [&](int64_t moment, const auto& words) {
    const auto sent = base::ParseInt64(words[1]);
    const auto received = base::ParseInt64(words[2]);
    if (!sent || !received) return rows_.issues.Add(kBadRecord, stream.name);
    if (before) {
      const auto& [then, sent_then, received_then] = *before;
      const int64_t dt = Change(moment, then);
      const int64_t tx = Change(*sent, sent_then);
      const int64_t rx = Change(*received, received_then);
      if (dt > 0 && tx >= 0 && rx >= 0) {
        const double rate = kNsPerSecond / static_cast<double>(dt);
        Add("HCCS Tx B/s", OfDevice(moment), static_cast<double>(tx) * rate);
        Add("HCCS Rx B/s", OfDevice(moment), static_cast<double>(rx) * rate);
      }
    }
    before = {moment, *sent, *received};
  });
}

void SampledValues::ReadPorts(const Stream& stream, std::string_view label) {
  constexpr std::array<std::string_view, 13> kColumns = {
      "bandwidth", "rxPacketRate", "rxByteRate",   "rxPackets",  "rxBytes",
      "rxErrors",  "rxDropped",    "txPacketRate", "txByteRate", "txPackets",
      "txBytes",   "txErrors",     "txDropped"};
  constexpr size_t kPort = kColumns.size() + 1;
  ForEachRow(stream, kPort, rows_.issues, [&](int64_t moment, const auto& words) {
    const std::string port = words.size() > kPort ? std::string(words[kPort]) : "0";
    for (size_t i = 0; i < kColumns.size(); ++i) {
      const auto value = base::ParseDouble(words[i + 1]);
      if (value) {
        Add(Concat(label, " ", port, " ", kColumns.at(i)), OfDevice(moment), *value);
      } else {
        rows_.issues.Add(kBadRecord, stream.name);
      }
    }
  });
}

// Running counters, as changes since the line before: 0 where one went back. Of bytes a rate, too.
void SampledValues::ReadNetworkDevice(const Stream& stream) {
  struct Column {
    std::string_view change;
    std::string_view rate;  // "" none
  };
  constexpr auto kColumns = std::to_array<Column>({{"mac tx pfc packets", ""},
                                                   {"mac rx pfc packets", ""},
                                                   {"mac tx bytes", "mac tx"},
                                                   {"mac rx bytes", "mac rx"},
                                                   {"mac tx bad bytes", ""},
                                                   {"mac rx bad bytes", ""},
                                                   {"roce tx packets", ""},
                                                   {"roce rx packets", ""},
                                                   {"roce tx error packets", ""},
                                                   {"roce rx error packets", ""},
                                                   {"roce tx cnp packets", ""},
                                                   {"roce rx cnp packets", ""},
                                                   {"roce retried packets", ""},
                                                   {"nic tx bytes", "nic tx"},
                                                   {"nic rx bytes", "nic rx"}});
  std::vector<int64_t> before;  // the moment, then the counters
  ForEachRow(stream, kColumns.size() + 1, rows_.issues, [&](int64_t moment, const auto& words) {
    std::vector<int64_t> now = {moment};
    for (size_t i = 1; i <= kColumns.size(); ++i) {
      const auto number = base::ParseInt64(words[i]);
      if (!number) return rows_.issues.Add(kBadRecord, stream.name);
      now.push_back(*number);
    }
    const int64_t dt = before.empty() ? 0 : Change(moment, before.front());
    if (!before.empty() && dt <= 0) return;  // the line is left out
    const int64_t ts = host_clock_.FromMonotonic(moment);
    for (size_t i = 0; i < kColumns.size() && dt > 0; ++i) {
      const auto change =
          static_cast<double>(std::max<int64_t>(0, Change(now[i + 1], before[i + 1])));
      Add(Concat("Network device ", kColumns.at(i).change), ts, change);
      if (kColumns.at(i).rate.empty()) continue;
      Add(Concat("Network device ", kColumns.at(i).rate), ts,
          change * kNsPerSecond / static_cast<double>(dt));
    }
    before = std::move(now);
  });
}

void SampledValues::ReadUnifiedBus(const Stream& stream) {
  constexpr RecordForm kForm{128};
  ReadRecords(stream, kForm, rows_.issues, [&](std::string_view r) {
    const std::string label = Concat("UB Port ", std::to_string(At<uint16_t>(r, 4)));
    const int64_t ts = SinceStart(At<uint64_t>(r, 8));
    Add(Concat(label, " rx"), ts, static_cast<double>(At<uint64_t>(r, 16)));
    Add(Concat(label, " tx"), ts, static_cast<double>(At<uint64_t>(r, 24)));
  });
}

// Units for images and video: their work in all, by the process, and last. Some chips have several
// of them, with a number.
void SampledValues::ReadImageUnits(const Stream& stream) {
  constexpr std::array<std::string_view, 8> kColumns = {
      "all time us",     "all frames",     "all utilization %",
      "process time us", "process frames", "process utilization %",
      "last time us",    "last frames"};
  const bool has_number = device_.chip().id == 1 || device_.chip().is_stars();
  const size_t at = has_number ? 2 : 1;  // of the kind of engine
  ForEachRow(
      stream, at + 2 + kColumns.size(), rows_.issues, [&](int64_t moment, const auto& words) {
        const std::string label = Concat("DVPP ", has_number ? words[1] : std::string_view("0"),
                                         " ", words[at], " ", words[at + 1], " ");
        for (size_t i = 0; i < kColumns.size(); ++i) {
          std::string_view word = words[at + 2 + i];
          if (word.ends_with('%')) word.remove_suffix(1);
          const auto value = base::ParseDouble(word);
          if (!value) return rows_.issues.Add(kBadRecord, stream.name);
          Add(Concat(label, kColumns.at(i)), OfDevice(moment), *value);
        }
      });
}

// The counters of a core since its sample before. Where one stream has both kinds of cores they are
// numbered through both.
void SampledValues::ReadCores(const Stream& stream, CoreKind kind) {
  constexpr uint32_t kLastCube = 24;
  const bool is_v6 = device_.chip().is_v6();
  const RecordForm form{is_v6 ? size_t{112} : size_t{96}};
  const size_t at = is_v6 ? 88 : 72;  // of the cycles, behind the counters
  std::map<uint32_t, int64_t> before;
  ReadRecords(stream, form, rows_.issues, [&](std::string_view r) {
    const auto time = At<uint64_t>(r, at + 8);
    const int64_t ts = is_v6              ? device_.clock().FromTicks(time)
                       : time > INT64_MAX ? -1
                                          : OfDevice(static_cast<int64_t>(time));
    const uint32_t core = At<uint8_t>(r, at + 17);
    const auto cycles = static_cast<double>(At<uint64_t>(r, at));
    const bool is_vector =
        kind == CoreKind::kVector || (kind == CoreKind::kByNumber && core > kLastCube);
    const std::string label = Concat("AI Core ", std::to_string(core), is_vector ? " AIV" : " AIC");
    Add(Concat(label, " total_cycles"), ts, cycles);
    Add(Concat(label, " MHz"), ts, core_mhz_);
    const auto [last, is_first] = before.try_emplace(core, ts);
    const int64_t dt = Change(ts, std::exchange(last->second, ts));
    if (is_first || dt <= 0 || core_mhz_ <= 0) return;
    constexpr double kNsPerUnit = 1000;  // of a cycle at 1 MHz
    Add(Concat(label, " usage %"), ts,
        cycles * kNsPerUnit / (core_mhz_ * static_cast<double>(dt)) * kPercent);
  });
}

// A change before the start only gives the value at the start.
void SampledValues::ReadVoltage(const Stream& stream) {
  constexpr RecordForm kForm{888};
  constexpr uint32_t kMost = 55;
  constexpr double kFirst = 900;
  constexpr std::array<std::string_view, 3> kNames = {"", "Aicore Voltage mV", "Bus Voltage mV"};
  std::array<double, 3> first = {kFirst, kFirst, kFirst};
  std::array<std::vector<std::pair<uint64_t, double>>, 3> changes;
  std::array<bool, 3> is_there = {};
  ReadRecords(stream, kForm, rows_.issues, [&](std::string_view r) {
    const auto count = At<uint32_t>(r, 0);
    const auto kind = At<uint32_t>(r, 4);
    if (count > kMost || kind >= kNames.size()) return rows_.issues.Add(kBadRecord, stream.name);
    is_there.at(kind) = true;
    for (uint32_t i = 0; i < count; ++i) {
      const auto ticks = At<uint64_t>(r, 8 + size_t{16} * i);
      const auto value = static_cast<double>(At<uint32_t>(r, 16 + size_t{16} * i));
      if (ticks < device_.clock().start_ticks) {
        first.at(kind) = value;
      } else {
        changes.at(kind).emplace_back(ticks, value);
      }
    }
  });
  for (size_t kind = 1; kind < kNames.size(); ++kind) {
    if (!is_there.at(kind)) continue;
    Add(kNames.at(kind), device_.clock().FromTicks(device_.clock().start_ticks), first.at(kind));
    for (const auto& [ticks, value] : changes.at(kind)) {
      Add(kNames.at(kind), device_.clock().FromTicks(ticks), value);
    }
  }
}

}  // namespace sonde::importers::raw
