// What a task of a device is, for all who ask: from what importers fill in (core, type of the
// task), which look at the host's call around it, and at names (store/collectives.h).
//
// Of a communication its type stands in communication_op.op_type. A CPU that does the work itself
// has operators as tasks: those that start collectives communicate. Pure, any thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "recipes/intervals.h"
#include "recipes/trace/device_view.h"

namespace sonde::recipes {

enum class Work : uint8_t {
  kComputing,
  kCommunication,
  kCopy,
  kFill,
  kSynchronisation,  // events, notifies
  kOther,
};

// Texts as the table task_kind has them; "" for a core that is NULL.
Work MeaningOf(std::string_view core, std::string_view task_type, std::string_view name);
// By kind_id.
std::vector<Work> MeaningsOf(const TraceData& data);

// Where a copy leads: "host to device", "device to host", "device to device", "host to host",
// "peer to peer", or "unknown" where its name has none.
std::string_view DirectionOf(std::string_view copy_name);

// What copies and fills of a device add to a step.
struct CopyTimes {
  int64_t copying_ns = 0;  // while nothing was computed or communicated
  int64_t idle_ns = 0;     // between first begin and last end of all three: none of them
};
// Of the steps of a device, in their order. A copy belongs to the step that launched it; where
// that is unknown, to that in whose time it begins.
std::vector<CopyTimes> CopyTimesOf(const DeviceView& view, size_t device);

// When a device copied or filled memory, whatever else it did meanwhile; merged.
std::vector<Interval> CopiesOf(const DeviceView& view, size_t device);

// When a device did nothing at all between the first and the last of its work: it neither computed,
// communicated nor copied. Merged.
std::vector<Interval> IdleOf(const DeviceView& view, size_t device);

// Copies of all devices by direction, the longest sum first.
struct CopySum {
  std::string_view direction;
  int64_t count = 0;
  int64_t total_ns = 0;
};
std::vector<CopySum> SumCopies(const DeviceView& view);

}  // namespace sonde::recipes
