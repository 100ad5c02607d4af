#include "importers/ascend_raw/pmu_layer.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "importers/ascend/device_model.h"
#include "importers/ascend_raw/issues.h"
#include "importers/common/search_from.h"

namespace sonde::importers::raw {
namespace {

uint64_t PlaceAt(uint16_t stream, uint32_t task) { return uint64_t{stream} << 32U | task; }

}  // namespace

PmuLayer::PmuLayer(TraceRows& rows, const DeviceLayer& device, const std::string& device_folder)
    : rows_(rows),
      device_(device),
      info_(DeviceInfoOf(device_folder, device.device())),
      settings_(PmuSettingsOf(device_folder, info_.aic_count, info_.aiv_count)),
      cube_{CoreMetrics(device.chip(), settings_.cube, /*is_vector=*/false)},
      vector_{CoreMetrics(device.chip(), settings_.vector, /*is_vector=*/true)},
      records_(base::SpillAllocator<PmuRecord>(rows.pool())),
      keys_(base::SpillAllocator<Key>(rows.pool())),
      next_keys_(rows.pool()),
      first_mhz_(info_.aic_mhz) {}

bool PmuLayer::Read(const Stream& stream, bool expands_streams) {
  if (stream.name == "ffts_profile.data" && settings_.is_of_tasks) {
    ReserveFor(stream, kPmuForm, records_);
    ReadRecords(stream, kPmuForm, rows_.issues,
                [&](std::string_view record) { Keep(record, expands_streams); });
    return true;
  }
  const bool is_cube = stream.name == "aicore.data";
  const bool is_old = device_.chip().is_hwts() && (is_cube || stream.name == "aiVectorCore.data");
  if (is_old && (is_cube ? settings_.is_of_tasks : settings_.is_vector_of_tasks)) {
    ReserveFor(stream, kPmuForm, records_);
    ReadRecords(stream, kPmuForm, rows_.issues,
                [&](std::string_view record) { records_.push_back(ReadOldPmu(record, !is_cube)); });
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
    // Unique numbers have no stream.
    if (is_v6) records_.back().place.stream = 0;
    return;
  }
  rows_.issues.Add(kind == PmuKind::kUnknown ? kBadRecord
                   : kind == PmuKind::kBlock ? kBlockCounters
                                             : kOverflow,
                   "ffts_profile");
}

// A change before the start only gives the value at the start.
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
  if (is_broken_) return info_.aic_mhz;
  const auto after =
      std::upper_bound(changes_.begin(), changes_.end(), ticks,
                       [](uint64_t at, const auto& change) { return at < change.first; });
  return after == changes_.begin() ? first_mhz_ : std::prev(after)->second;
}

