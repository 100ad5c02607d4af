// A message of the page's protocol: a struct whose members are declared once, as a list
// (messages.h), from which come the struct, its JSON and its TypeScript declaration.
//
// Threads: values. Integers beyond 53 bits travel as text, since JavaScript has none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/host/json_writer.h"

namespace sonde::serve {

// A value that is JSON already: cells of a table.
struct JsonCells {
  std::string text = "[]";
};

inline void WriteJson(base::JsonWriter& json, int32_t value) { json.Int(value); }
inline void WriteJson(base::JsonWriter& json, int64_t value) { json.Int(value); }
inline void WriteJson(base::JsonWriter& json, double value) { json.Double(value); }
inline void WriteJson(base::JsonWriter& json, bool value) { json.Bool(value); }
inline void WriteJson(base::JsonWriter& json, const std::string& value) { json.String(value); }
inline void WriteJson(base::JsonWriter& json, const JsonCells& value) { json.Raw(value.text); }
template <class T>
void WriteJson(base::JsonWriter& json, const std::vector<T>& values) {
  json.BeginArray();
  for (const T& value : values) WriteJson(json, value);
  json.EndArray();
}

// The TypeScript name of a C++ type in the lists of messages.h.
inline std::string TypeScriptType(std::string_view type) {
  constexpr std::string_view kVector = "std::vector<";
  if (type.starts_with(kVector)) {
    return TypeScriptType(type.substr(kVector.size(), type.size() - kVector.size() - 1)) + "[]";
  }
  if (type == "int32_t" || type == "int64_t" || type == "double") return "number";
  if (type == "bool") return "boolean";
  if (type == "std::string") return "string";
  if (type == "JsonCells") return "Cell[][]";
  return std::string(type);
}

// The JSON text of a message.
template <class Message>
std::string ToJson(const Message& message) {
  base::JsonWriter json(nullptr);
  WriteJson(json, message);
  return json.Take();
}

}  // namespace sonde::serve
