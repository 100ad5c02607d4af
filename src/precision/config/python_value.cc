#include "precision/config/python_value.h"

#include <algorithm>
#include <optional>

#include "base/strings.h"
#include "precision/dump/pretty_json.h"
#include "precision/dump/value.h"

namespace sonde::precision {
namespace {

using base::Concat;
using ValueKind = PythonValue::Kind;

constexpr int kMostValueDepth = 200;

enum class TokenKind : uint8_t { kEnd, kMark, kText, kWord, kWrong };
struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;  // with quotes
};

bool IsValueBlank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool IsWordPart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' ||
         c == '-' || c == '.' || c == '_';
}

// Words that are values, as Python and as JSON write them.
struct Word {
  std::string_view text;
  ValueKind kind;
  bool truth;
};
constexpr Word kWords[] = {
    {"None", ValueKind::kNone, false},  {"null", ValueKind::kNone, false},
    {"True", ValueKind::kBool, true},   {"true", ValueKind::kBool, true},
    {"False", ValueKind::kBool, false}, {"false", ValueKind::kBool, false},
};

std::optional<PythonValue> ValueOfWord(std::string_view word) {
  PythonValue out;
  for (const Word& known : kWords) {
    if (word != known.text) continue;
    out.kind = known.kind;
    out.truth = known.truth;
    return out;
  }
  out.text = word;
  std::string_view digits = word;
  if (digits.starts_with('-') || digits.starts_with('+')) digits.remove_prefix(1);
  if (!digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos) {
    out.kind = ValueKind::kInt;
    return out;
  }
  const std::string_view number = word.starts_with('+') ? digits : word;
  if (digits.empty() || !base::ParseDouble(number)) return std::nullopt;
  out.kind = ValueKind::kFloat;
  return out;
}

class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text) {}

  Token Next() {
    while (at_ < text_.size() && IsValueBlank(text_[at_])) ++at_;
    begin_ = at_;
    if (at_ == text_.size()) return {};
    const char c = text_[at_];
    if (std::string_view("{}[](),:").find(c) != std::string_view::npos) {
      return {TokenKind::kMark, text_.substr(at_++, 1)};
    }
    if (c == '\'' || c == '"') return Quoted(c);
    while (at_ < text_.size() && IsWordPart(text_[at_])) ++at_;
    const std::string_view word = text_.substr(begin_, at_ - begin_);
    return {ValueOfWord(word) ? TokenKind::kWord : TokenKind::kWrong, word};
  }
  size_t at() const { return at_; }
  size_t begin() const { return begin_; }  // of the last token

 private:
  Token Quoted(char quote) {
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\\') {
        ++at_;
      } else if (text_[at_] == quote) {
        ++at_;
        return {TokenKind::kText, text_.substr(begin_, at_ - begin_)};
      }
    }
    at_ = text_.size();
    return {TokenKind::kWrong, text_.substr(begin_)};
  }

  std::string_view text_;
  size_t at_ = 0;
  size_t begin_ = 0;
};

