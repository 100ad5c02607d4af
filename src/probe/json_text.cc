#include "probe/json_text.h"

#include <array>
#include <cmath>
#include <cstdio>

#include "base/strings.h"

namespace sonde::probe {
namespace {

constexpr uint32_t kReplacement = 0xfffd;

// One code point of UTF-8 text; moves `position` behind it.
uint32_t NextCodePoint(std::string_view text, size_t& position) {
  const auto byte = [&](size_t at) { return static_cast<uint8_t>(text[at]); };
  const uint32_t first = byte(position++);
  if (first < 0x80) return first;
  const size_t more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
  if (first < 0xc2 || first > 0xf4 || position + more > text.size()) return kReplacement;
  uint32_t code = first & (0x3fU >> more);
  for (size_t i = 0; i < more; i++) {
    if ((byte(position + i) & 0xc0U) != 0x80) return kReplacement;
    code = (code << 6U) | (byte(position + i) & 0x3fU);
  }
  position += more;
  return code;
}

void AppendEscape(std::string& out, uint32_t unit) {
  std::array<char, 8> text = {};
  std::snprintf(text.data(), text.size(), "\\u%04x", unit);
  out.append(text.data());
}

void AppendSpecial(std::string& out, uint32_t code) {
  switch (code) {
    case '"':
      out.append("\\\"");
      return;
    case '\\':
      out.append("\\\\");
      return;
    case '\n':
      out.append("\\n");
      return;
    case '\r':
      out.append("\\r");
      return;
    case '\t':
      out.append("\\t");
      return;
    case '\b':
      out.append("\\b");
      return;
    case '\f':
      out.append("\\f");
      return;
    default:
      break;
  }
  if (code < 0x10000) return AppendEscape(out, code);
  AppendEscape(out, 0xd800 + ((code - 0x10000) >> 10U));
  AppendEscape(out, 0xdc00 + ((code - 0x10000) & 0x3ffU));
}

}  // namespace

void AppendQuoted(std::string& out, std::string_view text) {
  out.push_back('"');
  size_t position = 0;
  while (position < text.size()) {
    size_t plain = position;
    while (plain < text.size() && text[plain] >= ' ' && text[plain] <= '~' && text[plain] != '"' &&
           text[plain] != '\\') {
      plain++;
    }
    out.append(text.substr(position, plain - position));
    position = plain;
    if (position < text.size()) {
      const uint32_t code = NextCodePoint(text, position);
      AppendSpecial(out, code);
    }
  }
  out.push_back('"');
}

void AppendLine(std::string& out, size_t depth) {
  out.push_back('\n');
  out.append(depth, ' ');
}

void AppendReal(std::string& out, double value) {
  if (std::isnan(value)) {
    out.append("NaN");
  } else if (std::isinf(value)) {
    out.append(value > 0 ? "Infinity" : "-Infinity");
  } else {
    base::NumberBuffer buffer;
    out.append(base::FormatPythonDouble(value, buffer));
  }
}

void AppendInteger(std::string& out, int64_t value) {
  base::NumberBuffer buffer;
  out.append(base::FormatInt64(value, buffer));
}

void AppendNumber(std::string& out, const Number& number) {
  base::NumberBuffer buffer;
  switch (number.kind) {
    case Number::Kind::kNone:
      out.append("null");
      return;
    case Number::Kind::kFloat:
      AppendReal(out, number.real);
      return;
    case Number::Kind::kInt:
      AppendInteger(out, number.integer);
      return;
    case Number::Kind::kUInt:
      out.append(base::FormatUint64(static_cast<uint64_t>(number.integer), buffer));
      return;
    case Number::Kind::kBool:
      out.append(number.integer != 0 ? "true" : "false");
      return;
  }
}

void AppendShape(std::string& out, std::span<const int64_t> shape, size_t depth) {
  if (shape.empty()) {
    out.append("[]");
    return;
  }
  char separator = '[';
  for (const int64_t size : shape) {
    out.push_back(separator);
    AppendLine(out, depth + 1);
    AppendInteger(out, size);
    separator = ',';
  }
  AppendLine(out, depth);
  out.push_back(']');
}

}  // namespace sonde::probe
