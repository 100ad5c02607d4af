#include "base/host/json_writer.h"

#include <array>
#include <cmath>

#include "base/strings.h"

namespace sonde::base {
namespace {

constexpr std::array<char, 16> kHex = {'0', '1', '2', '3', '4', '5', '6', '7',
                                       '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'};

// Bytes that need no escape inside quotes.
constexpr std::array<bool, 256> MakePlain() {
  std::array<bool, 256> plain{};
  for (size_t c = 0x20; c < 0x80; ++c) plain[c] = c != '"' && c != '\\' && c != 0x7f;
  return plain;
}
constexpr std::array<bool, 256> kPlain = MakePlain();

// Length of the valid UTF-8 sequence at the start of `text` (two bytes or more), else 0.
size_t Utf8Length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  size_t length = 0;
  if (first >= 0xc2 && first <= 0xdf) length = 2;
  if (first >= 0xe0 && first <= 0xef) length = 3;
  if (first >= 0xf0 && first <= 0xf4) length = 4;
  if (length == 0 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0U) != 0x80U) return 0;
  }
  // Overlong forms, surrogates and code points beyond U+10FFFF.
  if (first == 0xe0 && byte(1) < 0xa0) return 0;
  if (first == 0xed && byte(1) > 0x9f) return 0;
  if (first == 0xf0 && byte(1) < 0x90) return 0;
  if (first == 0xf4 && byte(1) > 0x8f) return 0;
  return length;
}

// Writes one escaped control, quote or backslash; returns its length, at most 6.
size_t Escape(unsigned char c, char* out) {
  out[0] = '\\';
  switch (c) {
    case '"':
    case '\\':
      out[1] = static_cast<char>(c);
      return 2;
    case '\n':
      out[1] = 'n';
      return 2;
    case '\r':
      out[1] = 'r';
      return 2;
    case '\t':
      out[1] = 't';
      return 2;
    case '\b':
      out[1] = 'b';
      return 2;
    case '\f':
      out[1] = 'f';
      return 2;
    default:
      break;
  }
  out[1] = 'u';
  out[2] = '0';
  out[3] = '0';
  out[4] = kHex[c >> 4U];
  out[5] = kHex[c & 0xfU];
  return 6;
}

}  // namespace

void JsonWriter::Separate() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  const uint64_t bit = uint64_t{1} << depth_;
  if (depth_ > 0 && (has_items_ & bit) != 0) buffer_.Append(spaced_ ? ", " : ",");
  has_items_ |= bit;
}

void JsonWriter::Open(char bracket) {
  Separate();
  buffer_.Append(bracket);
  ++depth_;
  CHECK(depth_ < 64, "JSON nested too deep");
  const uint64_t bit = uint64_t{1} << depth_;
  has_items_ &= ~bit;
  is_object_ = bracket == '{' ? is_object_ | bit : is_object_ & ~bit;
}

void JsonWriter::Close(char bracket) {
  CHECK(depth_ > 0 && !after_key_, "JSON closed without being open");
  CHECK((bracket == '}') == (((is_object_ >> depth_) & 1U) != 0),
        "JSON closed by the wrong bracket");
  --depth_;
  buffer_.Append(bracket);
}

void JsonWriter::Key(std::string_view key) {
  DCHECK(((is_object_ >> depth_) & 1U) != 0 && !after_key_);
  Separate();
  Quoted(key);
  buffer_.Append(spaced_ ? ": " : ":");
  after_key_ = true;
}

void JsonWriter::Quoted(std::string_view text) {
  // No byte grows beyond six; most texts go through the first loop only.
  char* const begin = buffer_.Reserve(text.size() * 6 + 2);
  char* out = begin;
  *out++ = '"';
  while (!text.empty()) {
    const auto c = static_cast<unsigned char>(text.front());
    size_t used = 1;
    if (kPlain[c]) {
      *out++ = text.front();
    } else if (c < 0x80) {
      out += Escape(c, out);
    } else if (const size_t length = Utf8Length(text); length > 0) {
      std::memcpy(out, text.data(), length);
      out += length;
      used = length;
    } else {
      std::memcpy(out, "\xef\xbf\xbd", 3);
      out += 3;
    }
    text.remove_prefix(used);
  }
  *out++ = '"';
  buffer_.Advance(static_cast<size_t>(out - begin));
}

void JsonWriter::String(std::string_view text) {
  Separate();
  Quoted(text);
}

void JsonWriter::Raw(std::string_view json) {
  Separate();
  buffer_.Append(json);
}

void JsonWriter::Int(int64_t value) {
  NumberBuffer number;
  Raw(FormatInt64(value, number));
}

void JsonWriter::Uint(uint64_t value) {
  NumberBuffer number;
  Raw(FormatUint64(value, number));
}

void JsonWriter::Double(double value) {
  NumberBuffer number;
  Raw(std::isfinite(value) ? FormatPythonDouble(value, number) : "null");
}

void JsonWriter::Bool(bool value) { Raw(value ? "true" : "false"); }
void JsonWriter::Null() { Raw("null"); }

void JsonWriter::MicrosecondNumber(int64_t ns) {
  NumberBuffer number;
  Raw(FormatNsAsMicroseconds(ns, number));
}

void JsonWriter::MicrosecondText(int64_t ns) {
  NumberBuffer number;
  const std::string_view text = FormatNsAsMicroseconds(ns, number);
  Separate();
  buffer_.Append('"');
  buffer_.Append(text);
  buffer_.Append('"');
}

Status JsonWriter::Finish() {
  CHECK(depth_ == 0 && !after_key_, "JSON ends inside a bracket");
  return file_ == nullptr ? Status::Ok() : buffer_.Flush();
}

std::string JsonWriter::Take() {
  CHECK(depth_ == 0 && !after_key_, "JSON ends inside a bracket");
  return buffer_.Take();
}

std::string JsonQuote(std::string_view text) {
  JsonWriter json(nullptr);
  json.String(text);
  return json.Take();
}

}  // namespace sonde::base
