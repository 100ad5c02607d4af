#include "importers/ascend_raw/pmu_layer.h"

#include <algorithm>

#include "importers/ascend/device_model.h"
#include "importers/ascend_raw/issues.h"

namespace sonde::importers::raw {

PmuLayer::PmuLayer(TraceRows& rows, const DeviceLayer& device, const std::string& device_folder)
    : rows_(rows),
      device_(device),
      info_(DeviceInfoOf(device_folder, device.device())),
      settings_(PmuSettingsOf(device_folder, info_.aic_count, info_.aiv_count)),
      first_mhz_(info_.aic_mhz) {}

bool PmuLayer::Read(const Stream& stream, bool expands_streams) {
  if (stream.name == "ffts_profile.data" && settings_.is_of_tasks) {
    ReadRecords(stream, kPmuForm, rows_.issues,
                [&](std::string_view record) { Keep(record, expands_streams); });
    return true;
  }
  if (stream.name != "lpmFreqConv.data") return false;
  constexpr RecordForm kForm{888};
  ReadRecords(stream, kForm, rows_.issues,
              [this](std::string_view record) { ReadFrequency(record); });
  return true;
}

void PmuLayer::Keep(std::string_view record, bool expands_streams) {
  const PmuKind kind = KindOfPmu(record, device_.chip());
  const bool is_v6 = device_.chip().is_v6();
  if (kind == PmuKind::kTask || (kind == PmuKind::kBlock && !is_v6)) {
    records_.push_back(ReadPmu(record, device_.chip(), expands_streams));
    return;
  }
  rows_.issues.Add(kind == PmuKind::kUnknown ? kBadRecord
                   : kind == PmuKind::kBlock ? kBlockCounters
                                             : kOverflow,
                   "ffts_profile");
}

// A change before the start only says what was in force then.
void PmuLayer::ReadFrequency(std::string_view record) {
  constexpr uint32_t kMost = 55;
  const auto count = At<uint32_t>(record, 0);
  if (count > kMost) return rows_.issues.Add(kBadRecord, "lpmFreqConv");
  for (uint32_t i = 0; i < count; ++i) {
    const auto ticks = At<uint64_t>(record, 8 + size_t{16} * i);
    const auto mhz = static_cast<double>(At<uint32_t>(record, 16 + size_t{16} * i));
    has_frequency_ = true;
    if (ticks < device_.clock().start_ticks) {
      first_mhz_ = mhz;
    } else {
      changes_.emplace_back(ticks, mhz);
    }
  }
}

// The configured one where the record knows a frequency of 0.
double PmuLayer::FrequencyAt(uint64_t ticks) const {
  double mhz = first_mhz_;
  bool is_broken = mhz == 0;
  for (const auto& [changed, to] : changes_) {
    is_broken |= to == 0;
    if (changed <= ticks) mhz = to;
  }
  return is_broken ? info_.aic_mhz : mhz;
}

void PmuLayer::AddMetrics(const std::vector<RanTask>& ran, const std::vector<int32_t>& tasks,
                          const HostLayer& host) {
  for (const PmuRecord& record : records_) {
    uint16_t stream = record.place.stream;
    // Unique numbers stand without their stream.
    if (device_.chip().is_v6()) stream = 0;
    of_place_[{stream, record.place.task, record.context}].push_back(&record);
  }
  for (auto& [place, records] : of_place_) {
    std::stable_sort(records.begin(), records.end(),
                     [](const PmuRecord* a, const PmuRecord* b) { return a->end < b->end; });
  }
  for (size_t i = 0; i < ran.size(); ++i) {
    if (tasks[i] != store::kNone) AddOf(ran[i], tasks[i], host);
  }
  int64_t left = 0;
  for (const auto& [place, records] : of_place_) left += static_cast<int64_t>(records.size());
  if (left > 0) rows_.issues.Add(kCounterWithoutTask, "ffts_profile", -1, left);
}

// Takes the first record that ends while the task runs.
const PmuRecord* PmuLayer::Take(std::vector<const PmuRecord*>& of_place, const RanTask& ran,
                                Part part) {
  const auto found = std::find_if(of_place.begin(), of_place.end(), [&](const PmuRecord* record) {
    const Part is = record->is_block ? Part::kBlock : record->is_main ? Part::kMain : Part::kOther;
    return is == part && ran.begin <= record->end && record->end <= ran.end;
  });
  if (found == of_place.end()) return nullptr;
  const PmuRecord* record = *found;
  of_place.erase(found);
  return record;
}

std::optional<double> PmuLayer::TimeOf(const PmuRecord& record) const {
  if (!device_.chip().is_v6()) return std::nullopt;
  const Clock& clock = device_.clock();
  constexpr double kNsPerUs = 1000;
  return static_cast<double>(SpanNs(clock.FromTicks(record.begin), clock.FromTicks(record.end))) /
         kNsPerUs;
}

void PmuLayer::AddOf(const RanTask& ran, int32_t task, const HostLayer& host) {
  const uint16_t stream = device_.chip().is_v6() ? uint16_t{0} : ran.place.stream;
  const auto place = of_place_.find({stream, ran.place.task, ran.context});
  if (place == of_place_.end()) return;
  const PmuRecord* record = Take(place->second, ran, Part::kMain);
  if (record == nullptr) return;
  const bool has_kernel = ran.host != nullptr && ran.host->kernel >= 0;
  const ascend::Kernel kernel =
      has_kernel ? host.kernels()[static_cast<size_t>(ran.host->kernel)] : ascend::Kernel();
  Counted counted{.cycles = record->cycles,
                  .counters = record->counters,
                  .blocks = kernel.block_num,
                  .time_us = TimeOf(*record),
                  .time_mhz = FrequencyAt(record->end),
                  .bandwidth_mhz = info_.aic_mhz};
  Counted other{
      .blocks = kernel.mix_block_num, .time_mhz = counted.time_mhz, .bandwidth_mhz = info_.aic_mhz};
  if (record->is_mix) AddOther(place->second, ran, kernel.mix_block_num, other);
  const Counted& cube = record->is_vector ? other : counted;
  AddSide(cube, /*is_vector=*/false, task);
  AddSide(record->is_vector ? counted : other, /*is_vector=*/true, task);
  const int64_t dur = rows_.tasks[static_cast<size_t>(task)].dur;
  const double most =
      info_.aic_mhz * static_cast<double>(info_.aic_count) * 1e-3 * static_cast<double>(dur);
  if (settings_.cube.group.starts_with("PipeUtilization") && most > 0) {
    ascend::DeviceRows(rows_).AddCounter({.task = task,
                                          .name = rows_.names.Intern("cube_utilization(%)"),
                                          .value = static_cast<double>(cube.cycles) * 100 / most});
  }
}

void PmuLayer::AddOther(std::vector<const PmuRecord*>& of_place, const RanTask& ran, int64_t blocks,
                        Counted& other) {
  if (device_.chip().is_v6()) {
    const PmuRecord* record = Take(of_place, ran, Part::kOther);
    if (record == nullptr) return;
    other.cycles = record->cycles;
    other.counters = record->counters;
    other.time_us = TimeOf(*record);
    return;
  }
  for (int64_t i = 0; i < blocks; ++i) {
    const PmuRecord* block = Take(of_place, ran, Part::kBlock);
    if (block == nullptr) return;
    other.cycles += block->cycles;
    for (size_t k = 0; k < other.counters.size(); ++k) {
      other.counters.at(k) += block->counters.at(k);
    }
  }
}

void PmuLayer::AddSide(const Counted& counted, bool is_vector, int32_t task) {
  ascend::DeviceRows device(rows_);
  const CoreCounters& core = is_vector ? settings_.vector : settings_.cube;
  ForEachMetric(
      device_.chip(), core, is_vector, counted, [&](std::string_view column, double value) {
        device.AddCounter({.task = task, .name = rows_.names.Intern(column), .value = value});
      });
}

void PmuLayer::AddFrequency(int64_t pid) {
  if (!has_frequency_) return;
  const int32_t track = rows_.Track({.kind = capture::TrackKind::kCounter,
                                     .name = "AI Core Freq MHz",
                                     .process_id = rows_.Process(pid),
                                     .device_id = device_.device()});
  const Clock& clock = device_.clock();
  const int64_t begin = clock.began_ns > 0 ? clock.began_ns : clock.FromTicks(clock.start_ticks);
  rows_.counters.push_back({.ts = begin, .track_id = track, .value = first_mhz_});
  for (const auto& [ticks, mhz] : changes_) {
    rows_.counters.push_back({.ts = clock.FromTicks(ticks), .track_id = track, .value = mhz});
  }
}

}  // namespace sonde::importers::raw
