#include "precision/dump/value.h"

#include <array>
#include <bit>
#include <limits>

#include "base/strings.h"
#include "precision/dump/json_scanner.h"

namespace sonde::precision {
namespace {

void AppendJsonAsPython(JsonScanner* json, bool top, std::string* out) {
  using Kind = JsonScanner::Kind;
  bool first = true;
  const auto comma = [&] {
    if (!first) out->append(", ");
    first = false;
  };
  switch (json->Peek()) {
    case Kind::kObject: {
      json->BeginObject();
      out->push_back('{');
      for (std::string_view key; json->NextKey(&key);) {
        comma();
        AppendPythonRepr(key, out);
        out->append(": ");
        AppendJsonAsPython(json, false, out);
      }
      out->push_back('}');
      return;
    }
    case Kind::kArray:
      json->BeginArray();
      out->push_back('[');
      while (json->NextElement()) {
        comma();
        AppendJsonAsPython(json, false, out);
      }
      out->push_back(']');
      return;
    case Kind::kString: {
      const std::string_view text = json->String();
      if (top) {
        out->append(text);
      } else {
        AppendPythonRepr(text, out);
      }
      return;
    }
    case Kind::kNumber:
    case Kind::kBool:
    case Kind::kNull:
      Value::FromLiteral(json->Literal()).AppendPython(out);
      return;
    case Kind::kError:
      return;
  }
}

}  // namespace

Value Value::FromLiteral(std::string_view literal) {
  if (literal.empty()) return Text(literal);
  switch (literal[0]) {
    case 't':
      if (literal == "true") return Bool(true);
      break;
    case 'f':
      if (literal == "false") return Bool(false);
      break;
    case 'n':
      if (literal == "null") return Null();
      break;
    case 'N':
      if (literal == "NaN") return Float(std::numeric_limits<double>::quiet_NaN());
      break;
    case 'I':
      if (literal == "Infinity") return Float(std::numeric_limits<double>::infinity());
      break;
    default: {
      if (literal == "-Infinity") return Float(-std::numeric_limits<double>::infinity());
      if (literal.find_first_of(".eE") == std::string_view::npos) {
        if (const auto value = base::ParseInt64(literal)) return Int(*value);
        if (literal.find_first_not_of("0123456789", literal[0] == '-' ? 1 : 0) ==
            std::string_view::npos) {
          return OfText(Kind::kBigInt, literal);
        }
        break;
      }
      if (const auto value = base::ParseDouble(literal)) return Float(*value);
      break;
    }
  }
  return Text(literal);
}

double Value::AsDouble() const {
  switch (kind_) {
    case Kind::kInt:
      return static_cast<double>(int_);
    case Kind::kFloat:
      return float_;
    case Kind::kBigInt:
      return base::ParseDouble(text()).value_or(std::numeric_limits<double>::infinity());
    default:
      return std::numeric_limits<double>::quiet_NaN();
  }
}

void Value::AppendPython(std::string* out) const {
  base::NumberBuffer buffer;
  switch (kind_) {
    case Kind::kAbsent:
    case Kind::kNull:
      out->append("None");
      return;
    case Kind::kBool:
      out->append(int_ != 0 ? "True" : "False");
      return;
    case Kind::kInt:
      out->append(base::FormatInt64(int_, buffer));
      return;
    case Kind::kFloat:
      out->append(base::FormatPythonDouble(float_, buffer));
      return;
    case Kind::kBigInt:
    case Kind::kText:
      out->append(text());
      return;
  }
}

std::string Value::PythonText() const {
  std::string out;
  AppendPython(&out);
  return out;
}

bool SameText(const Value& a, const Value& b) {
  if (a.kind_ != b.kind_) {
    if (a.IsNone() && b.IsNone()) return true;
    // Only a text can look like a value of another kind.
    if (a.kind_ != Value::Kind::kText && b.kind_ != Value::Kind::kText) return false;
    return a.PythonText() == b.PythonText();
  }
  switch (a.kind_) {
    case Value::Kind::kAbsent:
    case Value::Kind::kNull:
      return true;
    case Value::Kind::kBool:
    case Value::Kind::kInt:
      return a.int_ == b.int_;
    case Value::Kind::kFloat:
      return std::bit_cast<uint64_t>(a.float_) == std::bit_cast<uint64_t>(b.float_) ||
             (std::isnan(a.float_) && std::isnan(b.float_));
    case Value::Kind::kBigInt:
    case Value::Kind::kText:
      return a.text() == b.text();
  }
  return false;
}

void AppendPythonRepr(std::string_view text, std::string* out) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  const bool has_single = text.find('\'') != std::string_view::npos;
  const bool has_double = text.find('"') != std::string_view::npos;
  const char quote = has_single && !has_double ? '"' : '\'';
  out->push_back(quote);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == quote || c == '\\') {
      out->push_back('\\');
      out->push_back(c);
    } else if (c == '\n') {
      out->append("\\n");
    } else if (c == '\r') {
      out->append("\\r");
    } else if (c == '\t') {
      out->append("\\t");
    } else if (byte < 0x20 || byte == 0x7F) {
      out->append("\\x");
      out->push_back(kHex[byte >> 4U]);
      out->push_back(kHex[byte & 0xFU]);
    } else {
      out->push_back(c);
    }
  }
  out->push_back(quote);
}

std::string PythonTextOfJson(std::string_view json) {
  JsonScanner scanner(json, "value");
  std::string out;
  AppendJsonAsPython(&scanner, true, &out);
  return scanner.failed() ? std::string(json) : out;
}

}  // namespace sonde::precision
