// When the event loop of a front-end stood still, and what held it.
// Units: nanoseconds. Pure, any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "recipes/intervals.h"
#include "store/row_tables.h"

namespace sonde::recipes {

// From an appointment of the loop to when it kept it. Of the loop's thread: -1 where the recorder
// did not note it.
struct LoopPause {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  bool collects = false;           // garbage, for half of it or more
  int64_t processor_ns = -1;       // it ran
  int64_t processor_wait_ns = -1;  // it was ready to run, others had the processor
  int64_t major_faults = -1;       // pages that its process waited for

  int64_t Length() const { return end_ns - start_ns; }
  // What of the pause was this, in order and without overlap: the rest is the loop's own.
  int64_t WaitedForProcessor() const;
  int64_t WaitedForPages() const;
};

// By time; those that touch are one. Uses counter, track, slice and the names.
std::vector<LoopPause> LoopPauses(const store::RowTables& tables);

}  // namespace sonde::recipes
