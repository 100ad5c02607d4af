// The work of a thread where the CPU is the device: the own time of each operator, without the
// operators that it calls.
//
// The tasks of an outermost operator and of all operators inside of it follow one another in the
// order in which the operators began, from its begin to its end. Nothing overlaps, and the sum is
// the time that the thread spent in operators. An operator that calls others is shown with all its
// own time before them. Collectives are no work: their time is left free, including operators
// inside of them. Units: nanoseconds. One thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sonde::importers {

// Id: the caller's identifier of an operator.
template <class Id>
class OwnTime {
 public:
  // Operators of one track come in the order of begin, outer ones before those inside. Calls
  // task(ts, dur, id) for those that are complete.
  template <class Task>
  void Take(int64_t ts, int64_t end, Id id, bool is_work, const Task& task) {
    while (!open_.empty() && calls_[open_.back()].end <= ts) open_.pop_back();
    if (open_.empty()) {
      End(task);
    } else {
      Call& outer = calls_[open_.back()];
      if (!outer.is_work) return;
      outer.own_ns -= end - ts;
    }
    open_.push_back(calls_.size());
    calls_.push_back({ts, end, end - ts, id, is_work});
  }

  // The rest, at the end of the track.
  template <class Task>
  void End(const Task& task) {
    int64_t begin = calls_.empty() ? 0 : calls_.front().ts;
    for (const Call& call : calls_) {
      if (!call.is_work) {
        begin = std::max(begin, call.end);
        continue;
      }
      const int64_t dur = std::max<int64_t>(call.own_ns, 0);
      task(begin, dur, call.id);
      begin += dur;
    }
    calls_.clear();
    open_.clear();
  }

 private:
  struct Call {
    int64_t ts;
    int64_t end;
    int64_t own_ns;
    Id id;
    bool is_work;
  };
  std::vector<Call> calls_;   // from the outermost on that is open now
  std::vector<size_t> open_;  // of them, outermost first
};

}  // namespace sonde::importers
