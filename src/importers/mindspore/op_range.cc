// mindspore.op_range: records of the framework's threads in the layout of MindSpore 2.7 to 2.10.
//
// All numbers are little-endian. Frames to the end of the file: u16 type (0), u32 size, `size`
// bytes:
//
//   0  u64 thread       32 u64 end, ticks     46 u16 event      52 bool is_stage
//   8  u64 flow number  40 i32 (the thread)   48 u16 stage      53 bool is_stack
//  16  u64 step         44 u16 module         50 i8 level       54 fields: u16 id, u32 size, bytes
//  24  u64 begin, ticks                       51 bool is_graph_data
#include <optional>

#include "base/bytes.h"
#include "base/files.h"
#include "base/host/json.h"
#include "base/strings.h"
#include "capture/mindspore_names.h"
#include "importers/mindspore/issues.h"
#include "importers/mindspore/trace.h"

namespace sonde::importers::mindspore {
namespace {

using capture::kMindsporeEvents;
using capture::kMindsporeModules;
using capture::kMindsporeStages;
using capture::MindsporeNameAt;

constexpr std::string_view kStepPrefix = "ProfilerStep#";

struct Record {
  uint64_t thread = 0;
  uint64_t flow = kNoFlow;
  uint64_t begin = 0;
  uint64_t end = 0;
  uint16_t module = 0;
  uint16_t event = 0;
  uint16_t stage = 0;
  bool is_graph_data = false;
  bool is_stage = false;
  bool is_stack = false;
  std::string_view name;
  std::string_view full_name;
  std::string_view module_name;
  std::string_view event_name;
};

std::optional<Record> Decode(std::span<const std::byte> bytes) {
  base::ByteReader reader(bytes);
  Record record;
  record.thread = reader.Read<uint64_t>();
  record.flow = reader.Read<uint64_t>();
  reader.Read<uint64_t>();  // step
  record.begin = reader.Read<uint64_t>();
  record.end = reader.Read<uint64_t>();
  reader.Read<int32_t>();  // called process, filled with the thread
  record.module = reader.Read<uint16_t>();
  record.event = reader.Read<uint16_t>();
  record.stage = reader.Read<uint16_t>();
  reader.Read<int8_t>();  // level
  record.is_graph_data = reader.Read<uint8_t>() != 0;
  record.is_stage = reader.Read<uint8_t>() != 0;
  record.is_stack = reader.Read<uint8_t>() != 0;
  if (!reader.ok()) return std::nullopt;
  while (reader.ok() && reader.remaining() > 0) {
    const auto id = reader.Read<uint16_t>();
    const auto size = reader.Read<uint32_t>();
    const std::string_view text = base::AsText(reader.ReadBytes(size));
    if (!reader.ok()) return std::nullopt;
    if (id == 13) record.name = text;
    if (id == 14) record.full_name = text;
    if (id == 15) record.module_name = text;
    if (id == 16) record.event_name = text;
  }
  return record;
}

std::string ShownName(const Record& record) {
  if (record.is_stack) return std::string(record.name);
  if (record.is_graph_data) {
    return base::Concat(record.module_name, "::", record.event_name, "::", record.name);
  }
  if (record.is_stage) return MindsporeNameAt(kMindsporeStages, record.stage);
  if (record.full_name.starts_with(kStepPrefix)) return std::string(record.full_name);
  return base::Concat(MindsporeNameAt(kMindsporeModules, record.module),
                      "::", MindsporeNameAt(kMindsporeEvents, record.event),
                      "::", record.full_name);
}

class OpRangeReader {
 public:
  OpRangeReader(const SpanFile& file, const TickClock& clock, RangeRows& ranges, TraceRows& rows)
      : file_(file), clock_(clock), ranges_(ranges), rows_(rows) {}

  void Run(std::string_view bytes) {
    base::ByteReader reader(bytes);
    while (reader.remaining() > 0) {
      const auto position = static_cast<int64_t>(reader.position());
      reader.Read<uint16_t>();  // type
      const auto size = reader.Read<uint32_t>();
      const auto value = reader.ReadBytes(size);
      if (!reader.ok()) {
        rows_.issues.Add(kCutOff, file_.relative, position);
        return;
      }
      const auto record = Decode(value);
      if (record) {
        Take(*record);
      } else {
        rows_.issues.Add(kBadRecord, file_.relative, position);
      }
    }
  }

