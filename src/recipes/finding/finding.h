// Findings of analyses in words: for the terminal, the files, statements and the page alike.
//
// A rule makes findings; texts.inc has their texts in both languages, limits.h the limits of the
// rules with their source. A finding carries the key of its text and the arguments, so that whoever
// shows it chooses the language. Units: that of `value` and `limit` is next to them. Pure, any
// thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "recipes/trace/device_view.h"
#include "store/result_info.h"

namespace sonde::recipes {

enum class Language : uint8_t { kEnglish, kChinese };

// What importers advise about their issues.
struct Advice {
  std::string_view english;  // as the table import_issue has it
  std::string_view chinese;
};
std::vector<Advice> KnownAdvice();

struct Finding {
  std::string_view rule;
  std::string severity;   // error, warning or info
  double confidence = 1;  // 0 to 1: 1 where it was counted and not concluded
  int64_t rank = -1;      // -1: of the whole trace, or of several
  int64_t step = -1;
  std::string subject;  // its topic: a code, a request, a share
  double value = 0;
  std::string_view unit;
  double limit = 0;
  std::string text_key;
  std::vector<std::string>
      arguments;         // what begins with '@' is a key with its arguments, '|' apart
  std::string evidence;  // statement whose rows show it
  int64_t trace = -1;    // of several traces the one that it is about
};

#define SONDE_COLUMNS_FINDING(C)                                                   \
  C(rule, Text, "", KeyOf("rule"), "what found it")                                \
  C(severity, Text, "", kLabel, "error, warning or info")                          \
  C(confidence, Double, "", kLabel, "0 to 1; 1: it was counted and not concluded") \
  C(rank, Opt, "", KeyOf("rank"), "rank that it is about")                         \
  C(step_id, Opt, "", KeyOf("step"), "step that it is about")                      \
  C(subject, Text, "", KeyOf("subject"), "its topic: a code, a request, a share")  \
  C(value, Double, "", kNeither, "what was measured, in the unit of the row")      \
  C(unit, Text, "", kLabel, "of value and limit")                                  \
  C(limit_value, Double, "", kLabel, "from which on the rule speaks")              \
  C(text_key, Text, "", kLabel, "of its text in src/recipes/finding/texts.inc")    \
  C(arguments, Text, "", kLabel, "what the text is filled with, a JSON list")      \
  C(evidence, OptText, "", kLabel, "statement whose rows show it")                 \
  C(message, Text, "", kLabel, "the text in English")
SONDE_RESULT(FindingRow, kFinding, "finding", SONDE_COLUMNS_FINDING,
             "a finding of an analysis, in words")

inline constexpr Needs kFindingNeeds =
    Reads<store::RequestRow, store::EngineStepRow, store::RequestStepRow, store::CommunicationOpRow,
          store::CommunicationGroupRow, store::FlowRow, store::StepRow, store::SliceRow,
          store::FrameworkOpRow, store::DeviceTaskRow, store::CounterRow>()
        .WithDeviceTimes();

// The text of a key; "" where there is none. Advice of import issues is its own key.
std::string FilledText(std::string_view key, const std::vector<std::string>& arguments,
                       Language language);
std::string TextOf(const Finding& finding, Language language);
void WriteFinding(const Finding& finding, store::RowSink& rows);

// Of one trace: import issues, coverage, slow requests. Those of several: slow_rank.h.
std::vector<Finding> FindingsOf(const DeviceView& view);

}  // namespace sonde::recipes
