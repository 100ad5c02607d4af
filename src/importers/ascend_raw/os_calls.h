// Calls of the operating system and of its thread library by the process that was profiled, as
// perf trace and ltrace print them (host_syscall.data, host_pthreadcall.data).
//
// Their clocks are unrelated to those of the records: the first call of each file is assumed to
// begin when recording began, as in the vendor's tool. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "importers/ascend_raw/clock.h"
#include "importers/ascend_raw/record_stream.h"
#include "importers/rows/trace_rows.h"

namespace sonde::importers::raw {

// Nanoseconds of their own clock.
struct OsCall {
  int64_t begin = 0;
  int64_t dur = 0;
  int64_t tid = -1;  // -1: the only thread
  std::string_view name = {};
};
// " 12.345 ( 0.011 ms): python/4242 futex(...) = 0"; nothing for an incomplete call.
std::optional<OsCall> ReadSystemCall(std::string_view line);
// "[pid 4242] 1234.567890 lib.so->pthread_join(...) = 0 <0.000012>".
std::optional<OsCall> ReadThreadCall(std::string_view line);

class OsCalls {
 public:
  // `pid`: of the process that was profiled.
  OsCalls(TraceRows& rows, const Clock& clock, int64_t pid)
      : rows_(rows), clock_(clock), pid_(pid) {}

  // False where nothing is made of the stream.
  bool Read(const Stream& stream);

 private:
  int32_t TrackOf(int64_t tid, bool is_system);

  TraceRows& rows_;
  const Clock& clock_;
  int64_t pid_;
  std::map<std::pair<int64_t, bool>, int32_t> tracks_;  // by thread and file
};

}  // namespace sonde::importers::raw
