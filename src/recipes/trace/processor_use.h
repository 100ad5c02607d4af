// Is it the program or the machine: how long of a step other programs had the processor.
//
//   unserved  the step's thread was ready to run and waited for a processor, or another thread of
//             its process was taken off one: how long that waited is not recorded, a turn of
//             another program is counted. At most what the thread's own processor time leaves
// 0 where the trace does not know the use of processors. Waiting by the program's own will (for
// data, another rank, a lock, a device) is no part of it. Units: nanoseconds. Pure, any thread.
#pragma once

#include <algorithm>
#include <cstdint>

#include "store/rows.h"

namespace sonde::recipes {

inline constexpr int64_t kTurnNs = 4'000'000;

// Of all parts of a step together.
class StepUse {
 public:
  void Add(const store::StepRow& step) {
    is_known_ = (is_known_ || count_ == 0) && step.processor_ns >= 0;
    ++count_;
    thread_ns_ += std::max<int64_t>(step.processor_ns, 0);
    wait_ns_ += std::max<int64_t>(step.processor_wait_ns, 0);
    other_switches_ += std::max<int64_t>(
        step.process_involuntary_switches - std::max<int64_t>(step.involuntary_switches, 0), 0);
  }

  bool is_known() const { return is_known_; }
  // Of its thread, user and system; -1: not known.
  int64_t thread_ns() const { return is_known_ ? thread_ns_ : -1; }
  // Of a stretch of the step.
  int64_t UnservedNs(int64_t of_ns) const {
    if (!is_known_) return 0;
    return std::clamp<int64_t>(wait_ns_ + other_switches_ * kTurnNs, 0,
                               std::max<int64_t>(of_ns - thread_ns_, 0));
  }

 private:
  int64_t count_ = 0;
  int64_t thread_ns_ = 0;
  int64_t wait_ns_ = 0;
  int64_t other_switches_ = 0;  // of the process's other threads
  bool is_known_ = false;
};

}  // namespace sonde::recipes
