// Pull scanner over one JSON text, made for dump files: no tree, no copies; the raw text of
// every value is available.
//
// It also takes the bare NaN, Infinity and -Infinity that Python's json module writes, which strict
// parsers refuse. The caller walks: BeginObject(), NextKey() until false, one value call a key; the
// same with BeginArray() and NextElement(). After the first error every call returns quickly with
// an empty answer and the loops end by themselves; ask status() once at the end.
// Nesting deeper than kMaxDepth is an error; SkipValue() has no such limit.
// Views refer to the text, or to the scratch of the scanner where a string holds escapes (valid
// until the next string). Threads: one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace sonde::precision {

class JsonScanner {
 public:
  enum class Kind : uint8_t { kObject, kArray, kString, kNumber, kBool, kNull, kError };

  static constexpr int kMaxDepth = 1000;

  // `source` names the text in messages (a path); both must outlive the scanner.
  JsonScanner(std::string_view text, std::string_view source)
      : begin_(text.data()),
        cursor_(text.data()),
        end_(text.data() + text.size()),
        source_(source) {}

  // Kind of the next value; does not move.
  Kind Peek();

  void BeginObject();
  // Moves to the next member and hands out its key; false at the end of the object.
  bool NextKey(std::string_view* key);
  void BeginArray();
  // Moves to the next element; false at the end of the array.
  bool NextElement();

  // The decoded text of a string value.
  std::string_view String();
  // The characters of a number, true, false, null, NaN, Infinity or -Infinity.
  std::string_view Literal();
  // Moves over any value and returns its raw text.
  std::string_view SkipValue();
  // Nothing but blanks may follow.
  void ExpectEnd();

  // Where the next value begins, for keeping raw texts: `const char* from = ValueBegin(); ...;
  // RawSince(from)`.
  const char* ValueBegin();
  std::string_view RawSince(const char* from) const {
    return {from, static_cast<size_t>(cursor_ - from)};
  }

  bool failed() const { return failed_; }
  // Whether it failed because the text ends in the middle of the document: all before it was good.
  bool ran_out() const { return ran_out_; }
  // "dump.json: byte 4711: a string has no end". Ok when nothing failed.
  Status status() const;
  // Fails the scan for a reason of the caller's.
  void Fail(std::string message);

 private:
  void SkipBlanks();
  bool Expect(char c);
  void FailAtEnd(std::string message);
  // Moves behind the string whose opening quote is at the cursor; returns its inner raw text.
  std::string_view RawString(bool* has_escape);
  std::string_view Unescape(std::string_view raw);
  bool AppendUnicodeEscape(std::string_view raw, size_t* position);

  const char* begin_;
  const char* cursor_;
  const char* end_;
  std::string_view source_;
  int depth_ = 0;
  bool first_ = false;  // no member or element of the current container seen yet
  bool failed_ = false;
  bool ran_out_ = false;
  std::string scratch_;
  std::string message_;
  size_t error_offset_ = 0;
};

}  // namespace sonde::precision
