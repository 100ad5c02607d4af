// The members of a JSON object that is known to be complete (see SkipContainer).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "importers/trace_events/json_text.h"

namespace sonde::importers::trace_events {

struct JsonValue {
  std::string_view text;  // of a string: without its quotes, still escaped
  bool is_string = false;
  bool escaped = false;
  std::string Text() const { return escaped ? Unescape(text) : std::string(text); }
};

// The value at `p`, and behind it; nullptr where it is none or does not end.
inline const char* ReadJsonValue(const char* p, const char* end, JsonValue& value) {
  int64_t repaired = 0;
  value = JsonValue();
  if (p < end && *p == '"') {
    const StringEnd string = FindStringEnd(p + 1, end);
    if (string.quote == nullptr) return nullptr;
    value = {{p + 1, static_cast<size_t>(string.quote - p) - 1}, true, string.escaped};
    return string.quote + 1;
  }
  const char* behind = SkipValue(p, end, repaired);
  if (behind != nullptr) value.text = {p, static_cast<size_t>(behind - p)};
  return behind;
}

// To the next byte that is no separator.
inline const char* SkipSeparators(const char* p, const char* end) {
  p = SkipSpace(p, end);
  while (p < end && *p == ',') p = SkipSpace(p + 1, end);
  return p;
}

// Calls take(key, key_escaped, value) for each member of the text between the braces of an object;
// ends early where it is no JSON. Returns whether all of it was.
template <class Take>
bool ForEachMemberIn(std::string_view inside, Take&& take) {
  const char* p = inside.data();
  const char* const end = p + inside.size();
  while (true) {
    p = SkipSeparators(p, end);
    if (p >= end) return true;
    JsonValue key;
    JsonValue value;
    if (*p != '"') return false;
    p = ReadJsonValue(p, end, key);
    if (p == nullptr) return false;
    p = SkipSpace(p, end);
    if (p >= end || *p != ':') return false;
    p = ReadJsonValue(SkipSpace(p + 1, end), end, value);
    if (p == nullptr) return false;
    take(key.text, key.escaped, value);
  }
}

// `object` is a text from '{' to its '}'.
template <class Take>
bool ForEachMember(std::string_view object, Take&& take) {
  return ForEachMemberIn(object.substr(1, object.size() - 2), std::forward<Take>(take));
}

inline std::optional<JsonValue> FindMember(std::string_view object, std::string_view key) {
  std::optional<JsonValue> found;
  ForEachMember(object, [&](std::string_view name, bool, const JsonValue& value) {
    if (name == key && !found) found = value;
  });
  return found;
}

// The same in a text that begins with '{' and may have been cut off before its '}'.
inline std::optional<JsonValue> FindMemberIn(std::string_view begun, std::string_view key) {
  std::optional<JsonValue> found;
  ForEachMemberIn(begun.substr(1), [&](std::string_view name, bool, const JsonValue& value) {
    if (name == key && !found) found = value;
  });
  return found;
}

// Calls take(value) for each element of `array`, a text from '[' to its ']'.
template <class Take>
bool ForEachElement(std::string_view array, Take&& take) {
  const char* p = array.data() + 1;
  const char* const end = array.data() + array.size() - 1;
  while (true) {
    p = SkipSeparators(p, end);
    if (p >= end) return true;
    JsonValue value;
    p = ReadJsonValue(p, end, value);
    if (p == nullptr) return false;
    take(value);
  }
}

}  // namespace sonde::importers::trace_events
