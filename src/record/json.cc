#include "record/json.h"

#include <charconv>
#include <cstdint>
#include <cstdio>

namespace sonde::record {
namespace {

constexpr int kMaxDepth = 32;

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<JsonValue> Run() {
    JsonValue value;
    SONDE_RETURN_IF_ERROR(ParseValue(&value, 0));
    SkipSpace();
    if (at_ != text_.size()) return Error("text after the end");
    return value;
  }

 private:
  Status Error(const std::string& what) const {
    return base::InvalidArgumentError("JSON: " + what + " at byte " + std::to_string(at_));
  }

  void SkipSpace() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) {
      ++at_;
    }
  }

  bool Take(char wanted) {
    SkipSpace();
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  bool TakeWord(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  Status ParseValue(JsonValue* value, int depth) {
    if (depth > kMaxDepth) return Error("nested too deeply");
    SkipSpace();
    if (at_ >= text_.size()) return Error("unexpected end");
    switch (text_[at_]) {
      case '{':
        return ParseObject(value, depth);
      case '[':
        return ParseArray(value, depth);
      case '"':
        value->type = JsonValue::Type::kString;
        return ParseString(&value->text);
      default:
        return ParseScalar(value);
    }
  }

  Status ParseScalar(JsonValue* value) {
    if (TakeWord("null")) return {};
    value->type = JsonValue::Type::kBool;
    value->boolean = TakeWord("true");
    if (value->boolean || TakeWord("false")) return {};
    value->type = JsonValue::Type::kNumber;
    const size_t digit = text_[at_] == '-' ? at_ + 1 : at_;
    if (digit >= text_.size() || text_[digit] < '0' || text_[digit] > '9') {
      return Error("unexpected character");
    }
    const char* end = text_.data() + text_.size();
    const auto [rest, error] = std::from_chars(text_.data() + at_, end, value->number);
    if (error != std::errc()) return Error("bad number");
    at_ = static_cast<size_t>(rest - text_.data());
    return {};
  }

  Status ParseArray(JsonValue* value, int depth) {
    value->type = JsonValue::Type::kArray;
    ++at_;
    if (Take(']')) return {};
    do {
      value->items.emplace_back();
      SONDE_RETURN_IF_ERROR(ParseValue(&value->items.back(), depth + 1));
    } while (Take(','));
    return Take(']') ? Status() : Error("',' or ']' expected");
  }

  Status ParseObject(JsonValue* value, int depth) {
    value->type = JsonValue::Type::kObject;
    ++at_;
    if (Take('}')) return {};
    do {
      SkipSpace();
      if (at_ >= text_.size() || text_[at_] != '"') return Error("key expected");
      SONDE_RETURN_IF_ERROR(ParseString(&value->keys.emplace_back()));
      if (!Take(':')) return Error("':' expected");
      SONDE_RETURN_IF_ERROR(ParseValue(&value->items.emplace_back(), depth + 1));
    } while (Take(','));
    return Take('}') ? Status() : Error("',' or '}' expected");
  }

  Status ParseString(std::string* out) {
    ++at_;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '"') {
        ++at_;
        return {};
      }
      if (static_cast<unsigned char>(c) < 0x20) return Error("control character in a string");
      if (c != '\\') {
        out->push_back(c);
      } else {
        SONDE_RETURN_IF_ERROR(ParseEscape(out));
      }
    }
    return Error("string without end");
  }

  // Leaves at_ on the last character of the escape.
  Status ParseEscape(std::string* out) {
    constexpr std::string_view kCodes = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    if (++at_ >= text_.size()) return Error("string without end");
    if (text_[at_] == 'u') return ParseUnicode(out);
    const size_t code = kCodes.find(text_[at_]);
    if (code == std::string_view::npos) return Error("unknown escape");
    out->push_back(kMeanings[code]);
    return {};
  }

  Status ParseHex(uint32_t* unit) {
    const char* begin = text_.data() + at_ + 1;
    if (at_ + 4 >= text_.size()) return Error("string without end");
    const auto [rest, error] = std::from_chars(begin, begin + 4, *unit, 16);
    if (error != std::errc() || rest != begin + 4) return Error("bad \\u escape");
    at_ += 4;
    return {};
  }

  Status ParseUnicode(std::string* out) {
    uint32_t code = 0;
    SONDE_RETURN_IF_ERROR(ParseHex(&code));
    if (code >= 0xd800 && code < 0xdc00 && text_.substr(at_ + 1, 2) == "\\u") {
      at_ += 2;
      uint32_t low = 0;
      SONDE_RETURN_IF_ERROR(ParseHex(&low));
      if (low < 0xdc00 || low > 0xdfff) return Error("half a surrogate pair");
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code >= 0xd800 && code < 0xe000) {
      return Error("half a surrogate pair");
    }
    AppendUtf8(code, out);
    return {};
  }

  static void AppendUtf8(uint32_t code, std::string* out) {
    const auto add = [out](uint32_t byte) { out->push_back(static_cast<char>(byte)); };
    if (code < 0x80) {
      add(code);
    } else if (code < 0x800) {
      add(0xc0 | (code >> 6));
      add(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
      add(0xe0 | (code >> 12));
      add(0x80 | ((code >> 6) & 0x3f));
      add(0x80 | (code & 0x3f));
    } else {
      add(0xf0 | (code >> 18));
      add(0x80 | ((code >> 12) & 0x3f));
      add(0x80 | ((code >> 6) & 0x3f));
      add(0x80 | (code & 0x3f));
    }
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

const JsonValue* JsonValue::Find(std::string_view key) const {
  for (size_t i = keys.size(); i-- > 0;) {
    if (keys[i] == key) return &items[i];
  }
  return nullptr;
}

Result<JsonValue> ParseJson(std::string_view text) { return Parser(text).Run(); }

std::string QuoteJson(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escape[8];
      snprintf(escape, sizeof(escape), "\\u%04x", static_cast<unsigned>(c));
      out += escape;
    } else {
      out.push_back(c);
    }
  }
  out.push_back('"');
  return out;
}

}  // namespace sonde::record
