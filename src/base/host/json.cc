#include "base/host/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/strings.h"

namespace sonde::base {
namespace {

using Node = nlohmann::json;

constexpr size_t kMaxConfigBytes = size_t{64} << 20U;

const Node& AsNode(const void* node) {
  static const Node null;
  return node == nullptr ? null : *static_cast<const Node*>(node);
}

// "line 3, column 7" of a byte offset counted from 1.
std::string Position(std::string_view text, size_t byte) {
  const std::string_view before = text.substr(0, byte == 0 ? 0 : byte - 1);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t line_start = before.rfind('\n') + 1;  // npos + 1 is 0
  return Concat("line ", std::to_string(line), ", column ",
                std::to_string(before.size() - line_start + 1));
}

Status WrongType(std::string_view wanted, const Node& node) {
  return InvalidArgumentError(Concat("must be ", wanted, ", not ", node.type_name()));
}

std::string KeyContext(std::string_view key) { return Concat("'", key, "'"); }

}  // namespace

bool JsonValue::IsNull() const { return AsNode(node_).is_null(); }
bool JsonValue::IsObject() const { return AsNode(node_).is_object(); }
bool JsonValue::IsArray() const { return AsNode(node_).is_array(); }
bool JsonValue::IsString() const { return AsNode(node_).is_string(); }
bool JsonValue::IsNumber() const { return AsNode(node_).is_number(); }
bool JsonValue::IsBool() const { return AsNode(node_).is_boolean(); }

JsonValue JsonValue::operator[](std::string_view key) const {
  const Node& node = AsNode(node_);
  if (!node.is_object()) return {};
  const auto member = node.find(key);
  return member == node.end() ? JsonValue() : JsonValue(&*member);
}

JsonValue JsonValue::operator[](size_t index) const {
  const Node& node = AsNode(node_);
  return node.is_array() && index < node.size() ? JsonValue(&node[index]) : JsonValue();
}

size_t JsonValue::Size() const {
  const Node& node = AsNode(node_);
  return node.is_structured() ? node.size() : 0;
}

std::vector<JsonValue> JsonValue::Elements() const {
  std::vector<JsonValue> elements;
  if (!IsArray()) return elements;
  for (const Node& element : AsNode(node_)) elements.push_back(JsonValue(&element));
  return elements;
}

std::vector<std::pair<std::string, JsonValue>> JsonValue::Members() const {
  std::vector<std::pair<std::string, JsonValue>> members;
  if (!IsObject()) return members;
  for (const auto& [key, value] : AsNode(node_).items()) {
    members.emplace_back(key, JsonValue(&value));
  }
  return members;
}

Result<std::string> JsonValue::AsString() const {
  const Node& node = AsNode(node_);
  if (!node.is_string()) return WrongType("a text", node);
  return node.get<std::string>();
}

Result<int64_t> JsonValue::AsInt() const {
  const Node& node = AsNode(node_);
  if (node.is_number_unsigned() && node.get<uint64_t>() > uint64_t{INT64_MAX}) {
    return InvalidArgumentError("is too large");
  }
  if (!node.is_number_integer()) return WrongType("a whole number", node);
  return node.get<int64_t>();
}

Result<double> JsonValue::AsDouble() const {
  const Node& node = AsNode(node_);
  if (!node.is_number()) return WrongType("a number", node);
  return node.get<double>();
}

Result<bool> JsonValue::AsBool() const {
  const Node& node = AsNode(node_);
  if (!node.is_boolean()) return WrongType("true or false", node);
  return node.get<bool>();
}

Result<std::string> JsonValue::GetString(std::string_view key, std::string_view fallback) const {
  const JsonValue member = (*this)[key];
  if (member.IsNull()) return std::string(fallback);
  return member.AsString().Annotate(KeyContext(key));
}

Result<int64_t> JsonValue::GetInt(std::string_view key, int64_t fallback) const {
  const JsonValue member = (*this)[key];
  if (member.IsNull()) return fallback;
  return member.AsInt().Annotate(KeyContext(key));
}

Result<double> JsonValue::GetDouble(std::string_view key, double fallback) const {
  const JsonValue member = (*this)[key];
  if (member.IsNull()) return fallback;
  return member.AsDouble().Annotate(KeyContext(key));
}

Result<bool> JsonValue::GetBool(std::string_view key, bool fallback) const {
  const JsonValue member = (*this)[key];
  if (member.IsNull()) return fallback;
  return member.AsBool().Annotate(KeyContext(key));
}

std::string JsonValue::Dump() const {
  return AsNode(node_).dump(-1, ' ', false, Node::error_handler_t::replace);
}

Result<JsonDocument> JsonDocument::Parse(std::string_view text, std::string_view source) {
  // The library reports the place of an error only by an exception.
  try {
    return JsonDocument(std::make_shared<const Node>(Node::parse(text.begin(), text.end())));
  } catch (const Node::parse_error& error) {
    return CorruptDataError(Concat(source, ": not valid JSON at ", Position(text, error.byte)));
  } catch (const Node::exception& error) {
    return CorruptDataError(Concat(source, ": not valid JSON: ", error.what()));
  }
}

Result<JsonDocument> JsonDocument::ReadFile(const std::string& path) {
  SONDE_ASSIGN_OR_RETURN(const std::string text, base::ReadFile(path, kMaxConfigBytes));
  return Parse(text, path);
}

}  // namespace sonde::base
