#include "importers/ascend_raw/newer_units.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "base/strings.h"
#include "importers/ascend/device_model.h"
#include "importers/ascend_raw/issues.h"
#include "importers/ascend_raw/units.h"

namespace sonde::importers::raw {
namespace {

using base::Concat;

constexpr RecordForm kMissionForm{64};
constexpr RecordForm kChannelsForm{2816};

// "ccu1" of "ccu1.instr".
std::string_view UnitOf(const Stream& stream) {
  return std::string_view(stream.name).substr(0, stream.name.find('.'));
}

bool IsOfUnit(const Stream& stream, std::string_view kind) {
  const std::string_view name = stream.name;
  return name == Concat("ccu0", kind) || name == Concat("ccu1", kind);
}

uint32_t FunctionOf(std::string_view record) { return At<uint16_t>(record, 0) & 0x3FU; }

}  // namespace

// Of one key an end belongs to the earliest begin that has none.
void NewerUnits::Open::Take(bool is_begin, const Span& of, uint64_t time) {
  std::deque<uint64_t>& open = begins[{of.task, of.part, of.block}];
  if (is_begin) return open.push_back(time);
  if (open.empty() || open.front() > time) {
    ++alone;
    return;
  }
  Span span = of;
  span.begin = open.front();
  span.end = time;
  open.pop_front();
  spans.push_back(span);
}

int64_t NewerUnits::Open::CountAlone() const {
  int64_t count = alone;
  for (const auto& [key, open] : begins) count += static_cast<int64_t>(open.size());
  return count;
}

bool NewerUnits::Read(const Stream& stream) {
  if (!device_.chip().is_v6()) return false;
  if (stream.name == "stars_block.data") {
    ReadRecords(stream, kStarsFormV6, rows_.issues,
                [this](std::string_view record) { TakeBlock(record); });
  } else if (IsOfUnit(stream, ".instr")) {
    ReadRecords(stream, kMissionForm, rows_.issues,
                [this](std::string_view record) { TakeMission(record); });
  } else if (IsOfUnit(stream, ".stat")) {
    ReadRecords(stream, kChannelsForm, rows_.issues,
                [&](std::string_view record) { TakeChannels(record, UnitOf(stream)); });
  } else {
    return false;
  }
  return true;
}

bool NewerUnits::Take(std::string_view record) {
  enum : uint8_t { kBegin = 0b010110, kEnd = 0b010111 };
  const uint32_t function = FunctionOf(record);
  if (!device_.chip().is_v6() || (function != kBegin && function != kEnd)) return false;
  const uint32_t kinds = At<uint16_t>(record, 16) & 0x1FU;
  // The highest bit that is set is the kind.
  const auto kind = static_cast<uint32_t>(std::bit_width(kinds));
  fused_.Take(function == kBegin, {.task = At<uint32_t>(record, 4), .part = kind},
              At<uint64_t>(record, 8));
  return true;
}

void NewerUnits::TakeBlock(std::string_view record) {
  enum : uint8_t { kBegin = 0b100100, kEnd = 0b100101 };
  const uint32_t function = FunctionOf(record);
  if (function != kBegin && function != kEnd) {
    return rows_.issues.Add(kBadRecord, "stars_block.data");
  }
  const uint32_t is_vector = At<uint8_t>(record, 20) & 1U;
  blocks_.Take(function == kBegin,
               {.task = At<uint32_t>(record, 4),
                .part = uint32_t{At<uint8_t>(record, 21)} << 1U | is_vector,
                .block = At<uint16_t>(record, 26)},
               At<uint64_t>(record, 8));
}

// It waited for ranks where the begin of the wait is given, else it ran a loop.
void NewerUnits::TakeMission(std::string_view record) {
  constexpr uint32_t kRanks = 16;
  constexpr uint64_t kUnit = 4;  // ticks
  Mission mission{.task = uint32_t{At<uint16_t>(record, 62)} << 16U | At<uint16_t>(record, 60)};
  const auto wait = At<uint64_t>(record, 32);
  if (wait != 0) {
    mission.is_wait = true;
    mission.begin = wait;
    mission.instruction = At<uint16_t>(record, 40);
    uint16_t longest = 0;
    for (uint32_t i = 0; i < kRanks; ++i) {
      const auto after = At<uint16_t>(record, size_t{2} * i);
      if (i > 0 && after <= longest) continue;
      longest = after;
      mission.rank = kRanks - 1 - i;
    }
    mission.end = wait + longest * kUnit;
  } else {
    mission.begin = At<uint64_t>(record, 50);
    mission.end = At<uint64_t>(record, 42);
    mission.instruction = At<uint16_t>(record, 58);
    if (mission.begin == 0) return;  // neither
  }
  if (mission.end < mission.begin) return rows_.issues.Add(kBadRecord, "ccu.instr");
  missions_.push_back(mission);
}

// Times of packages of 4 KB, converted to the bandwidth of a channel: the least time is the most.
void NewerUnits::TakeChannels(std::string_view record, std::string_view unit) {
  constexpr uint32_t kChannels = 128;
  constexpr double kPackage = 4096;
  constexpr auto kParts = std::to_array<std::pair<size_t, std::string_view>>(
      {{2, " avg B/s"}, {3, " max B/s"}, {4, " min B/s"}});
  const Clock& clock = device_.clock();
  size_t place = 0;
  for (uint32_t channel = 0; channel < kChannels; ++channel) {
    // Twelve channels share a block, of the last eight four; some begin behind reserved numbers.
    const bool is_late = channel >= 120;
    const uint32_t within = is_late ? channel % 4 : channel % 12;
    const size_t at = 4 * (place + (is_late && within == 0 ? 6 : 0));
    place += is_late ? (within == 0 || within == 3 ? 11 : 5) : (within == 11 ? 9 : 5);
    const auto ticks = At<uint64_t>(record, at);
    if (ticks == 0) continue;  // not in use
    const int64_t ts = clock.FromTicks(ticks);
    if (ts < 0) {
      rows_.issues.Add(kBadRecord, "ccu.stat");
      continue;
    }
    const std::string label = Concat(unit, " channel ", std::to_string(channel));
    for (const auto& [part, name] : kParts) {
      const auto delay = At<uint32_t>(record, at + 4 * part);
      const int64_t ns = SpanNs(ts, clock.FromTicks(ticks + delay));
      const int32_t track = rows_.Track({.kind = capture::TrackKind::kCounter,
                                         .name = Concat(label, name),
                                         .process_id = rows_.Process(pid_),
                                         .device_id = device_.device()});
      rows_.counters.push_back(
          {.ts = ts,
           .track_id = track,
           .value = ns <= 0 ? 0 : kPackage * kNsPerSecond / static_cast<double>(ns)});
    }
  }
}

std::string NewerUnits::LaneOf(std::string_view layer, uint64_t begin, uint64_t end) {
  std::vector<uint64_t>& ends = lanes_[std::string(layer)];
  size_t lane = 0;
  while (lane < ends.size() && ends[lane] > begin) ++lane;
  if (lane == ends.size()) ends.push_back(0);
  ends[lane] = end;
  return lane == 0 ? std::string(layer) : Concat(layer, " ", std::to_string(lane + 1));
}

int32_t NewerUnits::AddSlice(std::string_view layer, std::string_view kind, uint64_t begin,
                             uint64_t end, int32_t name) {
  const int32_t track = rows_.Track({.kind = capture::TrackKind::kDeviceLayer,
                                     .name = layer,
                                     .process_id = rows_.Process(pid_),
                                     .device_id = device_.device()});
  const int64_t ts = device_.clock().FromTicks(begin);
  return rows_.AddSlice(track, ts, SpanNs(ts, device_.clock().FromTicks(end)), name,
                        rows_.names.Intern(kind));
}

const HostTask* NewerUnits::TaskOf(uint32_t number, const HostLayer& host) {
  if (tasks_.empty()) {
    for (const HostTask& task : host.tasks()) {
      if (static_cast<int32_t>(task.track->device) == device_.device()) {
        tasks_[task.number] = &task;
      }
    }
  }
  const auto found = tasks_.find(number);
  return found == tasks_.end() ? nullptr : found->second;
}

void NewerUnits::AddMission(const Mission& mission, const UnitFacts& facts, HostLayer& host) {
  const HostTask* task = TaskOf(mission.task, host);
  const int32_t slice =
      AddSlice(LaneOf("CCU", mission.begin, mission.end), "ccu", mission.begin, mission.end,
               rows_.names.Intern(mission.is_wait ? "Wait" : "LoopGroup"));
  std::vector<ascend::Argument> arguments = {
      {"Physic Stream Id", std::to_string(task == nullptr ? 0xFFFF : task->track->stream)},
      {"Task Id", std::to_string(mission.task)},
      {mission.is_wait ? "Notify Instruction ID" : "Instruction ID",
       std::to_string(mission.instruction)}};
  if (mission.is_wait) arguments.push_back({"Notify Rank ID", std::to_string(mission.rank)});
  if (const uint64_t* hash = facts.ItemOf(mission.task)) {
    const int32_t item = host.dictionary().Text(*hash);
    arguments.push_back({"Item", std::string(host.dictionary().View(item)), /*is_number=*/false});
  }
  const UnitInstruction* known =
      facts.InstructionOf(mission.task, mission.instruction, mission.is_wait);
  if (known != nullptr) {
    arguments.push_back({"Die Id", std::to_string(known->die)});
    if (mission.is_wait) {
      arguments.push_back({"Mask", std::to_string(known->mask)});
    } else {
      arguments.push_back({"Data Size", std::to_string(known->bytes)});
    }
  }
  ascend::DeviceRows(rows_).AddArguments(slice, arguments);
}

void NewerUnits::Build(HostLayer& host, const UnitFacts& facts) {
  constexpr auto kFused =
      std::to_array<std::string_view>({"Fusion", "Fusion CPU", "Fusion AICPU", "Fusion AICORE",
                                       "Fusion CCU die0", "Fusion CCU die1"});
  ascend::DeviceRows device(rows_);
  const int32_t unknown = rows_.names.Intern("N/A");
  for (const Span& span : blocks_.spans) {
    const HostTask* task = TaskOf(span.task, host);
    const bool has_name = task != nullptr && task->kernel >= 0;
    const int32_t name =
        has_name ? host.kernels()[static_cast<size_t>(task->kernel)].name : unknown;
    const std::string layer =
        Concat((span.part & 1U) != 0 ? "AIV" : "AIC", " ", std::to_string(span.part >> 1U));
    const int32_t slice =
        AddSlice(Concat("Blocks of ", layer), "block", span.begin, span.end, name);
    const ascend::Argument arguments[] = {{"Task Id", std::to_string(span.task)},
                                          {"Block Id", std::to_string(span.block)}};
    device.AddArguments(slice, arguments);
  }
  std::ranges::stable_sort(fused_.spans, {}, &Span::begin);
  for (const Span& span : fused_.spans) {
    const int32_t slice = AddSlice(LaneOf("Fusion Task", span.begin, span.end), "fusion_task",
                                   span.begin, span.end, rows_.names.Intern(kFused.at(span.part)));
    const ascend::Argument argument{"Task Id", std::to_string(span.task)};
    device.AddArguments(slice, {&argument, 1});
  }
  std::ranges::stable_sort(missions_, {}, &Mission::begin);
  for (const Mission& mission : missions_) AddMission(mission, facts, host);
  const int64_t alone = blocks_.CountAlone() + fused_.CountAlone();
  if (alone > 0) rows_.issues.Add(kTaskUnpaired, "stars_block.data", -1, alone);
}

}  // namespace sonde::importers::raw
