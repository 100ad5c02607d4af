// Values that a Python program printed: what repr() writes of None, numbers, texts, lists and
// dicts, and the same in JSON.
//
// Errors: Status with the byte where the text stops to be such a value. Threads: values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace sonde::precision {

struct PythonValue {
  enum class Kind : uint8_t { kNone, kBool, kInt, kFloat, kText, kList, kDict };
  Kind kind = Kind::kNone;
  bool truth = false;  // kBool
  std::string text;    // kText; kInt, kFloat: as written
  std::vector<PythonValue> items;
  struct Member;
  std::vector<Member> members;

  std::string Repr() const;
  // Indented by two blanks a level, as json.dump() does it.
  std::string Json() const;
  // ==, so True is 1 and 1 is 1.0.
  friend bool operator==(const PythonValue& a, const PythonValue& b);
};

struct PythonValue::Member {
  std::string key;
  PythonValue value;
};

// `consumed` receives how many bytes the value took; what stands behind it is not read.
Result<PythonValue> ParsePythonValue(std::string_view text, size_t* consumed);

// The part of a line that can belong to such a value: up to the first thing that is none, and then
// back to the last comma.
std::string_view ValuePart(std::string_view line);

// How many brackets of any kind the text leaves open; negative: it closes others.
int64_t OpenBrackets(std::string_view text);

// A scalar as YAML reads it: true, 3, 1e-6, null, else a text.
PythonValue PythonValueOfYaml(std::string_view scalar);

// Leaves by their path: {"a": {"b": 1}} is ("a/b", 1). Empty dicts and lists are leaves.
std::vector<std::pair<std::string, const PythonValue*>> LeavesOf(const PythonValue& value);

}  // namespace sonde::precision
