#include "importers/kineto/dialect.h"

#include <array>
#include <optional>
#include <utility>

#include "base/hash.h"
#include "base/strings.h"
#include "importers/ascend/counter_tables.h"

namespace sonde::importers::kineto {
namespace {

using capture::TrackKind;
using trace_events::CapturedKey;
using trace_events::CapturedSet;
using trace_events::ThreadFacts;
using trace_events::TraceEvent;
using trace_events::TrackLabel;

// Those of 1.8 to 1.11 begin with a capital letter.
constexpr std::array<std::pair<std::string_view, SliceClass>, 26> kClasses = {{
    {"cpu_op", SliceClass::kOp},
    {"Operator", SliceClass::kOp},
    {"user_annotation", SliceClass::kUserAnnotation},
    {"python_function", SliceClass::kPython},
    {"cuda_runtime", SliceClass::kRuntime},
    {"cuda_driver", SliceClass::kRuntime},
    {"mtia_runtime", SliceClass::kRuntime},
    {"glow_runtime", SliceClass::kRuntime},
    {"xpu_runtime", SliceClass::kRuntime},
    {"xpu_driver", SliceClass::kRuntime},
    {"privateuse1_runtime", SliceClass::kRuntime},
    {"privateuse1_driver", SliceClass::kRuntime},
    {"Runtime", SliceClass::kRuntime},
    {"kernel", SliceClass::kKernel},
    {"Kernel", SliceClass::kKernel},
    {"collective_comm", SliceClass::kKernel},
    {"hpu_op", SliceClass::kKernel},
    {"mtia_ccp_events", SliceClass::kKernel},
    {"gpu_memcpy", SliceClass::kMemcpy},
    {"Memcpy", SliceClass::kMemcpy},
    {"gpu_memset", SliceClass::kMemset},
    {"Memset", SliceClass::kMemset},
    {"gpu_user_annotation", SliceClass::kDeviceRange},
    {"cuda_sync", SliceClass::kDeviceSync},
    {"cuda_event", SliceClass::kDeviceSync},
    {"xpu_sync", SliceClass::kDeviceSync},
}};

int32_t SmallNumber(std::string_view text) {
  const auto number = base::ParseInt64(text);
  return number && *number >= 0 && *number <= INT32_MAX ? static_cast<int32_t>(*number)
                                                        : store::kNone;
}

bool IsDevice(const ThreadFacts& facts) {
  for (const std::string_view device : {"GPU", "NPU", "HPU", "XPU", "MTIA", "Ascend NPU"}) {
    if (facts.process_labels.starts_with(device)) return true;
  }
  return facts.thread_name.starts_with("stream ") ||
         facts.thread_name.find(" stream ") != std::string_view::npos;
}

int32_t SmallNumber(std::optional<int64_t> number) {
  return number && *number >= 0 && *number <= INT32_MAX ? static_cast<int32_t>(*number)
                                                        : store::kNone;
}

// "GPU 3" -> 3, "stream 7" -> 7.
int32_t LastNumber(std::string_view text) {
  text = base::Trim(text);
  const size_t blank = text.rfind(' ');
  return blank == std::string_view::npos ? store::kNone : SmallNumber(text.substr(blank + 1));
}

// The work's own arguments count first, then labels. Only without both is the number of the process
// that of a device: Kineto gives devices small ones.
int32_t DeviceOf(const ThreadFacts& facts) {
  constexpr int32_t kMostDevices = 64;
  const int32_t given = SmallNumber(facts.arguments.Get(kDevice));
  if (given >= 0) return given;
  const int32_t labelled = LastNumber(facts.process_labels);
  if (labelled >= 0) return labelled;
  const int32_t number = SmallNumber(facts.pid);
  return number < kMostDevices ? number : store::kNone;
}

int32_t StreamOf(const ThreadFacts& facts) {
  const int32_t given = SmallNumber(facts.arguments.Get(kStream));
  if (given >= 0) return given;
  const int32_t named = LastNumber(facts.thread_name);
  return named >= 0 ? named : SmallNumber(facts.tid);
}

}  // namespace

SliceClass ClassOf(std::string_view category) {
  for (const auto& [name, slice_class] : kClasses) {
    if (name == category) return slice_class;
  }
  return SliceClass::kOther;
}

std::vector<CapturedKey> KinetoDialect::captured_keys() const {
  return {{"External id", false},
          {"correlation", false},
          {"Sequence number", false},
          {"Input Dims", true},
          {"Input type", true},
          {"Call stack", true},
          {"Collective name", true},
          {"Process Group Name", true},
          {"Process Group Description", true},
          {"Process Group Ranks", true},
          {"Group size", false},
          {"In msg nelems", false},
          {"In split size", true},
          {"dtype", true},
          {"Src Rank", false},
          {"Dst Rank", false},
          {"Addr", false},
          {"Bytes", false},
          {"Device Type", false},
          {"Device Id", false},
          {"Total Allocated", false},
          {"Total Reserved", false},
          {"external id", false},
          {"device", false},
          {"stream", false},
          {"graph node id", false},
          {"event_type", true},
          {"domain", true}};
}

uint8_t KinetoDialect::LaneOf(const TraceEvent& event) const {
  const std::string_view category = event.category;
  if (category == "python_function") {
    return event.name.starts_with(kModulePrefix) ? kModuleLane : kPythonLane;
  }
  if (category == "gpu_user_annotation") return kRangeLane;
  const bool may_be_mark = category == "user_annotation" || category == "flops";
  if (may_be_mark && event.args.find(R"("event_type")") != std::string_view::npos &&
      event.args.find(R"("External id")") == std::string_view::npos) {
    return kMarkLane;
  }
  if (category == "cuda_sync" || category == "cuda_event" || category == "xpu_sync") {
    return kSyncLane;
  }
  return kMainLane;
}

const char* KinetoDialect::FlowKind(std::string_view category) const {
  if (category == "fwdbwd" || category == "forward_backward") return "forward_backward";
  // "async" in 1.8, then "async_cpu_to_gpu".
  if (category == "ac2g" || category.starts_with("async")) return "host_to_device";
  return "user";
}

uint64_t KinetoDialect::ScopeOf(std::string_view pid) const {
  constexpr std::string_view kDigits = "0123456789";
  if (pid.find_first_not_of(kDigits) == std::string_view::npos) return 0;
  // Without its number: the first where the text begins with one, else the last.
  const size_t last = pid.find_last_of(kDigits);
  if (last == std::string_view::npos) return 0;
  const bool leads = kDigits.find(pid.front()) != std::string_view::npos;
  const size_t end = leads ? pid.find_first_not_of(kDigits) : last + 1;
  const size_t before = leads ? std::string_view::npos : pid.find_last_not_of(kDigits, last);
  const size_t begin = leads ? 0 : before == std::string_view::npos ? 0 : before + 1;
  const std::string_view around = pid.substr(0, begin);
  if (around == "-" && end == pid.size()) return 0;  // a number below zero
  return base::HashString(pid.substr(end), base::HashString(around, 1));
}

bool KinetoDialect::RunsInOrder(std::string_view category, const CapturedSet& arguments) const {
  return IsDeviceWork(ClassOf(category)) && arguments.Get(kGraphNode).value_or(0) == 0;
}

TrackLabel KinetoDialect::LabelTrack(const ThreadFacts& facts, uint8_t lane) const {
  TrackLabel label;
  switch (lane) {
    case kPythonLane:
      label.kind = TrackKind::kPython;
      return label;
    case kModuleLane:
      label.kind = TrackKind::kModule;
      return label;
    case kMarkLane:
      label.kind = TrackKind::kMark;
      return label;
    default:
      break;
  }
  if (IsDeviceWork(ClassOf(facts.category)) || IsDevice(facts)) {
    label.kind = lane == kMainLane ? TrackKind::kStream : TrackKind::kSpan;
    label.device_id = DeviceOf(facts);
    label.stream_id = StreamOf(facts);
  } else if (facts.pid == "Spans") {
    label.kind = TrackKind::kSpan;
  }
  return label;
}

// Ascend's, where Sonde wrote the file.
TrackLabel KinetoDialect::LabelCounter(const ThreadFacts& facts, std::string_view name) const {
  return {.name = TrackOfTimeline(facts.process_name, name)};
}

}  // namespace sonde::importers::kineto
