// Flows from their ends. The ends of one key are taken in the order of time. An arriving end
// belongs to the last that left before it, or else to the first that leaves after it (the clocks of
// host and device differ a little). So several may arrive of one that left, as the kernels of a
// graph do of its launch. Of one that leaves again before any arrived, only the last counts
// (Perfetto takes the first of all, and counts the others, too).
//
// Keys are scattered over the file. Large lists are processed in parts, by a hash of the key, so
// that the tables of a part fit in memory. Memory: about 40 bytes an end of a part and 16 a flow,
// from the pool. One thread.
#pragma once

#include <cstdint>
#include <vector>

#include "base/host/spill.h"
#include "importers/trace_events/event_blocks.h"
#include "importers/trace_events/staged_events.h"

namespace sonde::importers::trace_events {

class FlowPairs {
 public:
  struct Flow {
    int64_t ts;     // of its begin
    uint32_t from;  // places, in the order of the file
    uint32_t to;
  };
  static constexpr size_t kPartEnds = size_t{1} << 20U;

  FlowPairs(const Blocks<FlowEnd>& list, base::SpillPool* pool, size_t part_ends = kPartEnds);

  // By time, those of one moment in the order of the file.
  const base::SpillVector<Flow>& flows() const { return flows_; }
  // Ends without another.
  int64_t unpaired() const { return unpaired_; }
  // Ends that left, and left again before any arrived.
  int64_t repeated() const { return repeated_; }

 private:
  struct End {
    uint64_t key;
    int64_t ts;
    uint32_t place;
    char phase;
  };
  static bool IsBefore(const End& a, const End& b);
  void TakePart(const base::SpillVector<End>& part, base::SpillPool* pool);
  void TakeGroup(const std::vector<const End*>& ends);

  base::SpillVector<Flow> flows_;
  int64_t unpaired_ = 0;
  int64_t repeated_ = 0;
};

}  // namespace sonde::importers::trace_events
