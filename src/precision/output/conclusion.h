// One line for all steps and ranks of a comparison: where the runs first differ, why, at which
// source line; and one more for each step or rank that this does not explain.
//
// Pure, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "precision/cause/first_cause.h"
#include "precision/compare/comparison.h"
#include "precision/dump/stack_file.h"

namespace sonde::precision {

// What one pair of ranks contributes.
struct PairFinding {
  bool is_compared = false;  // false: the comparison failed
  int64_t step = 0;
  int64_t rank = 0;
  bool is_training = false;
  FirstCause cause;    // its rows are gone
  std::string detail;  // "0.01 against 1e-06" of an argument; empty: none
  std::string source;  // "modeling_qwen3.py:60"; empty: unknown
  int64_t row = -1;    // of the table of results, that a finding is about; -1 none
};

struct Conclusion {
  bool differs = false;
  size_t first = 0;                  // index of the finding that comes first, where differs
  std::string line;                  // without a line break
  std::vector<std::string> further;  // findings that the first does not explain
};
Conclusion ConcludeAll(const std::vector<PairFinding>& pairs);

// Both values of an argument that differs; empty for other findings. While the dumps are there.
std::string DetailOf(const FirstCause& cause, Mode mode);

// File and line of the program that made the call: the innermost frame outside of torch and Sonde.
// Empty: unknown.
std::string SourceOf(const StackFile& stack, std::string_view api);

}  // namespace sonde::precision
