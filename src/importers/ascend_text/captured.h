// Arguments of timeline events whose values the importer uses.
#pragma once

#include <array>
#include <cstddef>

#include "importers/trace_events/dialect.h"

namespace sonde::importers::text_import {

enum CapturedArgument : size_t {
  kConnectionId,
  kTaskType,
  kTaskId,
  kModelId,
  kLevel,
  kSequenceNumber,
  kForwardThread,
  kInputDims,
  kInputType,
  kCallStack,
  kDataType,
  kAlgorithm,
  kCount,
  kRankSize,
  kPlaneTaskType,
  kSourceRank,
  kTargetRank,
  kTransportType,
  kTransferBytes,
  kLinkType,
  kEventType,
  kDomain,
  kSubtaskId,
};

inline constexpr auto kCapturedKeys = std::to_array<trace_events::CapturedKey>({
    {"connection_id", false}, {"Task Type", true},   {"Task Id", false},
    {"Model Id", false},      {"level", true},       {"Sequence number", false},
    {"Fwd thread id", false}, {"Input Dims", true},  {"Input type", true},
    {"Call stack", true},     {"data_type", true},   {"alg_type", true},
    {"count", false},         {"rank_size", false},  {"task type", true},
    {"src rank", false},      {"dst rank", false},   {"transport type", true},
    {"size(Byte)", false},    {"link type", true},   {"event_type", true},
    {"domain", true},         {"Subtask Id", false},
});

}  // namespace sonde::importers::text_import