void PmuLayer::AddMetrics(const Records<RanTask>& ran, const Records<int32_t>& tasks,
                          const HostLayer& host) {
  is_broken_ = first_mhz_ == 0 ||
               std::ranges::any_of(changes_, [](const auto& change) { return change.second == 0; });
  std::stable_sort(changes_.begin(), changes_.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  SortKeys();
  const size_t columns = cube_.metrics.columns().size() + vector_.metrics.columns().size() + 1;
  ReserveMore(rows_.pmu, std::min(records_.size(), ran.size()) * columns);
  base::SpillSteps steps(rows_.pool());
  for (size_t i = 0; i < ran.size(); ++i) {
    steps.Next();
    if (tasks[i] != store::kNone) AddOf(ran[i], tasks[i], host);
  }
  const auto left =
      std::ranges::count_if(records_, [](const PmuRecord& record) { return !record.is_taken; });
  if (left > 0)
    rows_.issues.Add(kCounterWithoutTask, device_.chip().is_hwts() ? "aicore" : "ffts_profile", -1,
                     left);
}

void PmuLayer::SortKeys() {
  keys_.reserve(records_.size());
  for (size_t i = 0; i < records_.size(); ++i) {
    const PmuRecord& record = records_[i];
    keys_.push_back({.place = PlaceAt(record.place.stream, record.place.task),
                     .end = record.end,
                     .context = record.context,
                     .index = static_cast<uint32_t>(i)});
  }
  std::sort(keys_.begin(), keys_.end(), [](const Key& a, const Key& b) {
    return std::tie(a.place, a.context, a.end, a.index) <
           std::tie(b.place, b.context, b.end, b.index);
  });
}

// Those of its place that end while it runs.
std::span<const PmuLayer::Key> PmuLayer::RecordsOf(const RanTask& ran) {
  const uint16_t stream = device_.chip().is_v6() ? uint16_t{0} : ran.place.stream;
  const uint64_t place = PlaceAt(stream, ran.place.task);
  if (device_.chip().is_hwts()) return NextOf(place);
  last_key_ = SearchFrom(keys_, last_key_, [&](const Key& key) {
    return std::tie(key.place, key.context, key.end) < std::tie(place, ran.context, ran.begin);
  });
  size_t end = last_key_;
  while (end < keys_.size() && keys_[end].place == place && keys_[end].context == ran.context &&
         keys_[end].end <= ran.end) {
    ++end;
  }
  return {keys_.data() + last_key_, end - last_key_};
}

std::span<const PmuLayer::Key> PmuLayer::NextOf(uint64_t place) {
  const auto [next, is_new] = next_keys_.Insert(static_cast<int64_t>(place), 0);
  if (is_new) {
    const auto first = std::lower_bound(keys_.begin(), keys_.end(), place,
                                        [](const Key& key, uint64_t at) { return key.place < at; });
    *next = static_cast<size_t>(first - keys_.begin());
  }
  if (*next == keys_.size() || keys_[*next].place != place) return {};
  return {keys_.data() + (*next)++, 1};
}

const PmuRecord* PmuLayer::Take(std::span<const Key> of_task, Part part) {
  for (const Key& key : of_task) {
    PmuRecord& record = records_[key.index];
    const Part is = record.is_block ? Part::kBlock : record.is_main ? Part::kMain : Part::kOther;
    if (is != part || record.is_taken) continue;
    record.is_taken = true;
    return &record;
  }
  return nullptr;
}

std::optional<double> PmuLayer::TimeOf(const PmuRecord& record) const {
  if (!device_.chip().is_v6()) return std::nullopt;
  const Clock& clock = device_.clock();
  constexpr double kNsPerUs = 1000;
  return static_cast<double>(SpanNs(clock.FromTicks(record.begin), clock.FromTicks(record.end))) /
         kNsPerUs;
}

void PmuLayer::AddOf(const RanTask& ran, int32_t task, const HostLayer& host) {
  const std::span<const Key> of_task = RecordsOf(ran);
  const PmuRecord* record = Take(of_task, Part::kMain);
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
  if (record->is_mix) AddOther(of_task, kernel.mix_block_num, other);
  if (device_.chip().is_hwts()) {
    Side& side = record->is_vector ? vector_ : cube_;
    AddSide(side, counted, task);
    AddBound(side, task);
    if (!record->is_vector) AddUtilization(counted, task);
    return;
  }
  const Counted& cube = record->is_vector ? other : counted;
  AddSide(cube_, cube, task);
  AddSide(vector_, record->is_vector ? counted : other, task);
  AddUtilization(cube, task);
}

// Whether a task waited for its memory: only where one kind of cores does all of it.
void PmuLayer::AddBound(const Side& side, int32_t task) {
  const std::vector<std::string>& columns = side.metrics.columns();
  const auto ratio = [&](std::string_view name) -> std::optional<double> {
    const auto found = std::find(columns.begin(), columns.end(), name);
    if (found == columns.end()) return std::nullopt;
    return values_[static_cast<size_t>(found - columns.begin())];
  };
  const auto memory = ratio("mte2_ratio");
  const auto cube = ratio("mac_ratio");
  const auto vector = ratio("vec_ratio");
  if (!memory || !cube || !vector) return;
  const double work = std::max(*cube, *vector);
  ascend::DeviceRows(rows_).AddCounter({.task = task,
                                        .name = rows_.names.Intern("memory_bound"),
                                        .value = work == 0 ? 0 : *memory / work});
}

void PmuLayer::AddUtilization(const Counted& cube, int32_t task) {
  const int64_t dur = rows_.tasks[static_cast<size_t>(task)].dur;
  const double most =
      info_.aic_mhz * static_cast<double>(info_.aic_count) * 1e-3 * static_cast<double>(dur);
  if (settings_.cube.group.starts_with("PipeUtilization") && most > 0) {
    ascend::DeviceRows(rows_).AddCounter({.task = task,
                                          .name = rows_.names.Intern("cube_utilization(%)"),
                                          .value = static_cast<double>(cube.cycles) * 100 / most});
  }
}

void PmuLayer::AddOther(std::span<const Key> of_task, int64_t blocks, Counted& other) {
  if (device_.chip().is_v6()) {
    const PmuRecord* record = Take(of_task, Part::kOther);
    if (record == nullptr) return;
    other.cycles = record->cycles;
    other.counters = record->counters;
    other.time_us = TimeOf(*record);
    return;
  }
  for (int64_t i = 0; i < blocks; ++i) {
    const PmuRecord* block = Take(of_task, Part::kBlock);
    if (block == nullptr) return;
    other.cycles += block->cycles;
    for (size_t k = 0; k < other.counters.size(); ++k) {
      other.counters.at(k) += block->counters.at(k);
    }
  }
}

void PmuLayer::AddSide(Side& side, const Counted& counted, int32_t task) {
  if (side.names.empty()) {
    for (const std::string& column : side.metrics.columns()) {
      side.names.push_back(rows_.names.Intern(column));
    }
  }
  side.metrics.Compute(counted, values_);
  for (size_t i = 0; i < values_.size(); ++i) {
    rows_.pmu.push_back({.task_id = task, .metric = side.names[i], .value = values_[i]});
  }
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
