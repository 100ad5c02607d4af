// Leaves out impossible times (common/impossible_times.h); part of EventStage.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>

#include "importers/trace_events/stage.h"

namespace sonde::importers::trace_events {

class ImpossibleTimes {
 public:
  explicit ImpossibleTimes(EventStage& stage) : stage_(stage) {}

  // Events that are far from the others get no track (slices, counters) or the mark left_out
  // (instants); durations that end a day behind all begins become zero.
  void LeaveOutApart();
  // Where the track, whose slices these are in order of begin, runs them in order: durations of
  // those that run over later ones become zero. True where there was one: they are to be ordered
  // again.
  bool RepairOverruns(std::span<const uint32_t> places);

 private:
  std::string Describe(const StagedSlice& slice) const;
  std::string WithThread(int32_t name, int32_t thread) const;
  bool RunsInOrder(const StagedSlice& slice);

  EventStage& stage_;
};

}  // namespace sonde::importers::trace_events
