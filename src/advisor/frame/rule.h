// A rule of the advisor, as its file has it (rules/*.yaml; docs/how-to/add-an-advisor-rule.md).
//
// A rule asks the tables of one trace, or of all, by SQL: `rows` are what it found, the rows of its
// sheet; `facts` is one row about them, with which its texts are filled. Names in braces are
// replaced before: limits, lists, texts and facts of the trace (facts.h). Values; pure, any
// thread. Errors: a file that is no rule, with its name and the fault.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "recipes/finding/finding.h"

namespace sonde::advisor {

using recipes::Language;

struct Text {
  std::string english;
  std::string chinese;
  const std::string& In(Language language) const {
    return language == Language::kChinese ? chinese : english;
  }
};

struct RuleLimit {
  std::string name;
  std::string value;  // as written: it stands in statements
  std::string unit;
  std::string source;
};

struct Suggestion {
  Text text;
  std::string fact;  // shown where this one is true; "": always
};

// A further sheet; those of one name are one.
struct MoreRows {
  Text sheet;
  std::string rows;
};

// Where an advice stands in the report.
enum class Section : uint8_t {
  kOverall,
  kComparison,
  kMemory,
  kCommunication,
  kComputation,
  kDataloader,
  kSchedule,
  kServing,
};
inline constexpr size_t kSections = 8;
std::string_view NameOf(Section section);

enum class Scope : uint8_t {
  kTrace,  // asked of one trace
  kJob,    // asked of the tables of all ranks
};

struct Rule {
  std::string name;
  Section section = Section::kOverall;
  Section dimension = Section::kOverall;  // of the command line
  Scope scope = Scope::kTrace;
  int64_t order = 0;               // in the report
  bool is_reference = false;       // msprof-analyze has it
  double confidence = 1;           // 1: counted and not concluded
  std::vector<std::string> needs;  // tables with a row, or facts of the trace
  Text title;
  Text rank_title;  // of several ranks; empty: `title`
  Text sheet;       // empty: the title
  Text rank_sheet;  // of several ranks; empty: "Rank N " and the title
  Text block;       // title in the report; empty: `title`
  std::vector<RuleLimit> limits;
  std::vector<std::pair<std::string, Text>> texts;
  std::vector<std::pair<std::string, std::string>> lists;  // name, "(..), (..)" for VALUES
  std::vector<std::string> uses;  // shared tables, in the order in which they need each other
  std::string with;               // common table expressions
  std::string rows;
  std::string facts;
  std::vector<MoreRows> more;
  bool speaks_without_rows = false;  // else it is silent where `rows` has none
  std::string function;              // instead of `rows` and `facts`: functions.h
  std::string statement;             // of a function: shows with `sonde query` what it judged
  Text description;
  std::vector<Suggestion> suggestions;
  std::string priority;  // high, medium, low, "" for none, or the fact that holds it
  Text gain;             // how the gain is estimated
};

// A table that statements of several rules use; of those of one name the first holds of which the
// trace has what it needs.
struct SharedTable {
  std::string name;
  std::vector<std::string> needs;
  std::string sql;
};

struct RuleBook {
  std::vector<Rule> rules;  // in the order of the report
  std::vector<SharedTable> tables;
};

// `source` stands in messages.
Result<Rule> ParseRule(const std::string& text, std::string_view source);
// The rule or, where that is what the file has, the tables.
Status AddFile(const std::string& text, std::string_view source, RuleBook& book);

// Those of the program, and of the folders of the user, which replace ours of the same name.
Result<RuleBook> LoadRules(const std::vector<std::string>& folders);

}  // namespace sonde::advisor
