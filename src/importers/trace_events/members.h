// The members of a JSON object that is known to be whole (see SkipContainer).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "importers/trace_events/json_text.h"

namespace sonde::importers::trace_events {

struct JsonValue {
  std::string_view text;  // of a string: without its quotes, still escaped
  bool is_string = false;
  bool escaped = false;
  bool IsContainer() const { return !is_string && (text[0] == '{' || text[0] == '['); }
  std::string Text() const { return escaped ? Unescape(text) : std::string(text); }
};

// Calls take(key, key_escaped, value) for each member of `object`, a text from '{' to its '}'; ends
// early where the inside is no JSON. Returns whether all of it was.
template <class Take>
bool ForEachMember(std::string_view object, Take&& take) {
  const char* p = object.data() + 1;
  const char* const end = object.data() + object.size() - 1;
  int64_t mended = 0;
  while (true) {
    p = SkipSpace(p, end);
    if (p >= end) return true;
    if (*p == ',') {
      ++p;
      continue;
    }
    if (*p != '"') return false;
    const StringEnd key = FindStringEnd(p + 1, end);
    if (key.quote == nullptr) return false;
    const std::string_view name(p + 1, static_cast<size_t>(key.quote - p) - 1);
    p = SkipSpace(key.quote + 1, end);
    if (p >= end || *p != ':') return false;
    p = SkipSpace(p + 1, end);
    if (p >= end) return false;
    JsonValue value;
    if (*p == '"') {
      const StringEnd string = FindStringEnd(p + 1, end);
      if (string.quote == nullptr) return false;
      value = {{p + 1, static_cast<size_t>(string.quote - p) - 1}, true, string.escaped};
      p = string.quote + 1;
    } else {
      const char* behind = SkipValue(p, end, mended);
      if (behind == nullptr) return false;
      value.text = {p, static_cast<size_t>(behind - p)};
      p = behind;
    }
    take(name, key.escaped, value);
  }
}

inline std::optional<JsonValue> FindMember(std::string_view object, std::string_view key) {
  std::optional<JsonValue> found;
  ForEachMember(object, [&](std::string_view name, bool, const JsonValue& value) {
    if (name == key && !found) found = value;
  });
  return found;
}

// Calls take(value) for each element of `array`, a text from '[' to its ']'.
template <class Take>
bool ForEachElement(std::string_view array, Take&& take) {
  const char* p = array.data() + 1;
  const char* const end = array.data() + array.size() - 1;
  int64_t mended = 0;
  while (true) {
    p = SkipSpace(p, end);
    if (p >= end) return true;
    if (*p == ',') {
      ++p;
      continue;
    }
    const char* behind = SkipValue(p, end, mended);
    if (behind == nullptr) return false;
    JsonValue value;
    value.is_string = *p == '"';
    value.text = {p, static_cast<size_t>(behind - p)};
    if (value.is_string) {
      value.text = value.text.substr(1, value.text.size() - 2);
      value.escaped = value.text.find('\\') != std::string_view::npos;
    }
    take(value);
    p = behind;
  }
}

}  // namespace sonde::importers::trace_events
