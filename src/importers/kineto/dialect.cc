#include "importers/kineto/dialect.h"

#include <array>
#include <utility>

#include "base/strings.h"

namespace sonde::importers::kineto {
namespace {

using trace_events::CapturedKey;
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
          {"dtype", true},
          {"Src Rank", false},
          {"Dst Rank", false},
          {"Addr", false},
          {"Bytes", false},
          {"Device Type", false},
          {"Device Id", false},
          {"Total Allocated", false},
          {"Total Reserved", false},
          {"external id", false}};
}

uint8_t KinetoDialect::LaneOf(const TraceEvent& event) const {
  const std::string_view category = event.category;
  if (category == "python_function") {
    return event.name.starts_with(kModulePrefix) ? kModuleLane : kPythonLane;
  }
  if (category == "gpu_user_annotation") return kRangeLane;
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

TrackLabel KinetoDialect::LabelTrack(const ThreadFacts& facts, uint8_t lane) const {
  TrackLabel label;
  switch (lane) {
    case kPythonLane:
      label.kind = "python";
      return label;
    case kModuleLane:
      label.kind = "module";
      return label;
    default:
      break;
  }
  if (IsDevice(facts)) {
    label.kind = lane == kMainLane ? "stream" : "span";
    label.device_id = SmallNumber(facts.pid);
    label.stream_id = SmallNumber(facts.tid);
  } else if (facts.pid == "Spans") {
    label.kind = "span";
  }
  return label;
}

}  // namespace sonde::importers::kineto
