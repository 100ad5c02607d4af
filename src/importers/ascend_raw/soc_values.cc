#include "importers/ascend_raw/soc_values.h"

#include <algorithm>
#include <array>

#include "base/files.h"
#include "base/host/json.h"
#include "base/strings.h"
#include "importers/ascend_raw/issues.h"
#include "importers/ascend_raw/units.h"

namespace sonde::importers::raw {
namespace {

using base::Concat;

constexpr RecordForm kSocForm{64, 2, 0x6BD3};
constexpr double kMega = 1024.0 * 1024.0;
constexpr size_t kQosValues = 10;

uint32_t UpperOf(std::string_view record) { return At<uint16_t>(record, 0) >> 10U; }

// "" where the chip has no such die.
std::string_view DieName(const Chip& chip, uint32_t accelerator) {
  if (chip.is_v6()) {
    return accelerator == 0   ? "D-DIE0"
           : accelerator == 2 ? "U-DIE0"
           : accelerator == 3 ? "U-DIE1"
                              : "";
  }
  const bool has_dies = chip.id == 5 || chip.id == 7;
  return !has_dies ? "" : accelerator == 0 ? "die 0" : accelerator == 1 ? "die 1" : "";
}

}  // namespace

SocValues::SocValues(TraceRows& rows, const DeviceLayer& device, const std::string& device_folder,
                     int64_t pid)
    : rows_(rows), device_(device), pid_(pid) {
  const auto sample = base::JsonDocument::ReadFile(base::JoinPath(device_folder, "sample.json"));
  if (sample.ok()) {
    const auto text = [&](std::string_view key) {
      return sample->root().GetString(key, "").value_or("");
    };
    llc_mode_ = text("llc_profiling");
    const std::string names = text("qosEvents");
    for (const std::string_view name : base::Split(names, ',')) {
      if (!base::Trim(name).empty()) qos_names_.emplace_back(base::Trim(name));
    }
  }
  is_version_2_ =
      SampleClocksOf(device_folder, device.device(), device.clock(), device.clock()).is_version_2;
}

bool SocValues::Read(const Stream& stream) {
  if (stream.name == "stars_soc_profile.data") {
    ReadRecords(stream, kSocForm, rows_.issues, [&](std::string_view record) {
      if (!Take(record)) rows_.issues.Add(kSocRecord, stream.name);
    });
  } else if (stream.name == "qos.data") {
    constexpr RecordForm kForm{64};
    ReadRecords(stream, kForm, rows_.issues,
                [this](std::string_view record) { TakeQos(record, 16, /*has_die=*/false); });
  } else if (stream.name == "llc.data" && (llc_mode_ == "read" || llc_mode_ == "write")) {
    ReadLlc(stream);
  } else if (stream.name == "ddr.data") {
    ReadDdr(stream);
  } else {
    return false;
  }
  return true;
}

bool SocValues::Take(std::string_view record) {
  enum : uint8_t {
    kQos = 0b011000,
    kSio = 0b011001,
    kAccelerator = 0b011010,
    kLinks = 0b011011,
    kLevels = 0b011100,
    kPower = 0b011101,
  };
  constexpr size_t kWhole = 64;
  if (record.size() < kWhole) return false;
  switch (At<uint16_t>(record, 0) & 0x3FU) {
    case kQos:
      TakeQos(record, 8, device_.chip().is_v6());
      return true;
    case kSio:
      TakeDies(record);
      return true;
    case kAccelerator:
      TakeAccelerator(record);
      return true;
    case kLinks:
      return TakeLinks(record);
    case kLevels:
      TakeLevels(record);
      return true;
    case kPower:
      if (!device_.chip().is_v6()) return false;  // the meaning of its values is unknown
      TakePower(record);
      return true;
    default:
      return false;
  }
}

void SocValues::Add(std::string_view name, int64_t ts, double value) {
  const int32_t track = rows_.Track({.kind = capture::TrackKind::kCounter,
                                     .name = name,
                                     .process_id = rows_.Process(pid_),
                                     .device_id = device_.device()});
  rows_.counters.push_back({.ts = ts, .track_id = track, .value = value});
}

void SocValues::TakeAccelerator(std::string_view record) {
  constexpr std::array<std::string_view, 4> kSeries = {"read_bandwidth", "write_bandwidth",
                                                       "read_ost", "write_ost"};
  const int64_t ts = device_.clock().FromTicks(At<uint64_t>(record, 8));
  const std::string label = Concat("Acc PMU ", std::to_string(At<uint16_t>(record, 18)), " ");
  for (size_t i = 0; i < kSeries.size(); ++i) {
    const auto value = At<uint64_t>(record, 32 + i * sizeof(uint64_t));
    Add(Concat(label, kSeries.at(i)), ts, static_cast<double>(value));
  }
}

void SocValues::TakeLevels(std::string_view record) {
  const int64_t ts = device_.clock().FromTicks(At<uint64_t>(record, 8));
  const uint32_t levels = At<uint16_t>(record, 32);
  Add("Stars Soc Info L2 Buffer Bw Level", ts, levels & 7U);
  Add("Stars Soc Info Mata Bw Level", ts, levels >> 3U & 0xFFU);
}

// Between chips (PA) and to the host (PCIe). False where it is of neither.
bool SocValues::TakeLinks(std::string_view record) {
  const int64_t ts = device_.clock().FromTicks(At<uint64_t>(record, 8));
  const auto value = [&](size_t at) { return static_cast<double>(At<uint64_t>(record, at)); };
  if (device_.chip().is_v6()) {
    if (At<uint64_t>(record, 16) == UINT64_MAX || At<uint64_t>(record, 24) == UINT64_MAX) {
      return true;  // marked as without value
    }
    const std::string die = Concat("U-Die", std::to_string(UpperOf(record)));
    Add(Concat("PCIE Write Bandwidth ", die), ts, value(16));
    Add(Concat("PCIE Read Bandwidth ", die), ts, value(24));
    return true;
  }
  constexpr uint32_t kPa = 63;
  constexpr uint32_t kPcie = 34;
  const std::string number = std::to_string(At<uint16_t>(record, 18) & 63U);
  const uint32_t kind = UpperOf(record);
  if (kind != kPa && kind != kPcie) return false;
  Add(Concat(kind == kPa ? "PA Link Rx " : "PCIE Write Bandwidth ", number), ts, value(32));
  Add(Concat(kind == kPa ? "PA Link Tx " : "PCIE Read Bandwidth ", number), ts, value(40));
  return true;
}

// Ten values that the hardware and ten that the software took, each pair swapped: the first of the
// software is the frequency of the die.
void SocValues::TakePower(std::string_view record) {
  constexpr size_t kValues = 24;
  constexpr size_t kFrequency = kValues + 2 * 11;  // the tenth of all, of the pair 10 and 11
  Add(Concat("AI Core Freq ", std::to_string(UpperOf(record)), " MHz"),
      device_.clock().FromTicks(At<uint64_t>(record, 8)), At<uint16_t>(record, kFrequency));
}

// Bytes since the record before of the same die.
void SocValues::TakeDies(std::string_view record) {
  constexpr std::array<std::string_view, 8> kSeries = {"req_rx", "rsp_rx", "snp_rx", "dat_rx",
                                                       "req_tx", "rsp_tx", "snp_tx", "dat_tx"};
  constexpr size_t kHalf = 4;
  const bool is_v6 = device_.chip().is_v6();
  const uint32_t accelerator =
      is_v6 ? At<uint8_t>(record, 1) >> 2U : static_cast<uint32_t>(At<uint16_t>(record, 18));
  const std::string_view die = DieName(device_.chip(), accelerator);
  if (die.empty()) return rows_.issues.Add(kSocRecord, "SIO");
  const int64_t ts = device_.clock().FromTicks(At<uint64_t>(record, 8));
  const auto [before, is_first] = die_before_.try_emplace(accelerator, ts);
  const int64_t dt = Change(ts, std::exchange(before->second, ts));
  if (is_first || dt <= 0) return;
  for (size_t i = 0; i < kSeries.size(); ++i) {
    const size_t at = is_v6 ? (i < kHalf ? 28 + i * 4 : 48 + (i - kHalf) * 4) : 32 + i * 4;
    Add(Concat("SIO ", die, " ", kSeries.at(i)), ts,
        At<uint32_t>(record, at) * kNsPerSecond / static_cast<double>(dt));
  }
}

// Megabytes a second of each kind of traffic that sample.json names.
void SocValues::TakeQos(std::string_view record, size_t time_at, bool has_die) {
  const int64_t ts = device_.clock().FromTicks(At<uint64_t>(record, time_at));
  const std::string die = has_die ? Concat(std::to_string(UpperOf(record)), " ") : "";
  for (size_t i = 0; i < qos_names_.size() && i < kQosValues; ++i) {
    Add(Concat("QoS ", die, qos_names_[i], " B/s"), ts, At<uint32_t>(record, 24 + i * 4) * kMega);
  }
}

int64_t SocValues::SinceStart(uint64_t microseconds) const {
  constexpr uint64_t kMost = uint64_t{1} << 50U;
  constexpr int64_t kNsPerUs = 1000;
  int64_t ns = 0;
  if (microseconds > kMost || __builtin_add_overflow(static_cast<int64_t>(microseconds) * kNsPerUs,
                                                     device_.clock().start_ns, &ns)) {
    return -1;
  }
  return device_.clock().FromMonotonic(ns);
}

void SocValues::ReadLlc(const Stream& stream) {
  constexpr RecordForm kForm{24};
  std::vector<Sample> samples;
  ReadRecords(stream, kForm, rows_.issues, [&](std::string_view r) {
    const auto time = At<uint64_t>(r, is_version_2_ ? 16 : 0);
    samples.push_back({.ts = !is_version_2_     ? SinceStart(time)
                             : time > INT64_MAX ? -1
                                                : static_cast<int64_t>(time),
                       .part = At<uint32_t>(r, is_version_2_ ? 12 : 20),
                       .event = At<uint32_t>(r, is_version_2_ ? 8 : 16),
                       .count = is_version_2_ ? At<uint32_t>(r, 4) : At<uint64_t>(r, 8)});
  });
  std::stable_sort(samples.begin(), samples.end(), [](const Sample& a, const Sample& b) {
    return std::pair(a.part, a.ts) < std::pair(b.part, b.ts);
  });
  for (size_t i = 0; i < samples.size();) {
    const Sample& first = samples[i];
    std::map<uint32_t, uint64_t> counts;
    for (; i < samples.size() && samples[i].part == first.part && samples[i].ts == first.ts; ++i) {
      counts[samples[i].event] += samples[i].count;
    }
    AddLlc(first.part, first.ts, counts);
  }
}

// Of the events of a mode the first two move 64 bytes each, counted once in 64; of the requests
// (fifth, seventh) some were hits (third, fourth, sixth, eighth).
void SocValues::AddLlc(uint32_t part, int64_t ts, const std::map<uint32_t, uint64_t>& counts) {
  constexpr std::array<uint32_t, 8> kRead = {0x00, 0x01, 0x02, 0x13, 0x20, 0x22, 0x34, 0x36};
  constexpr std::array<uint32_t, 8> kWrite = {0x00, 0x01, 0x03, 0x14, 0x21, 0x23, 0x35, 0x37};
  constexpr double kBytes = 64.0 * 64.0;
  const auto count = [&](size_t slot) {
    const auto found = counts.find(llc_mode_ == "read" ? kRead.at(slot) : kWrite.at(slot));
    return found == counts.end() ? 0.0 : static_cast<double>(found->second);
  };
  const std::string label = Concat("LLC ", std::to_string(part), " ", llc_mode_, " ");
  const double requests = count(4) + count(6);
  const double hits = count(2) + count(3) + count(5) + count(7);
  Add(Concat(label, "Hit Rate %"), ts, requests == 0 ? 0 : hits / requests * kPercent);
  const auto [before, is_first] = llc_before_.try_emplace(part, ts);
  const int64_t dt = Change(ts, std::exchange(before->second, ts));
  if (is_first || dt <= 0) return;
  Add(Concat(label, "Throughput B/s"), ts,
      (count(0) + count(1)) * kBytes * kNsPerSecond / static_cast<double>(dt));
}

// A count is 16 bytes since the sample before of the same direction, of all channels.
void SocValues::ReadDdr(const Stream& stream) {
  constexpr RecordForm kForm{20};
  const int64_t chip = device_.chip().id;
  const double bytes = chip >= 1 && chip <= 4 ? 256.0 / 8 : 128.0 / 8;  // a count
  std::array<std::map<int64_t, uint64_t>, 2> counts;                    // by time: read, written
  ReadRecords(stream, kForm, rows_.issues, [&](std::string_view r) {
    const size_t is_write = At<uint32_t>(r, 8) == 0 ? 0 : 1;
    counts.at(is_write)[SinceStart(At<uint32_t>(r, 0))] += At<uint32_t>(r, 4);
  });
  for (const bool is_write : {false, true}) {
    int64_t before = -1;
    for (const auto& [ts, count] : counts.at(is_write ? 1 : 0)) {
      const int64_t dt = before < 0 ? 0 : Change(ts, before);
      before = ts;
      if (dt <= 0) continue;
      Add(is_write ? "DDR Write B/s" : "DDR Read B/s", ts,
          static_cast<double>(count) * bytes * kNsPerSecond / static_cast<double>(dt));
    }
  }
}

}  // namespace sonde::importers::raw