// Without quotes and the usual escapes; others stay as they are written.
std::string Unquoted(std::string_view token) {
  constexpr std::string_view kNames = "nrt\\'\"";
  constexpr std::string_view kMeanings = "\n\r\t\\'\"";
  std::string out;
  for (size_t i = 1; i + 1 < token.size(); ++i) {
    const size_t name = token[i] == '\\' ? kNames.find(token[i + 1]) : std::string_view::npos;
    out.push_back(name == std::string_view::npos ? token[i] : kMeanings[name]);
    if (name != std::string_view::npos) ++i;
  }
  return out;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : tokens_(text) { Advance(); }

  Result<PythonValue> Value(int depth) {
    PythonValue out;
    if (depth > kMostValueDepth) return Wrong("too deeply nested");
    if (token_.kind == TokenKind::kText) {
      out.kind = ValueKind::kText;
      // Python joins adjacent texts.
      for (; token_.kind == TokenKind::kText; Advance()) out.text += Unquoted(token_.text);
      return out;
    }
    if (token_.kind == TokenKind::kWord) {
      out = *ValueOfWord(token_.text);
      Advance();
      return out;
    }
    if (Is("{")) return Dict(depth);
    if (Is("[")) return List("]", depth);
    if (Is("(")) return List(")", depth);
    return Wrong("expected a value");
  }
  size_t end() const { return end_; }

 private:
  bool Is(std::string_view mark) const {
    return token_.kind == TokenKind::kMark && token_.text == mark;
  }
  void Advance() {
    end_ = tokens_.at();
    token_ = tokens_.Next();
  }
  base::Status Wrong(std::string_view what) const {
    const std::string_view found =
        token_.kind == TokenKind::kEnd ? std::string_view("the end") : token_.text.substr(0, 40);
    return base::CorruptDataError(
        Concat("byte ", std::to_string(tokens_.begin()), ": ", what, ", found ", found));
  }

  Result<PythonValue> List(std::string_view close, int depth) {
    PythonValue out;
    out.kind = ValueKind::kList;
    bool comma = close == "]";
    Advance();
    while (!Is(close)) {
      SONDE_ASSIGN_OR_RETURN(PythonValue item, Value(depth + 1));
      out.items.push_back(std::move(item));
      if (Is(close)) break;
      if (!Is(",")) return Wrong("expected a comma");
      comma = true;
      Advance();
    }
    Advance();
    // Without a comma, parentheses only hold one value together.
    if (!comma && out.items.size() == 1) return std::move(out.items[0]);
    return out;
  }

  Result<PythonValue> Dict(int depth) {
    PythonValue out;
    out.kind = ValueKind::kDict;
    Advance();
    while (!Is("}")) {
      SONDE_ASSIGN_OR_RETURN(const PythonValue key, Value(depth + 1));
      if (!Is(":")) return Wrong("expected a colon");
      Advance();
      SONDE_ASSIGN_OR_RETURN(PythonValue value, Value(depth + 1));
      out.members.push_back(
          {key.kind == ValueKind::kText ? key.text : key.Repr(), std::move(value)});
      if (Is("}")) break;
      if (!Is(",")) return Wrong("expected a comma");
      Advance();
    }
    Advance();
    return out;
  }

  Tokens tokens_;
  Token token_;
  size_t end_ = 0;
};

double NumberOf(const PythonValue& value) {
  if (value.kind == ValueKind::kBool) return value.truth ? 1 : 0;
  const bool plus = value.text.starts_with('+');
  return base::ParseDouble(std::string_view(value.text).substr(plus ? 1 : 0)).value_or(0);
}

bool IsNumber(const PythonValue& value) {
  return value.kind == ValueKind::kBool || value.kind == ValueKind::kInt ||
         value.kind == ValueKind::kFloat;
}

void AppendJson(const PythonValue& value, size_t depth, std::string* out) {
  const std::string line = "\n" + std::string(2 * (depth + 1), ' ');
  switch (value.kind) {
    case ValueKind::kNone:
      out->append("null");
      return;
    case ValueKind::kBool:
      out->append(value.truth ? "true" : "false");
      return;
    case ValueKind::kInt:
    case ValueKind::kFloat: {
      const std::string text = value.Repr();  // 1e999 is an infinity
      out->append(text == "inf" ? "Infinity" : text == "-inf" ? "-Infinity" : text);
      return;
    }
    case ValueKind::kText:
      AppendJsonText(value.text, out);
      return;
    case ValueKind::kList:
      out->push_back('[');
      for (size_t i = 0; i < value.items.size(); ++i) {
        out->append(i == 0 ? line : "," + line);
        AppendJson(value.items[i], depth + 1, out);
      }
      out->append(value.items.empty() ? "]" : line.substr(0, line.size() - 2) + "]");
      return;
    case ValueKind::kDict:
      out->push_back('{');
      for (size_t i = 0; i < value.members.size(); ++i) {
        out->append(i == 0 ? line : "," + line);
        AppendJsonText(value.members[i].key, out);
        out->append(": ");
        AppendJson(value.members[i].value, depth + 1, out);
      }
      out->append(value.members.empty() ? "}" : line.substr(0, line.size() - 2) + "}");
      return;
  }
}

