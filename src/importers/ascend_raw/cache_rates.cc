#include "importers/ascend_raw/cache_rates.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>

#include "base/files.h"
#include "base/host/json.h"
#include "base/strings.h"
#include "importers/ascend/device_model.h"
#include "importers/ascend_raw/issues.h"

namespace sonde::importers::raw {
namespace {

constexpr size_t kSlots = 8;

struct Term {
  uint32_t event = 0;
  int sign = 0;  // 0 ends the list
};
using Terms = std::array<Term, 6>;
struct Formula {
  Terms requests;
  Terms hits;
  Terms victims;  // of translations: misses
};

constexpr Formula k910A = {{{{0x59, 1}}}, {{{0x5B, 1}}}, {{{0x5C, 1}}}};
constexpr Formula k310P = {{{{0x78, 1}, {0x79, 1}}}, {{{0x6A, 1}}}, {{{0x71, 1}}}};  // and 610
constexpr Formula kStars = {{{{0xFB, 1}, {0xFC, 1}}}, {{{0x90, 1}, {0x91, 1}}}, {{{0x9C, 1}}}};
constexpr Formula kV6 = {{{{0x00, 1}}},
                         {{{0x00, 1}, {0x81, -1}, {0x82, -1}, {0x83, -1}, {0x74, -1}, {0x75, -1}}},
                         {{{0x74, 1}, {0x75, 1}}}};
constexpr Formula kTranslations = {{{{0x8A, 1}}}, {{{0x8C, 1}, {0x8D, 1}}}, {{{0x02, 1}}}};

const Formula& FormulaOfCache(const Chip& chip) {
  if (chip.is_v6()) return kV6;
  if (!chip.is_hwts()) return kStars;
  return chip.id == 1 ? k910A : k310P;
}

std::vector<uint64_t> SlotsAt(std::string_view record, size_t offset) {
  std::vector<uint64_t> slots(kSlots);
  for (size_t i = 0; i < kSlots; ++i) slots[i] = At<uint64_t>(record, offset + 8 * i);
  return slots;
}

std::optional<double> Sum(const Terms& terms, const std::map<uint32_t, size_t>& events,
                          const std::vector<uint64_t>& slots) {
  double sum = 0;
  for (const Term& term : terms) {
    if (term.sign == 0) break;
    const auto slot = events.find(term.event);
    if (slot == events.end() || slot->second >= slots.size()) return std::nullopt;
    sum += term.sign * static_cast<double>(slots[slot->second]);
  }
  return sum;
}

// With six decimals.
std::string Rate(double part, double whole) {
  constexpr double kUnit = 1e6;
  return base::PythonDoubleText(whole == 0 ? 0 : std::nearbyint(part / whole * kUnit) / kUnit);
}

}  // namespace

CacheRates::Events CacheRates::EventsOf(std::string_view list) {
  Events events;
  size_t slot = 0;
  for (std::string_view text : base::Split(list, ',')) {
    text = base::Trim(text);
    if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
    uint32_t event = 0;
    constexpr int kHex = 16;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), event, kHex);
    if (error == std::errc() && end == text.data() + text.size()) events.try_emplace(event, slot);
    ++slot;
  }
  return events;
}

CacheRates::CacheRates(TraceRows& rows, const DeviceLayer& device, const std::string& device_folder)
    : rows_(rows), device_(device) {
  const auto sample = base::JsonDocument::ReadFile(base::JoinPath(device_folder, "sample.json"));
  if (!sample.ok()) return;
  const auto text = [&](std::string_view key) {
    return sample->root().GetString(key, "").value_or("");
  };
  cache_ = EventsOf(text("l2CacheTaskProfilingEvents"));
  soc_cache_ = cache_;
  const std::string parts = text("npuEvents");
  for (const std::string_view part : base::Split(parts, ';')) {
    const size_t colon = part.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view name = base::Trim(part.substr(0, colon));
    if (name == "SMMU") translations_ = EventsOf(part.substr(colon + 1));
    if (name == "HA") soc_cache_ = EventsOf(part.substr(colon + 1));
  }
}

