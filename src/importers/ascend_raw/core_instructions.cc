#include "importers/ascend_raw/core_instructions.h"

#include <algorithm>
#include <cmath>

#include "base/strings.h"
#include "importers/ascend/device_model.h"
#include "importers/ascend_raw/issues.h"

namespace sonde::importers::raw {
namespace {

using base::Concat;

constexpr RecordForm kForm{4};
constexpr auto kNames =
    std::to_array<std::string_view>({"SU", "VEC", "CUBE", "MTE1", "MTE2", "MTE3", "FIXP"});
constexpr int32_t kNoCheckpoint = -1;

// "Group0-aic" of "instr.biu_perf_group0_aic"; "" for other streams.
std::string CoreOf(std::string_view stream) {
  constexpr std::string_view kBegin = "instr.biu_perf_group";
  if (!stream.starts_with(kBegin)) return "";
  stream.remove_prefix(kBegin.size());
  const size_t end = stream.find('_');
  if (end == std::string_view::npos || !base::ParseUint64(stream.substr(0, end))) return "";
  const std::string_view core = stream.substr(end + 1);
  if (core != "aic" && core != "aiv0" && core != "aiv1") return "";
  return Concat("Group", stream.substr(0, end), "-", core);
}

}  // namespace

bool CoreInstructions::Read(const Stream& stream) {
  Core core{.name = CoreOf(stream.name)};
  if (!device_.chip().is_v6() || core.name.empty()) return false;
  core.mhz = DeviceInfoOf(folder_, device_.device()).aic_mhz;
  if (!(core.mhz >= 1)) return false;
  core.tracks.fill(store::kNone);
  ReadRecords(stream, kForm, rows_.issues,
              [&](std::string_view record) { Take(At<uint32_t>(record, 0), core); });
  const auto open = std::count_if(core.began.begin(), core.began.end(),
                                  [](const auto& began) { return began.has_value(); });
  if (open > 0) rows_.issues.Add(kTaskUnpaired, stream.name, -1, open);
  return true;
}

void CoreInstructions::Take(uint32_t word, Core& core) {
  enum : uint32_t { kEnd = 0xEFFFFFFF, kFiller = 0xDDDDDDDD, kStamp = 14, kState = 15 };
  if (word == kEnd) {
    core.is_behind_end = true;
    return;
  }
  if (core.is_behind_end && word == kFiller) return;
  core.is_behind_end = false;
  const uint32_t kind = word >> 28U;
  if (kind == kStamp) return TakeStamp(word, core);
  if (core.stamps > 0) {  // the rest of it is lost
    core.stamps = 0;
    core.stamped_ns = -1;
    rows_.issues.Add(kBadRecord, "instr.biu_perf");
  }
  core.cycles += word & 0xFFFFU;
  const bool is_known = kind == kState || kind < kPipelines;
  if (core.stamped_ns < 0 || !is_known) return rows_.issues.Add(kBadRecord, "instr.biu_perf");
  constexpr double kNsAtOneMhz = 1000;  // a cycle
  const int64_t now =
      core.stamped_ns + std::llround(static_cast<double>(core.cycles) * kNsAtOneMhz / core.mhz);
  const uint32_t events = word >> 16U & 0xFFFU;
  if (kind == kState) return TakeState(events, now, core);
  AddSlice(kind, now, now, static_cast<int32_t>(events), core);
}

// The lowest part of the moment comes first, and with it that of the block.
void CoreInstructions::TakeStamp(uint32_t word, Core& core) {
  core.stamp.at(core.stamps) = static_cast<uint16_t>(word);
  const uint32_t block = word >> 16U & 0xFFU;
  if (core.stamps == 0) core.block = static_cast<uint16_t>(block);
  if (core.stamps == 1) core.block = static_cast<uint16_t>(core.block | block << 8U);
  if (++core.stamps < core.stamp.size()) return;
  uint64_t ticks = 0;
  for (size_t i = 0; i < core.stamp.size(); ++i) ticks |= uint64_t{core.stamp.at(i)} << 16U * i;
  core.stamps = 0;
  core.cycles = 0;
  const int64_t ns = device_.clock().FromTicks(ticks);
  core.stamped_ns = IsTime(ns, 0) ? ns : -1;
}

void CoreInstructions::TakeState(uint32_t working, int64_t now, Core& core) {
  for (size_t i = 0; i < kPipelines; ++i) {
    const bool works = (working >> i & 1U) != 0;
    std::optional<int64_t>& began = core.began.at(i);
    if (works && !began) began = now;
    if (works || !began) continue;
    AddSlice(i, *began, now, kNoCheckpoint, core);
    began.reset();
  }
}

// Each pipeline has a layer: they work at the same time.
void CoreInstructions::AddSlice(size_t pipeline, int64_t begin, int64_t end, int32_t checkpoint,
                                Core& core) {
  int32_t& track = core.tracks.at(pipeline);
  const std::string_view name = kNames.at(pipeline);
  if (track == store::kNone) {
    track = rows_.Track({.kind = capture::TrackKind::kDeviceLayer,
                         .name = Concat(core.name, " ", name),
                         .process_id = rows_.Process(pid_),
                         .device_id = device_.device()});
  }
  const int32_t slice = rows_.AddSlice(track, begin, SpanNs(begin, end), rows_.names.Intern(name),
                                       rows_.names.Intern("instruction"));
  int32_t& args = core.arguments.try_emplace({core.block, checkpoint}, store::kNone).first->second;
  if (args == store::kNone) {
    std::vector<ascend::Argument> arguments = {{"Block Id", std::to_string(core.block)}};
    if (checkpoint != kNoCheckpoint) {
      arguments.push_back({"Checkpoint Info", std::to_string(checkpoint)});
    }
    ascend::DeviceRows(rows_).AddArguments(slice, arguments);
    args = rows_.slices[static_cast<size_t>(slice)].args_id;
  }
  rows_.slices[static_cast<size_t>(slice)].args_id = args;
}

}  // namespace sonde::importers::raw
