#include "importers/ascend_raw/pmu.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/files.h"
#include "base/host/json.h"
#include "base/strings.h"

namespace sonde::importers::raw {
namespace {

enum class Kind : uint8_t {
  kShare,      // of the cycles; with a time too where it has a name for that
  kBandwidth,  // times `scale` bits
  kCount,      // as it is, times `scale`
  kQuotient,   // of the first and the second counter
};

struct PmuTerm {
  uint32_t event = 0;  // 0 ends the list
  double factor = 1;
};

struct Metric {
  std::string_view group;
  std::string_view name;
  std::string_view time;  // "" none
  Kind kind;
  double scale;
  std::array<PmuTerm, 5> terms;
};

constexpr auto kShare = Kind::kShare;
constexpr auto kBandwidth = Kind::kBandwidth;
constexpr auto kCount = Kind::kCount;
constexpr auto kQuotient = Kind::kQuotient;

#include "importers/ascend_raw/pmu_metrics.inc"

// Columns that do not apply to a kind of cores.
constexpr auto kNotOfCube = std::to_array<std::string_view>(
    {"vec_ratio", "ub_read_bw(GB/s)", "ub_write_bw(GB/s)", "l0c_read_bw(GB/s)",
     "l0c_write_bw(GB/s)", "ub_read_bw_mte(GB/s)", "ub_write_bw_mte(GB/s)",
     "ub_read_bw_vector(GB/s)", "ub_write_bw_vector(GB/s)", "vec_fp32_ratio", "vec_fp16_ratio",
     "vec_int32_ratio", "vec_misc_ratio", "vec_bankgroup_cflt_ratio", "vec_bank_cflt_ratio",
     "vec_resc_cflt_ratio", "vector_fops"});
constexpr auto kNotOfVector = std::to_array<std::string_view>(
    {"mac_ratio", "mte1_ratio", "l1_read_bw(GB/s)", "l1_write_bw(GB/s)", "l0a_read_bw(GB/s)",
     "l0a_write_bw(GB/s)", "l0b_read_bw(GB/s)", "l0b_write_bw(GB/s)", "l0c_read_bw_cube(GB/s)",
     "l0c_write_bw_cube(GB/s)", "mac_fp16_ratio", "mac_int8_ratio", "cube_fops", "fixpipe_ratio"});

bool IsShown(std::string_view name, bool is_vector) {
  const auto is_in = [&](const auto& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  return is_vector ? !is_in(kNotOfVector) : !is_in(kNotOfCube);
}

double Divided(double a, double b) { return b == 0 ? 0 : a / b; }

double ValueOf(const Metric& metric, const std::array<uint8_t, 5>& slots, const Counted& counted) {
  constexpr double kBitsOfUnit = 8589934592.0;  // 2^33
  std::array<double, 5> values = {};
  double sum = 0;
  for (size_t i = 0; i < metric.terms.size() && metric.terms.at(i).event != 0; ++i) {
    values.at(i) = static_cast<double>(counted.counters.at(slots.at(i)));
    sum += values.at(i) * metric.terms.at(i).factor;
  }
  const auto cycles = static_cast<double>(counted.cycles);
  switch (metric.kind) {
    case Kind::kShare:
      return Divided(sum, cycles);
    case Kind::kBandwidth:
      return Divided(sum * metric.scale * counted.bandwidth_mhz * 1e6, cycles * kBitsOfUnit);
    case Kind::kCount:
      return sum * metric.scale;
    case Kind::kQuotient:
      return values[0] == 0 ? 0 : Divided(values[0], values[1]);
  }
  return 0;
}

// The slots of a metric's counters; nothing where one of them is missing.
std::optional<std::array<uint8_t, 5>> SlotsOf(const Metric& metric, const CoreCounters& core) {
  std::array<uint8_t, 5> slots = {};
  for (size_t i = 0; i < metric.terms.size() && metric.terms.at(i).event != 0; ++i) {
    const auto found = std::find(core.events.begin(), core.events.end(), metric.terms.at(i).event);
    const auto slot = static_cast<size_t>(found - core.events.begin());
    if (slot >= std::min(core.events.size(), Counted().counters.size())) return std::nullopt;
    slots.at(i) = static_cast<uint8_t>(slot);
  }
  return slots;
}

std::span<const Metric> MetricsOf(bool is_v6) {
  if (is_v6) return kMetricsV6;
  return kMetrics;
}

// All blocks run in as many rounds as the cores need.
double TotalTimeUs(const CoreCounters& core, const Counted& counted) {
  if (counted.time_us) return *counted.time_us;
  if (counted.blocks <= 0 || core.cores <= 0 || counted.time_mhz <= 0) return 0;
  const auto rounds = (counted.blocks + core.cores - 1) / core.cores;
  return static_cast<double>(counted.cycles) / counted.time_mhz /
         static_cast<double>(counted.blocks) * static_cast<double>(rounds);
}

std::vector<uint32_t> EventsOf(std::string_view list) {
  std::vector<uint32_t> events;
  for (std::string_view text : base::Split(list, ',')) {
    text = base::Trim(text);
    uint32_t event = 0;
    if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
    for (const char c : text) {
      const bool is_digit = c >= '0' && c <= '9';
      const char lower = static_cast<char>(c | 0x20);
      if (!is_digit && (lower < 'a' || lower > 'f')) return {};
      event = event << 4U | static_cast<uint32_t>(is_digit ? c - '0' : lower - 'a' + 10);
    }
    events.push_back(event);
  }
  return events;
}

CoreCounters CountersOf(const base::JsonValue& sample, std::string_view core, int64_t cores) {
  const auto text = [&](std::string_view key) {
    return sample.GetString(base::Concat(core, key), "").value_or("");
  };
  CoreCounters counters;
  counters.group = text("_metrics");
  counters.events = EventsOf(text("_profiling_events"));
  counters.cores = cores;
  return counters;
}

}  // namespace

PmuKind KindOfPmu(std::string_view record, const Chip& chip) {
  enum : uint8_t { kTask = 0b101000, kBlock = 0b101001, kTaskV6 = 0b101010 };
  const auto function = static_cast<uint8_t>(At<uint16_t>(record, 0) & 0x3FU);
  if (function == kBlock) return PmuKind::kBlock;
  if (function != (chip.is_v6() ? kTaskV6 : kTask)) return PmuKind::kUnknown;
  const bool is_overflown = chip.is_v6() && (At<uint8_t>(record, 17) & 4U) != 0;
  return is_overflown ? PmuKind::kOverflown : PmuKind::kTask;
}

PmuRecord ReadPmu(std::string_view record, const Chip& chip, bool expands_streams) {
  PmuRecord pmu;
  pmu.end = At<uint64_t>(record, 120);
  if (chip.is_v6()) {
    pmu.place.task = At<uint32_t>(record, 4);
    pmu.begin = At<uint64_t>(record, 112);
    pmu.cycles = At<uint64_t>(record, 8);
    pmu.is_main = (At<uint8_t>(record, 17) & 1U) != 0;
    pmu.is_mix = (At<uint8_t>(record, 17) & 2U) != 0;
    pmu.is_vector = (At<uint8_t>(record, 20) & 1U) != 0;
    pmu.counters = At<std::array<uint64_t, 10>>(record, 32);
    return pmu;
  }
  pmu.is_block = KindOfPmu(record, chip) == PmuKind::kBlock;
  pmu.place = DecodePlace(At<uint16_t>(record, 4), At<uint16_t>(record, 6), 0, expands_streams);
  constexpr uint32_t kFftsPlus = 4;
  const auto sub = At<uint8_t>(record, 16);
  const uint32_t ffts =
      pmu.is_block ? At<uint8_t>(record, 21) >> 5U : At<uint16_t>(record, 20) >> 13U;
  if (ffts == kFftsPlus) pmu.context = At<uint16_t>(record, 18);
  enum : uint8_t { kCube = 0, kMixCube = 6, kMixVector = 7 };
  pmu.is_mix = ffts == kFftsPlus && (sub == kMixCube || sub == kMixVector);
  const bool is_cube = ffts == 0 || (ffts == kFftsPlus && (sub == kCube || sub == kMixCube));
  // A block is one of the other kind of cores.
  pmu.is_vector = is_cube == pmu.is_block;
  pmu.cycles = At<uint64_t>(record, 32);
  const auto counters = At<std::array<uint64_t, 8>>(record, 48);
  std::copy(counters.begin(), counters.end(), pmu.counters.begin());
  return pmu;
}

PmuRecord ReadOldPmu(std::string_view record, bool is_vector) {
  constexpr uint32_t kStreams = 2048;
  PmuRecord pmu;
  pmu.place = {static_cast<uint16_t>(At<uint32_t>(record, 96) % kStreams), At<uint16_t>(record, 6)};
  pmu.is_vector = is_vector;
  pmu.cycles = At<uint64_t>(record, 16);
  const auto counters = At<std::array<uint64_t, 8>>(record, 32);
  std::copy(counters.begin(), counters.end(), pmu.counters.begin());
  return pmu;
}

PmuSettings PmuSettingsOf(const std::string& device_folder, int64_t cube_cores,
                          int64_t vector_cores) {
  PmuSettings settings;
  const auto sample = base::JsonDocument::ReadFile(base::JoinPath(device_folder, "sample.json"));
  if (!sample.ok()) return settings;
  settings.cube = CountersOf(sample->root(), "ai_core", cube_cores);
  settings.vector = CountersOf(sample->root(), "aiv", vector_cores);
  const std::string mode =
      sample->root().GetString("ai_core_profiling_mode", "task-based").value_or("");
  settings.is_of_tasks = mode == "task-based";
  settings.is_vector_of_tasks =
      sample->root().GetString("aiv_profiling_mode", mode).value_or("") == "task-based";
  return settings;
}

CoreMetrics::CoreMetrics(const Chip& chip, CoreCounters core, bool is_vector)
    : core_(std::move(core)), is_v6_(chip.is_v6()) {
  if (core_.group.empty()) return;
  // Before STARS a task has one kind of cores only, whose columns show its kind.
  const bool is_one = chip.is_hwts();
  const std::string_view prefix = is_one ? "" : is_vector ? "aiv_" : "aic_";
  const auto add = [&](std::string column, const Source& source) {
    columns_.push_back(std::move(column));
    sources_.push_back(source);
  };
  add(is_vector && !is_one ? "aiv_time(us)" : "aicore_time(us)", {.kind = Kind::kTotalTime});
  add(base::Concat(prefix, "total_cycles"), {.kind = Kind::kCycles});
  const std::span<const Metric> metrics = MetricsOf(is_v6_);
  for (size_t i = 0; i < metrics.size(); ++i) {
    const Metric& metric = metrics[i];
    if (metric.group != core_.group || (!is_one && !IsShown(metric.name, is_vector))) continue;
    const auto slots = SlotsOf(metric, core_);
    if (!slots) continue;
    if (!metric.time.empty()) {
      add(base::Concat(prefix, metric.time, "(us)"), {Kind::kTimeOfMetric, i, *slots});
    }
    add(base::Concat(prefix, metric.name), {Kind::kMetric, i, *slots});
  }
}

void CoreMetrics::Compute(const Counted& counted, std::vector<double>& values) const {
  values.clear();
  const std::span<const Metric> metrics = MetricsOf(is_v6_);
  const double total_us = TotalTimeUs(core_, counted);
  for (const Source& source : sources_) {
    if (source.kind == Kind::kTotalTime) {
      values.push_back(total_us);
    } else if (source.kind == Kind::kCycles) {
      values.push_back(static_cast<double>(counted.cycles));
    } else {
      const double value = ValueOf(metrics[source.metric], source.slots, counted);
      values.push_back(source.kind == Kind::kMetric ? value : total_us * value);
    }
  }
}

}  // namespace sonde::importers::raw
