// Evaluates a rule for a trace: whether it fires, and its advice.
//
// The statement `facts` gives one row over the rows of `rows`, which it knows as the table `found`.
// Of its columns these mean something to the frame: fires (else: occurrences > 0), occurrences,
// total_us, gain_us, place_slice, priority, problem_count, problem_us, problem_ratio,
// tuned_ops (names, line by line); all fill the texts. Columns of `rows` whose name begins with '_'
// are not in the sheet; `_slice` is the place of a row. Threads: any, each call for itself. Errors:
// a statement that the database refuses, a text that names what is not known; they name the rule.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "advisor/frame/advice.h"
#include "advisor/frame/rule.h"
#include "base/status.h"
#include "store/queryable.h"

namespace sonde::advisor {

// Facts and sheets of a rule with a function.
struct Found {
  Values facts;
  std::vector<AdviceSheet> sheets;
  bool is_for_files = false;  // Advice::is_for_files
  std::string baseline;       // Evidence::baseline
};
using Function = std::function<Result<Found>(const Rule& rule)>;

struct Question {
  const store::Queryable* store = nullptr;  // not owned
  Values values;                            // facts of the trace, options of the command line
  Language language = Language::kChinese;
  int64_t rank = -1;  // of several: titles name it
  std::string path;
  int32_t trace = -1;  // number in the job
  std::map<std::string, Function, std::less<>> functions;
  std::map<std::string, std::string, std::less<>> tables;  // shared ones, by name: their statement
  // Of those that were made next to the store (tables.h): how `sonde query` asks for them.
  std::map<std::string, std::string, std::less<>> statements;
  // Of tables of the trace (tables.h): whether the copy could be made.
  std::map<std::string, bool, std::less<>> copies;
};

// None where the rule does not fire.
Result<std::optional<Advice>> Evaluate(const Rule& rule, const Question& question);

}  // namespace sonde::advisor
