// The share of a trace that its analyses cover: of the records, the slices, the time of the device,
// the links, the requests. A row is there where there is something to be covered.
//
//   records       slices that are in the trace, of those and the records that were lost
//   slices        those that ended, of all; the others had not when recording did
//   device_time   that of kernels that belong to a step, where the trace has steps
//   device_tasks  kernels whose call of the host is known
//   launches      calls of the host that give a device work, and have any in the trace
//   backward      backward operators whose forward operator is known
//   requests      those whose begin and end were recorded
// Units: those of the row. Pure, any thread.
#pragma once

#include <string_view>
#include <vector>

#include "recipes/trace/device_view.h"
#include "store/result_info.h"

namespace sonde::recipes {

#define SONDE_COLUMNS_COVERAGE(C)                                                          \
  C(what, Text, "", KeyOf("coverage"),                                                     \
    "records, slices, device_time, device_tasks, launches, backward or requests; see "     \
    "docs/how-to/read-findings.md")                                                        \
  C(covered, Int, "", kMore, "how much of it the analyses speak for; nanoseconds of time") \
  C(total, Int, "", kNeither, "of how much")                                               \
  C(share_percent, Double, "%", kMore, "the share")
SONDE_RESULT(CoverageRow, kCoverage, "coverage", SONDE_COLUMNS_COVERAGE,
             "a share of the trace that its analyses cover")

std::vector<CoverageRow> Coverage(const DeviceView& view);

}  // namespace sonde::recipes
