// JSON for the recorder's small inputs (a request body, a control file): a reader into values
// and a text quoter. Not for data: src/base/host and the importers have faster ones, which need
// libraries that must not be loaded into foreign processes.
//
// Limits: nesting of 32; numbers as double (exact for integers to 2^53). Errors: Status with the
// byte position. Threads: values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace sonde::record {

struct JsonValue {
  enum class Type { kNull, kBool, kNumber, kString, kArray, kObject };

  Type type = Type::kNull;
  bool boolean = false;
  double number = 0;
  std::string text;
  std::vector<JsonValue> items;   // of an array, or the values of an object's members
  std::vector<std::string> keys;  // of an object: as many as items; the last of equal keys counts

  bool Is(Type wanted) const { return type == wanted; }
  // Member of an object; nullptr when this is none or has no such key.
  const JsonValue* Find(std::string_view key) const;
};

Result<JsonValue> ParseJson(std::string_view text);

// With quotes. Bytes that are not UTF-8 are kept unchanged.
std::string QuoteJson(std::string_view text);

}  // namespace sonde::record
