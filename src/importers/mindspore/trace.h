// Records of MindSpore's recorders on their way into rows, and a function for each kind of file.
//
// Ranges of threads become slices, framework ops (scope 2: ranges of the framework) and, where they
// are launches of kernels on the CPU, device tasks. A record called "flow" is the moment at which a
// thread passes a task to another; it is joined with the task of the same number. Bad lines and
// records are counted. Units: nanoseconds. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "importers/ascend/span.h"
#include "importers/mindspore/files.h"
#include "importers/rows/trace_rows.h"

namespace sonde::importers::mindspore {

inline constexpr uint64_t kNoFlow = UINT64_MAX;

struct Range {
  int64_t pid = 0;
  int64_t tid = 0;
  int64_t begin = 0;
  int64_t end = 0;
  uint64_t flow = kNoFlow;
  std::string_view name;
  std::string_view category;  // module, or "stage"
};

class RangeRows {
 public:
  explicit RangeRows(TraceRows& rows) : rows_(rows) {}

  // Index of the slice.
  int32_t Add(const Range& range, capture::Scope scope);
  // A launch of `kernel` on the CPU, whose slice is known.
  void AddLaunch(int32_t slice, std::string_view kernel);
  void AddHandOver(const Range& range);
  // Joins the hand-overs; the last call.
  void Finish();

 private:
  struct End {
    uint64_t flow;
    int64_t ts;
    int32_t thread;
    int32_t slice;  // of the task; -1: the moment of the hand-over
  };
  int32_t Thread(const Range& range) { return rows_.Thread(rows_.Process(range.pid), range.tid); }
  void FindSlices();

  TraceRows& rows_;
  std::vector<int32_t> threads_;  // of the slices
  std::vector<End> ends_;
};

// "Default/layers-CellList/0-Block/qkv-Dense/MatMul-op0" -> "Default/layers-CellList/..."; "" none
std::string_view ScopePath(std::string_view name);

// cpu_op_execute_timestamp_*.txt, with shapes where `launches` names the same launches.
void ReadOperators(const SpanFile& file, std::string_view text, std::string_view launches,
                   int64_t pid, TraceRows& rows);
void ReadMemoryRecord(const SpanFile& file, std::string_view text, int32_t process_id,
                      TraceRows& rows);
// RuntimeProfilerDetail*.csv; `json`: the RuntimeProfilerJson of the same records, may be "".
void ReadRuntimeProfile(const SpanFile& file, std::string_view text, std::string_view json,
                        RangeRows& ranges, TraceRows& rows);

// Ticks of the processor's counter to nanoseconds of the Unix epoch.
struct TickClock {
  bool is_known = false;
  uint64_t start_ticks = 0;
  int64_t start_ns = 0;
  int64_t kilohertz = 0;
  int64_t ToNs(uint64_t ticks) const;
};
TickClock ReadClock(const std::vector<SpanFile>& files);
// mindspore.op_range
void ReadOpRange(const SpanFile& file, std::string_view bytes, const TickClock& clock,
                 RangeRows& ranges, TraceRows& rows);

}  // namespace sonde::importers::mindspore
