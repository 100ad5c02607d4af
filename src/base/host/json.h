// Small JSON documents (configuration, metadata), read whole; failures as Status.
//
//   SONDE_ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::ReadFile(path));
//   SONDE_ASSIGN_OR_RETURN(const int64_t steps, document.root().GetInt("steps", 0));
//   for (const JsonValue& rank : document.root()["ranks"].Elements()) ...
//
// Reading is forgiving about absent values (a missing member is a null value, getters take a
// fallback) and strict about types: the wrong one is kInvalidArgument with a message that names key
// and types. Large files go through simdjson in the importers; output through JsonWriter.
// Ownership: a JsonValue points into its document and must not outlive it.
// Threads: documents are constant; any thread may read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace sonde::base {

class JsonValue {
 public:
  JsonValue() = default;  // null

  bool IsNull() const;
  bool IsObject() const;
  bool IsArray() const;
  bool IsString() const;
  bool IsNumber() const;
  bool IsBool() const;

  // The member or element; null where there is none, also for values of another type.
  JsonValue operator[](std::string_view key) const;
  JsonValue operator[](size_t index) const;
  // Members of an object or elements of an array; 0 for everything else.
  size_t Size() const;
  std::vector<JsonValue> Elements() const;                         // of an array
  std::vector<std::pair<std::string, JsonValue>> Members() const;  // of an object, sorted by key

  Result<std::string> AsString() const;
  Result<int64_t> AsInt() const;
  Result<double> AsDouble() const;
  Result<bool> AsBool() const;

  // The member `key`, converted; `fallback` where it is absent or null.
  Result<std::string> GetString(std::string_view key, std::string_view fallback) const;
  Result<int64_t> GetInt(std::string_view key, int64_t fallback) const;
  Result<double> GetDouble(std::string_view key, double fallback) const;
  Result<bool> GetBool(std::string_view key, bool fallback) const;

  // Compact JSON of this value, members sorted by key.
  std::string Dump() const;

 private:
  friend class JsonDocument;
  explicit JsonValue(const void* node) : node_(node) {}
  const void* node_ = nullptr;  // a node of the JSON library; null: a null value
};

class JsonDocument {
 public:
  // `source` names the text in messages: "config.json: not valid JSON at line 3, column 7".
  static Result<JsonDocument> Parse(std::string_view text, std::string_view source);
  // At most 64 MiB.
  static Result<JsonDocument> ReadFile(const std::string& path);

  JsonValue root() const { return JsonValue(root_.get()); }

 private:
  explicit JsonDocument(std::shared_ptr<const void> root) : root_(std::move(root)) {}
  std::shared_ptr<const void> root_;
};

}  // namespace sonde::base
