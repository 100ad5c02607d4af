// What a rank itself did in each step that counts (trace/counted_steps.h), apart from its waiting
// for others.
//
//   step       on the device: from the step's begin on the host, or the end of the work that was
//              launched before it, whichever is later, to the same of the next one. Without steps
//              one, -1, from the first work to the last
//   own work   what others may have to wait for: kernels that compute, copies while nothing
//              computes or communicates, and idle time while nothing does any of these
//   exposed    the rest: communication while nothing computes; the device waits for it
//   late       idle time before work that the host launched after it had begun, or of which the
//              launch is not known
//   host       time of host slices, without that of those they enclose, while the device idled
//   unserved   of own work: the step's thread was ready to run, or a thread that it needs was, and
//              other programs had the processor. Where the host is the device of any own work,
//              else of late; at most what the thread's own processor time leaves of it. 0 where
//              the trace does not know the use of processors
// Texts of a rank are kept once (WorkTexts) and named by their place; rows of a step by the place
// of the step. Units: nanoseconds. Pure, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "recipes/launch/launch.h"
#include "recipes/trace/device_view.h"
#include "recipes/trace/part_needs.h"

namespace sonde::recipes::slow_rank {

// One behind the other: those of ten thousand ranks are in memory together.
struct WorkTexts {
  std::string joined = {};
  std::vector<uint32_t> ends = {};
  // "" for -1.
  std::string_view At(int32_t place) const {
    if (place < 0) return {};
    const auto at = static_cast<size_t>(place);
    const size_t begin = at == 0 ? 0 : ends[at - 1];
    return std::string_view(joined).substr(begin, ends[at] - begin);
  }
  // Returns its place.
  int32_t Add(std::string_view text) {
    joined += text;
    ends.push_back(static_cast<uint32_t>(joined.size()));
    return static_cast<int32_t>(ends.size()) - 1;
  }
  void ShrinkToFit() {
    joined.shrink_to_fit();
    ends.shrink_to_fit();
  }
};

// Of the whole rank, once.
struct WorkFacts {
  int64_t stage = -1;          // its place in its group of the pipeline; -1: not known
  std::string transfers = {};  // how it begins to send and receive, and with how many partners
  int64_t world = -1;          // ranks of the job; -1: not known
};

// Rows below refer to it by its place.
struct WorkStep {
  int64_t step = -1;
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  int64_t compute_ns = 0;
  int64_t copy_ns = 0;
  int64_t free_ns = 0;
  int64_t late_ns = 0;  // of free_ns
  int64_t exposed_ns = 0;
  int64_t unserved_ns = 0;       // of own_ns()
  int64_t unserved_late_ns = 0;  // of unserved_ns and late_ns
  double mhz = -1;  // mean frequency of the cores while they computed; -1: not recorded
  int64_t own_ns() const { return compute_ns + copy_ns + free_ns; }
};

enum class WorkKind : uint8_t { kCompute, kCopy };

// Tasks of one name and shape in a step.
struct WorkTasks {
  int32_t step = 0;
  int32_t name = 0;
  int32_t shapes = 0;  // "" where they are not known
  WorkKind kind = WorkKind::kCompute;
  int64_t count = 0;
  int64_t dur_ns = 0;
  int64_t ts = 0;  // of the longest
  int64_t longest_ns = -1;
};

struct WorkHost {
  int32_t step = 0;
  int32_t name = 0;
  int64_t self_ns = 0;
  int64_t ts = 0;  // of the longest
  int64_t longest_ns = -1;
};

// Own work from the begin of the operation before to that of this one, in the order of time; the
// last of a step has no operation.
struct WorkSegment {
  int32_t step = 0;
  int32_t operation = 0;  // its name; -1: end of the step
  int64_t begin_ns = 0;
  int64_t own_ns = 0;
};

struct WorkCollective {
  int32_t step = 0;
  int32_t group = 0;
  int32_t type = 0;
  int32_t name = 0;
  bool is_p2p = false;
  int64_t ts = 0;
  int64_t dur_ns = 0;
  int64_t transit_ns = -1;
  int64_t size_bytes = -1;
};

constexpr Needs WorkNeeds() {
  return (Reads<store::DeviceTaskRow, store::CommunicationOpRow, store::CommunicationGroupRow,
                store::StepRow, store::FrameworkOpRow, store::OpSignatureRow>() |
          ReadsCoreFrequency() | LaunchTimes::kNeeds)
      .WithOrder();
}

struct RankWork {
  int64_t run = 0;     // traces of one launch have one number
  int64_t rank = -1;   // global; -1: not known
  int64_t trace = -1;  // for Finding::trace
  WorkTexts texts = {};
  std::tuple<std::vector<WorkFacts>, std::vector<WorkStep>, std::vector<WorkTasks>,
             std::vector<WorkHost>, std::vector<WorkSegment>, std::vector<WorkCollective>>
      rows = {};

  template <class Row>
  std::vector<Row>& Rows() {
    return std::get<std::vector<Row>>(rows);
  }
  template <class Row>
  const std::vector<Row>& Rows() const {
    return std::get<std::vector<Row>>(rows);
  }
};

// `step_id`: of the only step that is wanted; -1: all. Without rows where no device work was
// recorded.
RankWork WorkOf(const DeviceView& view, int64_t step_id = -1);

}  // namespace sonde::recipes::slow_rank
