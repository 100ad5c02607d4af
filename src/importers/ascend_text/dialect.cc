// Layers of Ascend's timeline: each is a process of its own in the file.
#include "base/strings.h"
#include "importers/ascend/counter_tables.h"
#include "importers/ascend_text/captured.h"
#include "importers/ascend_text/text_trace.h"

namespace sonde::importers::text_import {
namespace {

using capture::TrackKind;
using trace_events::ThreadFacts;
using trace_events::TrackLabel;

constexpr uint8_t kPythonLane = 1;
constexpr uint8_t kModuleLane = 2;

bool IsFramework(std::string_view layer) { return layer == "Python"; }

// The number in "NPU 3"; older files leave it out, and the process number ends with it.
int32_t DeviceOf(const ThreadFacts& facts) {
  const std::string_view label = facts.process_labels;
  if (label.starts_with("NPU ")) {
    const auto number = base::ParseInt64(label.substr(4));
    if (number && *number >= 0 && *number <= INT32_MAX) return static_cast<int32_t>(*number);
  }
  const auto pid = base::ParseInt64(facts.pid);
  return pid && *pid >= 0 ? static_cast<int32_t>(*pid & 31) : store::kNone;
}

TrackKind KindOf(const ThreadFacts& facts) {
  const std::string_view layer = facts.process_name;
  if (layer == "CANN") return TrackKind::kApi;
  if (layer == "Ascend Hardware") return TrackKind::kStream;
  if (layer == "CPU OP") return TrackKind::kThread;
  if (layer == "Scope Layer") return TrackKind::kModule;
  if (layer == "Python GC") return TrackKind::kGarbageCollection;
  if (layer == "OS Runtime API") return TrackKind::kOsRuntime;
  if (layer == "Overlap Analysis") return TrackKind::kOverlap;
  if (layer == "Communication" || layer == "HCCL") {
    return facts.thread_name.starts_with("Plane ") ? TrackKind::kCommunicationPlane
                                                   : TrackKind::kCommunicationGroup;
  }
  if (facts.process_labels.starts_with("NPU")) return TrackKind::kDeviceLayer;
  return facts.process_labels == "CPU" ? TrackKind::kMark : TrackKind::kThread;
}

}  // namespace

std::vector<trace_events::CapturedKey> AscendDialect::captured_keys() const {
  return {kCapturedKeys.begin(), kCapturedKeys.end()};
}

uint8_t AscendDialect::LaneOf(const trace_events::TraceEvent& event) const {
  if (event.category != "python_function") return 0;
  return event.name.starts_with("nn.Module: ") ? kModuleLane : kPythonLane;
}

const char* AscendDialect::FlowKind(std::string_view category) const {
  if (category == "fwdbwd") return "forward_backward";
  if (category == "HostToDevice") return "host_to_device";
  if (category == "async_task_queue") return "enqueue_dequeue";
  if (category == "async_npu") return "operator_to_device";
  return "user";
}

TrackLabel AscendDialect::LabelTrack(const ThreadFacts& facts, uint8_t lane) const {
  TrackLabel label;
  if (IsFramework(facts.process_name)) {
    label.kind = lane == kPythonLane   ? TrackKind::kPython
                 : lane == kModuleLane ? TrackKind::kModule
                                       : TrackKind::kThread;
    return label;
  }
  label.kind = KindOf(facts);
  if (facts.process_labels.starts_with("NPU")) label.device_id = DeviceOf(facts);
  if (label.kind == TrackKind::kStream) {
    const auto stream = base::ParseInt64(facts.tid);
    if (stream && *stream >= 0 && *stream <= INT32_MAX) {
      label.stream_id = static_cast<int32_t>(*stream);
    }
    // Files that were cut off before the labels name the stream all the same.
    if (label.device_id == store::kNone) label.device_id = DeviceOf(facts);
  }
  return label;
}

TrackLabel AscendDialect::LabelCounter(const ThreadFacts& facts, std::string_view name) const {
  TrackLabel label{.name = TrackOfTimeline(facts.process_name, name)};
  if (facts.process_labels.starts_with("NPU")) label.device_id = DeviceOf(facts);
  return label;
}

}  // namespace sonde::importers::text_import
