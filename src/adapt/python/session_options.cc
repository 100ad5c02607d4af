#include "adapt/python/session_options.h"

#include <cstdlib>
#include <string>

namespace sonde::adapt {
namespace {

size_t SkipSpace(std::string_view json, size_t at) {
  while (at < json.size() && (json[at] == ' ' || json[at] == '\t' || json[at] == '\n')) at++;
  return at;
}

// Text of the value of a key of the outermost object, from its first character on.
std::string_view FindValue(std::string_view json, std::string_view key) {
  int depth = 0;
  for (size_t at = 0; at < json.size(); at++) {
    const char c = json[at];
    if (c == '{' || c == '[') depth++;
    if (c == '}' || c == ']') depth--;
    if (c != '"') continue;
    const size_t begin = at + 1;
    for (at = begin; at < json.size() && json[at] != '"'; at++) {
      if (json[at] == '\\') at++;
    }
    if (depth != 1 || at >= json.size() || json.substr(begin, at - begin) != key) continue;
    const size_t colon = SkipSpace(json, at + 1);
    if (colon < json.size() && json[colon] == ':') return json.substr(SkipSpace(json, colon + 1));
  }
  return {};
}

}  // namespace

std::optional<double> NumberOption(std::string_view json, std::string_view key) {
  const std::string value(FindValue(json, key).substr(0, 64));
  char* end = nullptr;
  const double number = std::strtod(value.c_str(), &end);
  if (end == value.c_str()) return std::nullopt;
  return number;
}

std::string_view ObjectOption(std::string_view json, std::string_view key) {
  const std::string_view value = FindValue(json, key);
  if (!value.starts_with('{')) return {};
  int depth = 0;
  bool in_text = false;
  for (size_t at = 0; at < value.size(); at++) {
    const char c = value[at];
    if (in_text && c == '\\') at++;
    if (c == '"') in_text = !in_text;
    if (in_text) continue;
    if (c == '{') depth++;
    if (c == '}' && --depth == 0) return value.substr(0, at + 1);
  }
  return {};
}

bool BoolOption(std::string_view json, std::string_view key, bool otherwise) {
  const std::string_view value = FindValue(json, key);
  if (value.starts_with("true")) return true;
  if (value.starts_with("false")) return false;
  return otherwise;
}

std::optional<double> GarbageThreshold(std::string_view json) {
  const auto asked = NumberOption(ObjectOption(json, "experimental_config"), "gc_detect_threshold");
  return asked.has_value() && *asked >= 0 ? asked : NumberOption(json, "gc_threshold_ms");
}

}  // namespace sonde::adapt
