// One value of a dump as Python would hold it: what a statistic or an argument was.
//
// The comparison follows Python's rules for text and equality of these values, so the kind is kept:
// 3 and 3.0 are different texts. 16 bytes; texts are views into the dump.
// Pure, any thread.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

namespace sonde::precision {

class Value {
 public:
  enum class Kind : uint8_t { kAbsent, kNull, kBool, kInt, kBigInt, kFloat, kText };

  constexpr Value() = default;
  static constexpr Value Null() { return Value(Kind::kNull); }
  static Value Bool(bool value) {
    Value out(Kind::kBool);
    out.int_ = value ? 1 : 0;
    return out;
  }
  static Value Int(int64_t value) {
    Value out(Kind::kInt);
    out.int_ = value;
    return out;
  }
  static Value Float(double value) {
    Value out(Kind::kFloat);
    out.float_ = value;
    return out;
  }
  static Value Text(std::string_view text) { return OfText(Kind::kText, text); }
  // A number, true, false, null, NaN or an infinity as JsonScanner::Literal() gives it. Anything
  // else is a text.
  static Value FromLiteral(std::string_view literal);

  Kind kind() const { return kind_; }
  // Absent in the dump, or null: both are None to the reference.
  bool IsNone() const { return kind_ == Kind::kAbsent || kind_ == Kind::kNull; }
  bool IsNumber() const {
    return kind_ == Kind::kInt || kind_ == Kind::kBigInt || kind_ == Kind::kFloat;
  }
  bool IsNan() const { return kind_ == Kind::kFloat && std::isnan(float_); }
  bool IsInfinite() const { return kind_ == Kind::kFloat && std::isinf(float_); }
  bool IsNanOrInfinite() const { return kind_ == Kind::kFloat && !std::isfinite(float_); }
  // Numbers only.
  double AsDouble() const;
  // Texts only.
  std::string_view text() const { return {text_, size_}; }

  // str(value) of Python: "None", "True", "3", "3.0", "nan", "inf".
  void AppendPython(std::string* out) const;
  std::string PythonText() const;

  // str(a) == str(b).
  friend bool SameText(const Value& a, const Value& b);

 private:
  explicit constexpr Value(Kind kind) : kind_(kind) {}
  static Value OfText(Kind kind, std::string_view text) {
    Value out(kind);
    out.text_ = text.data();
    out.size_ = static_cast<uint32_t>(text.size());
    return out;
  }

  Kind kind_ = Kind::kAbsent;
  uint32_t size_ = 0;
  union {
    int64_t int_ = 0;
    double float_;
    const char* text_;
  };
};

// repr() of a Python string: single quotes unless the text holds them and no double ones.
void AppendPythonRepr(std::string_view text, std::string* out);

// str() of the Python value that a JSON text stands for: {"a": [1, null]} becomes {'a': [1, None]}.
// Malformed JSON is handed out as it is.
std::string PythonTextOfJson(std::string_view json);

}  // namespace sonde::precision
