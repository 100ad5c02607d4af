// Profiler actions by step number, and the operations when the action changes.
//
// The formulas and the table are those of docs/reference/schedule.md. Pure functions, any thread.
#ifndef SONDE_RECORD_SCHEDULE_H_
#define SONDE_RECORD_SCHEDULE_H_

#include <cstdint>

#include "sonde/sonde.h"

namespace sonde::record {

// SONDE_ACTION_...; -1 when step is negative or a field of the schedule is impossible.
int ScheduleAction(const sonde_schedule& schedule, int64_t step);

struct Transition {
  uint64_t operations;  // SONDE_OP_..., one per byte from the lowest, ended by 0
  int warning;          // 0, or n for Wn
};

// current -1: exit or stop().
Transition ScheduleTransition(int previous, int current);

}  // namespace sonde::record

#endif  // SONDE_RECORD_SCHEDULE_H_
