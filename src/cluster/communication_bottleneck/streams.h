// Work of the host and the device of a rank, as streams to compare side by side with another
// rank. Pure, any thread. Units: nanoseconds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cluster/frame/mode.h"

namespace sonde::cluster {

struct StreamEvent {
  enum class Stream : uint8_t { kDevice, kFramework, kHostInterface };
  Stream stream = Stream::kDevice;
  std::string name;
  int64_t begin = 0;
  int64_t end = 0;
};

// A device task with the calls that led to it.
struct LaunchedTask {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t call_begin = 0;  // of the host interface
  int64_t call_end = 0;
  int64_t framework_end = 0;
};

// A mode of its own that no user sees: keeps both of each rank.
extern const Mode kStreamsMode;

// Where two streams drifted apart, seen backwards from a moment.
struct Drift {
  bool is_aligned = false;  // they were, at some moment before
  bool has_any = false;     // they have names in common
  std::string longest_name;
  int64_t longest_ns = 0;  // the greatest difference of durations
  std::string latest_name;
  int64_t latest_ns = 0;  // the greatest difference of begins
};
// Events of the slow and the fast rank before the operation, in the order of begin. `shift_ns` is
// added to times of the slow one.
Drift CompareStreams(const std::vector<const StreamEvent*>& slow,
                     const std::vector<const StreamEvent*>& fast, int64_t shift_ns);

}  // namespace sonde::cluster