const PythonValue* MemberOf(const PythonValue& dict, std::string_view key) {
  for (const PythonValue::Member& member : dict.members) {
    if (member.key == key) return &member.value;
  }
  return nullptr;
}

void AddLeaves(const PythonValue& value, const std::string& path,
               std::vector<std::pair<std::string, const PythonValue*>>* out) {
  if (value.kind != ValueKind::kDict || value.members.empty()) {
    out->emplace_back(path, &value);
    return;
  }
  for (const PythonValue::Member& member : value.members) {
    AddLeaves(member.value, path.empty() ? member.key : Concat(path, "/", member.key), out);
  }
}

}  // namespace

std::string PythonValue::Repr() const {
  std::string out;
  switch (kind) {
    case ValueKind::kNone:
      return "None";
    case ValueKind::kBool:
      return truth ? "True" : "False";
    case ValueKind::kInt:
      return text.starts_with('+') ? text.substr(1) : text;
    case ValueKind::kFloat:
      return base::PythonDoubleText(NumberOf(*this));
    case ValueKind::kText:
      AppendPythonRepr(text, &out);
      return out;
    case ValueKind::kList:
      for (const PythonValue& item : items) out += Concat(out.empty() ? "" : ", ", item.Repr());
      return Concat("[", out, "]");
    case ValueKind::kDict:
      for (const Member& member : members) {
        out += out.empty() ? "" : ", ";
        AppendPythonRepr(member.key, &out);
        out += Concat(": ", member.value.Repr());
      }
      return Concat("{", out, "}");
  }
  return out;
}

std::string PythonValue::Json() const {
  std::string out;
  AppendJson(*this, 0, &out);
  return out;
}

bool operator==(const PythonValue& a, const PythonValue& b) {
  if (IsNumber(a) && IsNumber(b)) {
    if (a.kind == ValueKind::kInt && b.kind == ValueKind::kInt) return a.Repr() == b.Repr();
    return NumberOf(a) == NumberOf(b);
  }
  if (a.kind != b.kind || a.text != b.text || a.items.size() != b.items.size() ||
      a.members.size() != b.members.size()) {
    return false;
  }
  for (size_t i = 0; i < a.items.size(); ++i) {
    if (!(a.items[i] == b.items[i])) return false;
  }
  return std::all_of(a.members.begin(), a.members.end(), [&b](const PythonValue::Member& member) {
    const PythonValue* other = MemberOf(b, member.key);
    return other != nullptr && member.value == *other;
  });
}

Result<PythonValue> ParsePythonValue(std::string_view text, size_t* consumed) {
  Parser parser(text);
  Result<PythonValue> out = parser.Value(0);
  *consumed = parser.end();
  return out;
}

std::string_view ValuePart(std::string_view line) {
  Tokens tokens(line);
  size_t comma = 0;
  for (Token token = tokens.Next(); token.kind != TokenKind::kEnd; token = tokens.Next()) {
    if (token.kind == TokenKind::kWrong) return line.substr(0, comma);
    if (token.kind == TokenKind::kMark && token.text == ",") comma = tokens.at();
  }
  return line;
}

int64_t OpenBrackets(std::string_view text) {
  Tokens tokens(text);
  int64_t open = 0;
  for (Token token = tokens.Next(); token.kind != TokenKind::kEnd; token = tokens.Next()) {
    if (token.kind != TokenKind::kMark) continue;
    if (std::string_view("{[(").find(token.text) != std::string_view::npos) ++open;
    if (std::string_view("}])").find(token.text) != std::string_view::npos) --open;
  }
  return open;
}

PythonValue PythonValueOfYaml(std::string_view scalar) {
  if (scalar.empty() || scalar == "~") return {};
  if (auto value = ValueOfWord(scalar)) return *value;
  PythonValue out;
  out.kind = ValueKind::kText;
  out.text = scalar;
  return out;
}

std::vector<std::pair<std::string, const PythonValue*>> LeavesOf(const PythonValue& value) {
  std::vector<std::pair<std::string, const PythonValue*>> out;
  AddLeaves(value, "", &out);
  return out;
}

}  // namespace sonde::precision
