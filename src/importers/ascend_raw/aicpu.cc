#include "importers/ascend_raw/aicpu.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/files.h"
#include "base/strings.h"
#include "importers/ascend/device_model.h"
#include "importers/ascend_raw/issues.h"
#include "importers/ascend_raw/record_stream.h"

namespace sonde::importers::raw {
namespace {

using base::Concat;

constexpr uint32_t kQueueOfAiCpu = 1;
constexpr uint64_t kNsPerUs = 1000;
constexpr std::string_view kPreprocessFile = "DATA_PREPROCESS.DP";

enum Type : uint32_t {
  kNode = 0,
  kPreprocess = 1,
  kModel = 2,
  kQueue = 3,
  kCommunicationTurn = 4,
  kComputeTurn = 5,
  kOperation = 10,
  kFlip = 11,
  kMarker = 12,
  kTransfers = 13,
};

// Text up to the first zero.
std::string TextAt(std::string_view data, size_t at, size_t size) {
  std::string_view text = data.substr(at, size);
  return std::string(text.substr(0, text.find('\0')));
}

// Between two moments of one clock, in microseconds; 0 where the second is before the first.
uint64_t Since(uint64_t begin, uint64_t end) { return end < begin ? 0 : end - begin; }

}  // namespace

bool AiCpu::Read(const Stream& stream, bool expands_streams) {
  if (stream.name == "aicpu.data") {
    ReadRecords(stream, kAdditionalForm, rows_.issues,
                [&](std::string_view record) { Take(record, expands_streams); });
    return true;
  }
  if (stream.name == kPreprocessFile) {
    ReadPreprocess(stream);
    return true;
  }
  if (stream.name != "DATA_PREPROCESS.AICPU") return false;
  constexpr RecordForm kForm{128, 0, 0x5A5A};
  ReadRecords(stream, kForm, rows_.issues,
              [&](std::string_view record) { TakeLegacy(record, expands_streams); });
  return true;
}

void AiCpu::Take(std::string_view record, bool expands_streams) {
  const std::string_view data = record.substr(kRecordData);
  switch (At<uint32_t>(record, 4)) {
    case kNode:
      return TakeNode(data, expands_streams);
    case kPreprocess:
      return TakePreprocess(At<uint64_t>(record, 16), data);
    case kQueue:
      return TakeQueue(data);
    case kCommunicationTurn:
      return TakeTurn(data, /*is_compute=*/false, expands_streams);
    case kComputeTurn:
      return TakeTurn(data, /*is_compute=*/true, expands_streams);
    case kOperation:
      return TakeOperation(At<uint64_t>(record, 16), data);
    case kFlip:
      return communication_.flips.push_back({.time = At<uint64_t>(record, 16),
                                             .stream = At<uint16_t>(data, 0),
                                             .flip = static_cast<uint16_t>(At<uint32_t>(data, 4)),
                                             .task = At<uint16_t>(data, 2)});
    case kMarker:
      return communication_.markers.push_back({.time = At<uint64_t>(record, 16),
                                               .kernel_stream = At<uint16_t>(data, 0),
                                               .place = PlaceOf(data, 4, expands_streams),
                                               .is_first = At<uint16_t>(data, 8) == 0});
    case kTransfers:
      return TakeTransfers(At<uint64_t>(record, 16), data);
    default:
      rows_.issues.Add(kAiCpuRecord, "aicpu.data");
  }
}

void AiCpu::TakeOperation(uint64_t time, std::string_view data) {
  communication_.operations.push_back({.time = time,
                                       .stream = At<uint16_t>(data, 30),
                                       .facts = {.data_type = At<uint8_t>(data, 1),
                                                 .algorithm = At<uint64_t>(data, 2),
                                                 .count = At<uint64_t>(data, 10),
                                                 .group = At<uint64_t>(data, 18)},
                                       .rank_size = At<uint32_t>(data, 26)});
}

// Two in a record; the second may be empty.
void AiCpu::TakeTransfers(uint64_t time, std::string_view data) {
  constexpr size_t kSize = 116;
  for (const std::string_view part : {data.substr(0, kSize), data.substr(kSize, kSize)}) {
    const auto group = At<uint64_t>(part, 16);
    if (group == 0) continue;
    communication_.transfers.push_back(
        {.time = time,
         .place = {.stream = At<uint16_t>(part, 96), .task = At<uint32_t>(part, 88)},
         .facts = {.item = At<uint64_t>(part, 0),
                   .group = group,
                   .local_rank = At<uint32_t>(part, 24),
                   .remote_rank = At<uint32_t>(part, 28),
                   .rank_size = At<uint32_t>(part, 32),
                   .plane = At<uint16_t>(part, 98),
                   .context = kNoContext,
                   .notify = At<uint64_t>(part, 40),
                   .size = At<uint64_t>(part, 80),
                   .data_type = At<uint8_t>(part, 101),
                   .link = At<uint8_t>(part, 102),
                   .transport = At<uint8_t>(part, 103)}});
  }
}

TaskPlace AiCpu::PlaceOf(std::string_view data, size_t at, bool expands_streams) const {
  const auto stream = At<uint16_t>(data, at);
  const auto task = At<uint16_t>(data, at + 2);
  if (device_.chip().is_v6()) return {.task = uint32_t{task} << 16U | stream};
  return DecodePlace(stream, task, kQueueOfAiCpu, expands_streams);
}

// An older record of the same fields without the head.
void AiCpu::TakeLegacy(std::string_view record, bool expands_streams) {
  constexpr uint16_t kTag = 60;
  if (At<uint16_t>(record, 2) != kTag) return rows_.issues.Add(kBadRecord, "DATA_PREPROCESS.AICPU");
  std::string data(record.substr(4));  // stream and task, where the newer have them
  data.insert(4, 4, '\0');             // the field before the times there
  data.resize(kAdditionalForm.size);
  TakeNode(data, expands_streams);
}

void AiCpu::TakeNode(std::string_view data, bool expands_streams) {
  const Node node{.place = PlaceOf(data, 0, expands_streams),
                  .begin = At<uint64_t>(data, 16),
                  .end = At<uint64_t>(data, 56),
                  .compute_us = At<uint64_t>(data, 24),
                  .copy_us = At<uint64_t>(data, 32),
                  .copied_us = At<uint64_t>(data, 40),
                  .submitted = At<uint64_t>(data, 72),
                  .after_run = At<uint64_t>(data, 96),
                  .dispatch_us = At<uint32_t>(data, 108)};
  if (node.begin == 0 || node.end < node.begin) {
    return rows_.issues.Add(kBadRecord, "aicpu.data");
  }
  nodes_.push_back(node);
}

int32_t AiCpu::AddSlice(std::string_view layer, std::string_view kind, int64_t ts, int64_t dur,
                        int32_t name) {
  const int32_t track = rows_.Track({.kind = capture::TrackKind::kDeviceLayer,
                                     .name = layer,
                                     .process_id = rows_.Process(pid_),
                                     .device_id = device_.device()});
  return rows_.AddSlice(track, ts, dur, name, rows_.names.Intern(kind));
}

// Older files of their own: the newer record's fields behind a shorter head, or lines of text.
void AiCpu::ReadPreprocess(const Stream& stream) {
  constexpr RecordForm kForm{128, 0, 0x5A5A};
  constexpr uint16_t kTag = 100;
  constexpr std::string_view kMark("ZZ\x64\0", 4);  // of records: in no text
  const auto first = base::MappedFile::Open(stream.slices.front().file.path);
  const std::string_view begin = first.ok() ? first->text() : std::string_view();
  const bool is_text = begin.find(kMark) == std::string_view::npos && begin.find(']') != begin.npos;
  if (!is_text) {
    return ReadRecords(stream, kForm, rows_.issues, [this](std::string_view record) {
      if (At<uint16_t>(record, 2) != kTag) return rows_.issues.Add(kBadRecord, kPreprocessFile);
      TakePreprocess(At<uint64_t>(record, 8), record.substr(16));
    });
  }
  const std::string text = ReadTexts(stream, rows_.issues);
  for (const std::string_view line : base::Split(text, '\n')) TakePreprocessLine(line);
}

// "[<ns>] Last queue dequeue, source:iterator_default, index:1, size:131": other lines have no
// data.
void AiCpu::TakePreprocessLine(std::string_view line) {
  const size_t end = line.find(']');
  const std::vector<std::string_view> fields =
      base::Split(line.substr(end == std::string_view::npos ? line.size() : end + 1), ',');
  if (!fields.front().ends_with("Last queue dequeue")) return;
  const auto field = [&](std::string_view key) -> std::string_view {
    for (const std::string_view part : fields) {
      const std::string_view trimmed = base::Trim(part);
      if (trimmed.starts_with(key)) return trimmed.substr(key.size());
    }
    return {};
  };
  std::string_view size_text = field("size:");
  size_text = size_text.substr(0, size_text.find('\0'));
  std::string_view moment = line.substr(0, end);
  moment.remove_prefix(std::min(moment.find('['), moment.size()));
  moment.remove_prefix(moment.empty() ? 0 : 1);
  const int64_t ns = base::ParseInt64(moment).value_or(-1);
  const int64_t size = base::ParseInt64(base::Trim(size_text)).value_or(-1);
  if (ns < 0 || size < 0) return rows_.issues.Add(kBadRecord, kPreprocessFile);
  AddPreprocess(static_cast<uint64_t>(ns), base::Trim(fields.front()), field("source:"),
                static_cast<uint64_t>(size));
}

// The head's time is in nanoseconds of the monotonic clock.
void AiCpu::TakePreprocess(uint64_t ns, std::string_view data) {
  constexpr size_t kAction = 16;
  constexpr size_t kSource = 64;
  AddPreprocess(ns, TextAt(data, 0, kAction), TextAt(data, kAction, kSource),
                At<uint64_t>(data, 88));
}

void AiCpu::AddPreprocess(uint64_t ns, std::string_view action, std::string_view source,
                          uint64_t size) {
  const int64_t ts = ns > INT64_MAX ? -1 : device_.clock().FromMonotonic(static_cast<int64_t>(ns));
  const int32_t slice = AddSlice("Data preprocessing", "dp", ts, 0, rows_.names.Intern(action));
  const ascend::Argument arguments[] = {{"Source", std::string(source), /*is_number=*/false},
                                        {"Cached Buffer Size", std::to_string(size)}};
  ascend::DeviceRows(rows_).AddArguments(slice, arguments);
}

void AiCpu::TakeQueue(std::string_view data) {
  const auto tag = At<uint32_t>(data, 0);
  const std::string node = tag == 1 ? "GetNext_dequeue_wait" : std::to_string(tag);
  const int64_t begin = device_.clock().FromTicks(At<uint64_t>(data, 16));
  const int64_t end = device_.clock().FromTicks(At<uint64_t>(data, 24));
  const int32_t slice =
      AddSlice("Data queue", "aicpu_mi", begin, SpanNs(begin, end), rows_.names.Intern(node));
  const ascend::Argument argument{"Queue Size", std::to_string(At<uint64_t>(data, 8))};
  ascend::DeviceRows(rows_).AddArguments(slice, {&argument, 1});
}

void AiCpu::TakeTurn(std::string_view data, bool is_compute, bool expands_streams) {
  Turn turn;
  turn.is_compute = is_compute;
  const size_t moments = is_compute ? 3 : 7;
  for (size_t i = 0; i < moments; ++i) turn.moments.push_back(At<uint64_t>(data, 8 * i));
  turn.place = PlaceOf(data, is_compute ? 36 : 68, expands_streams);
  turn.number = At<uint8_t>(data, is_compute ? 42 : 74);
  turns_.push_back(std::move(turn));
}

void AiCpu::Build(const Records<RanTask>& ran, const HostLayer& host) {
  std::ranges::stable_sort(nodes_, {}, &Node::begin);
  for (const Node& node : nodes_) AddNode(node, TaskAt(node.place, node.end, ran), host);
  for (const Turn& turn : turns_) {
    AddTurn(turn, TaskAt(turn.place, turn.moments.front(), ran));
  }
}

// The task of the device's queue that runs at that moment.
const RanTask* AiCpu::TaskAt(const TaskPlace& place, uint64_t moment,
                             const Records<RanTask>& ran) const {
  const bool is_v6 = device_.chip().is_v6();
  auto after = std::upper_bound(ran.begin(), ran.end(), moment,
                                [](uint64_t at, const RanTask& task) { return at < task.begin; });
  constexpr int kMost = 4096;  // tasks at one time are few
  for (int i = 0; after != ran.begin() && i < kMost; ++i) {
    const RanTask& task = *--after;
    const bool is_same =
        task.place.task == place.task && (is_v6 || task.place.stream == place.stream);
    if (is_same && task.end >= moment) return &task;
  }
  return nullptr;
}

// It ran within the task of the device's queue that it belongs to.
void AiCpu::AddNode(const Node& node, const RanTask* task, const HostLayer& host) {
  const Clock& clock = device_.clock();
  const TaskPlace place = task == nullptr ? node.place : task->place;
  int32_t name = rows_.names.Intern("N/A");
  if (task != nullptr && task->host != nullptr && task->host->kernel >= 0) {
    name = host.kernels()[static_cast<size_t>(task->host->kernel)].name;
  }
  const int64_t ts = clock.FromTicks(node.begin);
  const std::string layer = Concat("AI CPU Stream ", std::to_string(place.stream));
  const int32_t slice = AddSlice(layer, "aicpu", ts, SpanNs(ts, clock.FromTicks(node.end)), name);
  const int64_t total = std::max<int64_t>(
      0, SpanNs(clock.FromTicks(node.submitted), clock.FromTicks(node.after_run)));
  const ascend::Argument arguments[] = {
      {"Compute_time(us)", std::to_string(Since(node.compute_us, node.copy_us))},
      {"Memcpy_time(us)", std::to_string(Since(node.copy_us, node.copied_us))},
      {"Dispatch_time(us)", std::to_string(node.dispatch_us)},
      {"Total_time(us)",
       base::PythonDoubleText(static_cast<double>(total) / static_cast<double>(kNsPerUs))},
      {"Stream ID", std::to_string(place.stream)},
      {"Task ID", std::to_string(place.task)}};
  ascend::DeviceRows(rows_).AddArguments(slice, arguments);
}

// The parts of one turn of a kernel that communicates while it computes, one after the other.
void AiCpu::AddTurn(const Turn& turn, const RanTask* task) {
  constexpr auto kCommunication =
      std::to_array<std::string_view>({"StartServer", "TaskWaitRequest", "TaskOrchestration",
                                       "TaskLaunch", "TaskExecute", "Finalize"});
  constexpr auto kCompute = std::to_array<std::string_view>({"WaitCompute", "Compute"});
  const Clock& clock = device_.clock();
  const uint16_t stream = task == nullptr ? turn.place.stream : task->place.stream;
  const std::string layer = Concat("AI CPU Stream ", std::to_string(stream),
                                   turn.is_compute ? " computing" : " communication");
  for (size_t i = 0; i + 1 < turn.moments.size(); ++i) {
    const uint64_t begin = turn.moments[i];
    const uint64_t end = turn.moments[i + 1];
    if (begin == 0 || end < begin) {
      rows_.issues.Add(kBadRecord, "aicpu.data");
      continue;
    }
    const std::string_view what = turn.is_compute ? kCompute.at(i) : kCommunication.at(i);
    const int64_t ts = clock.FromTicks(begin);
    AddSlice(layer, "kfc_turn", ts, SpanNs(ts, clock.FromTicks(end)),
             rows_.names.Intern(Concat(what, " ", std::to_string(turn.number))));
  }
}

}  // namespace sonde::importers::raw
