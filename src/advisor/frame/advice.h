// An advice: the result of a rule for a run, with its evidence. Values, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "advisor/frame/fill.h"
#include "advisor/frame/rule.h"

namespace sonde::advisor {

enum class Priority : uint8_t { kNone, kLow, kMedium, kHigh };

struct AdviceSheet {
  std::string name;
  std::vector<std::string> columns;
  std::vector<std::vector<Value>> rows;
  std::vector<int64_t> slices;  // in which one sees each row, -1 nowhere; empty: of none
};

// Its evidence. Without a time that was measured, and without an estimate, both are NaN.
struct Evidence {
  int64_t occurrences = 0;
  double total_us = 0;
  double gain_us = 0;
  std::string gain_formula;  // in words
  int64_t place_slice = -1;  // slice in which one sees it; -1: nowhere
  // What `sonde query` shows it with, of the advice's path; "" of a rule of the user's function.
  std::string statement;
  std::string baseline;  // trace for its --baseline; "": none
};

struct Advice {
  const Rule* rule = nullptr;
  int64_t rank = -1;   // -1: the only one, or all
  std::string path;    // of the trace
  int32_t trace = -1;  // its number in the job; -1: all
  std::string title;
  std::string block;  // title in the report
  std::string description;
  std::vector<std::string> suggestions;
  Priority priority = Priority::kNone;
  // Columns of the reference: empty where a rule has none.
  Value problem_count;
  Value total_us;
  Value time_ratio;
  AdviceSheet sheet;  // without rows: none
  std::vector<AdviceSheet> more_sheets;
  std::vector<std::string> tuned_ops;  // for the operator tuner
  Evidence evidence;
  // A row of the reference's files that another advice contradicts: terminal and page leave it out.
  bool is_for_files = false;
};

// A rule that was not asked, or failed.
struct Silence {
  std::string rule;
  std::string why;
  bool is_failure = false;
};

}  // namespace sonde::advisor