 private:
  void Take(const Record& record) {
    const std::string name = ShownName(record);
    Range range;
    range.tid = static_cast<int64_t>(record.thread);
    range.begin = clock_.ToNs(record.begin);
    range.end = clock_.ToNs(record.end);
    range.flow = record.flow;
    range.name = name;
    const std::string module = MindsporeNameAt(kMindsporeModules, record.module);
    range.category = record.is_stage        ? "stage"
                     : record.is_graph_data ? record.module_name
                                            : std::string_view(module);
    // A hand-over takes no time: the end is written before the begin.
    if (record.name == "flow" && record.end < record.begin) {
      ranges_.AddHandOver(range);
      return;
    }
    const bool is_step = name.starts_with(kStepPrefix);
    const int32_t slice =
        ranges_.Add(range, is_step ? capture::Scope::kStep : capture::Scope::kFrameworkRange);
    if (is_step) AddStep(slice, name);
    if (capture::IsMindsporeLaunch(record.event) && !record.is_stage) {
      ranges_.AddLaunch(slice, record.full_name);
    }
  }

  void AddStep(int32_t slice, std::string_view name) {
    const auto number = base::ParseInt64(name.substr(kStepPrefix.size()));
    if (!number) return;
    const store::SliceRow& row = rows_.slices[static_cast<size_t>(slice)];
    store::StepRow step;
    step.step_id = *number;
    step.rank = rows_.rank;
    step.process_id = rows_.Process(0);
    step.slice_id = slice;
    step.ts = row.ts;
    step.dur = row.dur;
    rows_.steps.push_back(step);
  }

  const SpanFile& file_;
  const TickClock& clock_;
  RangeRows& ranges_;
  TraceRows& rows_;
};

// "key: value" lines.
std::optional<int64_t> LogValue(std::string_view text, std::string_view key) {
  for (const std::string_view line : base::Split(text, '\n')) {
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos || base::Trim(line.substr(0, colon)) != key) continue;
    return base::ParseInt64(base::Trim(line.substr(colon + 1)));
  }
  return std::nullopt;
}

std::optional<int64_t> JsonNumber(const base::JsonValue& value) {
  if (value.IsString()) return base::ParseInt64(base::Trim(value.AsString().value_or("")));
  const auto number = value.AsInt();
  return number.ok() ? std::optional(*number) : std::nullopt;
}

// Thousandths of a megahertz.
int64_t Kilohertz(const base::JsonValue& value) {
  const std::string text = value.IsString() ? value.AsString().value_or("") : value.Dump();
  return base::ParseMicrosecondsToNs(base::Trim(text)).value_or(0);
}

}  // namespace

int64_t TickClock::ToNs(uint64_t ticks) const {
  if (!is_known) return static_cast<int64_t>(std::min<uint64_t>(ticks, INT64_MAX));
  const auto since = static_cast<__int128>(ticks) - static_cast<__int128>(start_ticks);
  const __int128 ns = since * 1'000'000 / kilohertz + start_ns;
  return ns < 0 || ns > INT64_MAX ? -1 : static_cast<int64_t>(ns);
}

// Wall clock = monotonic clock of host_start.log + difference of both in start_info.
TickClock ReadClock(const std::vector<SpanFile>& files) {
  TickClock clock;
  std::optional<int64_t> ticks;
  std::optional<int64_t> monotonic;
  std::optional<int64_t> offset;
  for (const SpanFile& file : files) {
    const std::string_view name = base::BaseName(file.path);
    if (name == "host_start.log") {
      const auto text = base::ReadFile(file.path, size_t{1} << 20U);
      if (!text.ok()) continue;
      ticks = LogValue(*text, "cntvct");
      monotonic = LogValue(*text, "clock_monotonic_raw");
      continue;
    }
    const auto document = base::JsonDocument::ReadFile(file.path);
    if (!document.ok()) continue;
    if (name == "info.json") {
      clock.kilohertz = Kilohertz(document->root()["CPU"][size_t{0}]["Frequency"]);
    } else {
      const auto wall_us = JsonNumber(document->root()["collectionTimeBegin"]);
      const auto raw = JsonNumber(document->root()["clockMonotonicRaw"]);
      if (wall_us && raw && *wall_us > 0 && *wall_us < INT64_MAX / 1000) {
        offset = *wall_us * 1000 - *raw;
      }
    }
  }
  if (!ticks || !monotonic || !offset || *ticks < 0 || clock.kilohertz <= 0) return {};
  if (__builtin_add_overflow(*monotonic, *offset, &clock.start_ns)) return {};
  clock.start_ticks = static_cast<uint64_t>(*ticks);
  clock.is_known = true;
  return clock;
}

void ReadOpRange(const SpanFile& file, std::string_view bytes, const TickClock& clock,
                 RangeRows& ranges, TraceRows& rows) {
  if (!clock.is_known) rows.issues.Add(kNoClock, file.relative);
  OpRangeReader(file, clock, ranges, rows).Run(bytes);
}

}  // namespace sonde::importers::mindspore
