// A copy of a profiler's database with a part of its rows.
//
//   moments     of tables with a begin (startNs, timestampNs, ...): what begins in the window
//   short ones  kernels (TASK) and calls (PYTORCH_API, CANN_API) that take less than `min_dur_ns`
//               go; calls that lead to kept rows stay, whenever they begin
//   details     rows that belong to a task, a call or a stack stay with it
//   texts       STRING_IDS keeps those that a remaining number may mean
//   tables      those of `tables` alone, and those that give the meaning of numbers; empty: all
// Tables that are not known here are kept whole or by their begin; communication operations do not
// go by length, since the other ranks have the same ones. Columns, types and indices are those of
// the source, which is only read. Units: nanoseconds. One thread. Errors: Status with SQLite's
// text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "cluster/frame/mode.h"

namespace sonde::cluster {

struct SmallerOptions {
  StepWindow window;
  int64_t min_dur_ns = 0;
  std::vector<std::string> tables;
};

struct SmallerDb {
  uint64_t bytes_before = 0;
  uint64_t bytes_after = 0;
  int64_t rows_before = 0;
  int64_t rows_after = 0;
  std::vector<std::string> tables;  // of the source
};

// `target` is made.
Result<SmallerDb> WriteSmallerDb(const std::string& source, const std::string& target,
                                 const SmallerOptions& options);

// analysis.db, whose rows are of whole steps: those of step `step_id`; -1: all.
Status WriteStepOfAnalysis(const std::string& source, const std::string& target, int64_t step_id);

}  // namespace sonde::cluster
