// Writes JSON as a stream: no tree, no allocation per value, commas placed by itself.
//
//   JsonWriter json(&file);                     // or nullptr and Take()
//   json.BeginObject();
//   json.Key("ts"); json.MicrosecondText(ns);   // "ts":"123.456"
//   json.EndObject();
//   SONDE_RETURN_IF_ERROR(json.Finish());       // then file.Commit()
//
// Strings may hold any bytes: invalid UTF-8 becomes U+FFFD, so the output always parses. Doubles
// are written as Python's json module writes them; NaN and infinities, which JSON lacks, become
// null. Nesting beyond 64 levels and unbalanced calls are CHECKs.
// Threads: one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/host/text_buffer.h"
#include "base/status.h"

namespace sonde::base {

class JsonWriter {
 public:
  // Compact as {"a":1,"b":2}; kPythonDefault as Python's json.dumps: {"a": 1, "b": 2}.
  enum class Style { kCompact, kPythonDefault };

  explicit JsonWriter(AtomicFile* file, Style style = Style::kCompact)
      : buffer_(file), file_(file), spaced_(style == Style::kPythonDefault) {}

  void BeginObject() { Open('{'); }
  void EndObject() { Close('}'); }
  void BeginArray() { Open('['); }
  void EndArray() { Close(']'); }

  void Key(std::string_view key);

  void String(std::string_view text);
  void Int(int64_t value);
  void Uint(uint64_t value);
  void Double(double value);
  void Bool(bool value);
  void Null();
  // 123456 ns as the number 123.456, or as the text "123.456".
  void MicrosecondNumber(int64_t ns);
  void MicrosecondText(int64_t ns);
  // A value that is JSON already.
  void Raw(std::string_view json);
  // Any text between values, such as a line break; commas are not affected.
  void Layout(std::string_view blanks) { buffer_.Append(blanks); }

  // Checks the balance and writes the rest to the file.
  Status Finish();
  // The text, for a writer without file.
  std::string Take();

 private:
  void Open(char bracket);
  void Close(char bracket);
  // The comma before a value or key, if one is due.
  void Separate();
  void Quoted(std::string_view text);

  TextBuffer buffer_;
  AtomicFile* file_;
  bool spaced_;
  bool after_key_ = false;
  unsigned depth_ = 0;
  uint64_t has_items_ = 0;  // bit d: depth d has an item already
  uint64_t is_object_ = 0;  // bit d: depth d is an object
};

// `text` in quotes, escaped as JsonWriter does.
std::string JsonQuote(std::string_view text);

}  // namespace sonde::base