bool CacheRates::Read(const Stream& stream) {
  if (stream.name == "socpmu.data") {
    ReadSoc(stream);
    return true;
  }
  if (stream.name != "l2_cache.data") return false;
  constexpr RecordForm kForm{72};
  ReadRecords(stream, kForm, rows_.issues, [this](std::string_view r) {
    Keep({.stream = At<uint16_t>(r, 2), .task = At<uint16_t>(r, 4), .slots = SlotsAt(r, 8)});
  });
  return true;
}

void CacheRates::ReadSoc(const Stream& stream) {
  enum : uint16_t { kCache = 1, kTranslation = 2, kPageFault = 4 };
  constexpr RecordForm kForm{80};
  const bool is_v6 = device_.chip().is_v6();
  ReadRecords(stream, kForm, rows_.issues, [&](std::string_view r) {
    const auto type = At<uint16_t>(r, is_v6 ? 6 : 14);
    if (type != kCache && type != kTranslation && type != kPageFault) {
      return rows_.issues.Add(kBadRecord, stream.name);
    }
    Keep({.kind = type == kCache         ? Kind::kCache
                  : type == kTranslation ? Kind::kTranslation
                                         : Kind::kPageFault,
          .is_of_soc = true,
          .stream = At<uint16_t>(r, 10),
          .task = is_v6 ? At<uint32_t>(r, 12) : At<uint16_t>(r, 12),
          .slots = SlotsAt(r, 16)});
  });
}

// A record names no time: of the tasks of one number they are in the order in which those ran.
void CacheRates::Build(const Records<RanTask>& ran, const Records<int32_t>& tasks) {
  if (samples_.empty()) return;
  using Place = std::pair<uint32_t, uint32_t>;
  std::map<Place, std::vector<int32_t>> tasks_at;  // by stream and task
  base::SpillSteps steps(rows_.pool());
  for (size_t i = 0; i < ran.size(); ++i) {
    steps.Next();
    if (tasks[i] == store::kNone || ran[i].is_sub_task) continue;
    tasks_at[{ran[i].place.stream, ran[i].place.task}].push_back(tasks[i]);
  }
  std::map<std::pair<Kind, Place>, size_t> next;
  for (const Sample& sample : samples_) {
    const Place place(sample.stream, sample.task);
    const auto found = tasks_at.find(place);
    size_t& number = next[{sample.kind, place}];
    if (found == tasks_at.end() || number >= found->second.size()) {
      rows_.issues.Add(kCounterWithoutTask, sample.is_of_soc ? "socpmu" : "l2_cache");
    } else {
      Add(sample, found->second[number++]);
    }
  }
}

void CacheRates::Add(const Sample& sample, int32_t task) {
  const int32_t slice = rows_.tasks[static_cast<size_t>(task)].slice_id;
  ascend::DeviceRows device(rows_);
  if (sample.kind == Kind::kPageFault) {
    const ascend::Argument argument{"Page Fault Num", std::to_string(sample.slots.front())};
    return device.AddArguments(slice, {&argument, 1});
  }
  const bool is_cache = sample.kind == Kind::kCache;
  const Formula& formula = is_cache ? FormulaOfCache(device_.chip()) : kTranslations;
  const Events& events = !is_cache ? translations_ : sample.is_of_soc ? soc_cache_ : cache_;
  const auto requests = Sum(formula.requests, events, sample.slots);
  const auto hits = Sum(formula.hits, events, sample.slots);
  const auto victims = Sum(formula.victims, events, sample.slots);
  if (!requests || !hits || !victims) {
    return rows_.issues.Add(kCacheEvents, sample.is_of_soc ? "socpmu" : "l2_cache");
  }
  const std::string rate = Rate(*victims, *requests);
  // The hit rate of the cache is meaningless on chips with STARS, and is left out there.
  const ascend::Argument of_cache[] = {{"L2 Victim Rate", rate},
                                       {"L2 Hit Rate", Rate(*hits, *requests)}};
  const ascend::Argument of_translations[] = {{"TLB Hit Rate", Rate(*hits, *requests)},
                                              {"TLB Miss Rate", rate}};
  if (is_cache) {
    const size_t count = device_.chip().is_hwts() ? 2 : 1;
    device.AddArguments(slice, std::span(of_cache).first(count));
  } else {
    device.AddArguments(slice, of_translations);
  }
}

}  // namespace sonde::importers::raw
