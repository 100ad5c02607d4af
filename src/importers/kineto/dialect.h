// Kineto's form of events: categories, arguments, lanes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "importers/trace_events/dialect.h"

namespace sonde::importers::kineto {

// Kinds of slices, by category.
enum class SliceClass : uint8_t {
  kOther,
  kOp,              // cpu_op
  kUserAnnotation,  // record_function
  kPython,          // python_function, modules too
  kRuntime,         // calls of the device's runtime or driver on the host
  kKernel,          // work of the device
  kMemcpy,
  kMemset,
  kDeviceRange,  // ranges of the user projected on the device
  kDeviceSync,   // synchronisation seen on the device
  kMark,         // ranges of the user that are no operators, in files that Sonde wrote
};
inline constexpr size_t kSliceClasses = static_cast<size_t>(SliceClass::kMark) + 1;
SliceClass ClassOf(std::string_view category);
inline bool IsDeviceWork(SliceClass c) {
  return c == SliceClass::kKernel || c == SliceClass::kMemcpy || c == SliceClass::kMemset;
}

enum Lane : uint8_t { kMainLane, kPythonLane, kModuleLane, kRangeLane, kSyncLane, kMarkLane };

// Places in KinetoDialect::captured_keys.
enum Key : size_t {
  kExternalId,
  kCorrelation,
  kSequence,
  kInputDims,
  kInputTypes,
  kCallStack,
  kCollective,
  kGroupName,
  kGroupDescription,
  kGroupRanks,
  kGroupSize,
  kInElements,
  kInSplit,
  kDataType,
  kSourceRank,
  kTargetRank,
  kAddress,
  kBytes,
  kMemoryDeviceType,
  kMemoryDeviceId,
  kTotalAllocated,
  kTotalReserved,
  kOldExternalId,
  kDevice,
  kStream,
  kGraphNode,
  kEventType,
  kDomain,
};

inline constexpr std::string_view kModulePrefix = "nn.Module: ";
inline constexpr std::string_view kMemoryEvent = "[memory]";

class KinetoDialect : public trace_events::Dialect {
 public:
  std::vector<trace_events::CapturedKey> captured_keys() const override;
  uint8_t LaneOf(const trace_events::TraceEvent& event) const override;
  bool StoresArguments(const trace_events::TraceEvent& event) const override {
    return !TakesInstant(event);
  }
  bool TakesInstant(const trace_events::TraceEvent& event) const override {
    return event.phase == 'i' && event.name == kMemoryEvent;
  }
  const char* FlowKind(std::string_view category) const override;
  // By the text that a joined file adds to the numbers of its processes: "[TP00] 4242", "0 (rank
  // 1)".
  uint64_t ScopeOf(std::string_view pid) const override;
  // Work of a device; that of a graph may run at once although it is recorded under one stream.
  bool RunsInOrder(std::string_view category,
                   const trace_events::CapturedSet& arguments) const override;
  trace_events::TrackLabel LabelTrack(const trace_events::ThreadFacts& facts,
                                      uint8_t lane) const override;
  trace_events::TrackLabel LabelCounter(const trace_events::ThreadFacts& facts,
                                        std::string_view name) const override;
};

}  // namespace sonde::importers::kineto
