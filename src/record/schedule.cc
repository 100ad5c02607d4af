#include "record/schedule.h"

namespace sonde::record {
namespace {

constexpr uint64_t Ops(uint64_t a = 0, uint64_t b = 0, uint64_t c = 0, uint64_t d = 0,
                       uint64_t e = 0) {
  return a | (b << 8) | (c << 16) | (d << 24) | (e << 32);
}

constexpr int kActions = 4;
constexpr int kExit = 4;  // column of exit and stop()

// Rows: previous action; columns: current action, then exit.
constexpr Transition kTable[kActions][kActions + 1] = {
    // NONE
    {{Ops(), 0},
     {Ops(SONDE_OP_INIT, SONDE_OP_WARMUP), 0},
     {Ops(SONDE_OP_INIT, SONDE_OP_START), 0},
     {Ops(SONDE_OP_INIT, SONDE_OP_START), 0},
     {Ops(), 0}},
    // WARMUP
    {{Ops(SONDE_OP_START, SONDE_OP_STOP, SONDE_OP_FINALIZE), 1},
     {Ops(), 0},
     {Ops(SONDE_OP_START), 0},
     {Ops(SONDE_OP_START), 0},
     {Ops(SONDE_OP_FINALIZE, SONDE_OP_DELETE), 4}},
    // RECORD
    {{Ops(SONDE_OP_STOP, SONDE_OP_FINALIZE), 2},
     {Ops(SONDE_OP_STOP, SONDE_OP_FINALIZE), 3},
     {Ops(), 0},
     {Ops(), 0},
     {Ops(SONDE_OP_STOP, SONDE_OP_FINALIZE, SONDE_OP_TRACE_READY), 5}},
    // RECORD_AND_SAVE
    {{Ops(SONDE_OP_STOP, SONDE_OP_FINALIZE, SONDE_OP_TRACE_READY), 0},
     {Ops(SONDE_OP_STOP, SONDE_OP_FINALIZE, SONDE_OP_TRACE_READY, SONDE_OP_INIT, SONDE_OP_WARMUP),
      0},
     {Ops(SONDE_OP_STOP, SONDE_OP_FINALIZE, SONDE_OP_TRACE_READY, SONDE_OP_INIT, SONDE_OP_START),
      0},
     {Ops(SONDE_OP_STOP, SONDE_OP_FINALIZE, SONDE_OP_TRACE_READY, SONDE_OP_INIT, SONDE_OP_START),
      0},
     {Ops(SONDE_OP_STOP, SONDE_OP_FINALIZE, SONDE_OP_TRACE_READY), 6}},
};

}  // namespace

int ScheduleAction(const sonde_schedule& schedule, int64_t step) {
  const int64_t wait = schedule.wait;
  const int64_t warmup = schedule.warmup;
  const int64_t length = wait + warmup + schedule.active;
  if (step < 0 || wait < 0 || warmup < 0 || schedule.active <= 0 || schedule.repeat < 0 ||
      schedule.skip_first < 0) {
    return -1;
  }
  if (step < schedule.skip_first) return SONDE_ACTION_NONE;
  int64_t position = step - schedule.skip_first;
  if (schedule.skip_first_wait != 0) position += wait;
  if (schedule.repeat > 0 && position / length >= schedule.repeat) return SONDE_ACTION_NONE;
  const int64_t in_cycle = position % length;
  if (in_cycle < wait) return SONDE_ACTION_NONE;
  if (in_cycle < wait + warmup) return SONDE_ACTION_WARMUP;
  return in_cycle == length - 1 ? SONDE_ACTION_RECORD_AND_SAVE : SONDE_ACTION_RECORD;
}

Transition ScheduleTransition(int previous, int current) {
  const int column = current == -1 ? kExit : current;
  if (previous < 0 || previous >= kActions || column < 0 || column > kExit) return {0, 0};
  return kTable[previous][column];
}

}  // namespace sonde::record
