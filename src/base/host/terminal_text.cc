#include "base/host/terminal_text.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>

namespace sonde::base {
namespace {

struct Letter {
  uint32_t code = 0;
  size_t size = 1;
  bool is_utf8 = false;
};

// The letter at the front of `text`.
Letter FrontLetter(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return {first, 1, true};
  const size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || size > text.size()) return {first, 1, false};
  uint32_t code = first & (0xffU >> (size + 1));
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return {first, 1, false};
    code = code << 6U | (byte(i) & 0x3fU);
  }
  return {code, size, true};
}

// What moves, hides or reverses.
bool Commands(const Letter& letter) {
  const uint32_t code = letter.code;
  if (!letter.is_utf8) return true;
  if (code < 0x20) return code != '\n' && code != '\t';
  if (code < 0x7f) return false;
  const bool is_direction = code == 0x61c || code == 0x200e || code == 0x200f ||
                            (code >= 0x202a && code <= 0x202e) ||
                            (code >= 0x2066 && code <= 0x2069);
  const bool is_break = code == 0x2028 || code == 0x2029;
  return code <= 0x9f || is_direction || is_break;
}

// Most texts need no change.
bool IsHarmless(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= ' ' && c < '\x7f') || c == '\n' || c == '\t'; });
}

}  // namespace

std::string ForTerminal(std::string_view text) {
  if (IsHarmless(text)) return std::string(text);
  std::string shown;
  while (!text.empty()) {
    const Letter letter = FrontLetter(text);
    // A carriage return before a line break is a part of it.
    if (text.front() != '\r' || !text.substr(1).starts_with('\n')) {
      Commands(letter) ? shown += '?' : shown += text.substr(0, letter.size);
    }
    text.remove_prefix(letter.size);
  }
  return shown;
}

std::string ForTerminalLine(std::string_view text) {
  std::string shown(text);
  const auto is_blank = [](char c) { return c == '\n' || c == '\r' || c == '\t'; };
  std::replace_if(shown.begin(), shown.end(), is_blank, ' ');
  return ForTerminal(shown);
}

std::string JsonForTerminal(std::string_view json) {
  if (IsHarmless(json)) return std::string(json);
  std::string shown;
  while (!json.empty()) {
    const Letter letter = FrontLetter(json);
    if (letter.is_utf8 && letter.code > ' ' && Commands(letter)) {
      std::array<char, 16> escaped;
      std::snprintf(escaped.data(), escaped.size(), "\\u%04x", letter.code);
      shown += escaped.data();
    } else {
      shown += json.substr(0, letter.size);
    }
    json.remove_prefix(letter.size);
  }
  return shown;
}

}  // namespace sonde::base
