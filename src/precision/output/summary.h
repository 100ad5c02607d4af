// The summary of a comparison, to read before its tables: how much, how bad, where
// first.
//
// Pure, any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "precision/cause/first_cause.h"
#include "precision/compare/comparison.h"
#include "precision/dump/construct_file.h"

namespace sonde::precision {

struct Summary {
  uint64_t target_rows = 0;
  uint64_t matched = 0;
  uint64_t unmatched = 0;
  uint64_t golden_only = 0;
  uint64_t pass = 0;
  uint64_t warning = 0;
  uint64_t error = 0;
  // The first group, in the order of execution, that holds an error or warning; -1: none.
  int64_t first_bad_group = -1;
  // The worst row of that group.
  int64_t first_bad_row = -1;
  // The module it ran in; empty when construct.json does not name it.
  std::string module;
  bool outside = false;  // construct.json knows the call, and no module around it
};

// `construct` may be null.
Summary Summarize(const Comparison& comparison, const ConstructFile* construct);

// Values of both sides at the call where they first differ by cause (first_cause.h).
std::string CauseRows(const Comparison& comparison, const FirstCause& cause);

// Plain text of several lines: that cause, with its rows.
std::string CauseSummaryText(const Summary& summary, const FirstCause& cause,
                             std::string_view rows);

// The same with the first row that the reference's rules call an error or warning.
std::string SummaryText(const Comparison& comparison, const Summary& summary);

// One line of advice for the first bad place.
struct Advice {
  uint64_t line = 0;  // line of the result csv, 0: none
  std::string suspect;
  std::string text;
};
Advice Advise(const Comparison& comparison, const Summary& summary);

// The advice as the text file of the reference: Line, Suspect Nodes, Expert Advice.
std::string AdviceText(const Advice& advice);

}  // namespace sonde::precision
