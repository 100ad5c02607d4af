#include "base/host/json.h"

#include <algorithm>

#include "base/files.h"
#include "base/strings.h"

namespace sonde::base {
namespace {

constexpr size_t kMaxConfigBytes = size_t{64} << 20U;

// "line 3, column 7" of a byte offset counted from 1.
std::string Position(std::string_view text, size_t byte) {
  const std::string_view before = text.substr(0, byte == 0 ? 0 : byte - 1);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t break_at = before.rfind('\n');
  const size_t column =
      break_at == std::string_view::npos ? before.size() : before.size() - break_at - 1;
  return Concat("line ", std::to_string(line), ", column ", std::to_string(column + 1));
}

// Null where the key is absent or its value is null.
Result<const Json*> FindMember(const Json& object, std::string_view key) {
  if (!object.is_object()) {
    return InvalidArgumentError(Concat("expected an object, found ", object.type_name()));
  }
  const auto member = object.find(key);
  if (member == object.end() || member->is_null()) return nullptr;
  return &*member;
}

Status WrongType(std::string_view key, std::string_view wanted, const Json& value) {
  return InvalidArgumentError(Concat("'", key, "' must be ", wanted, ", not ", value.type_name()));
}

}  // namespace

Result<Json> ParseJson(std::string_view text, std::string_view source) {
  // The library tells of bad input by exceptions only where its message is wanted.
  try {
    return Json::parse(text.begin(), text.end());
  } catch (const Json::parse_error& error) {
    return CorruptDataError(Concat(source, ": not valid JSON at ", Position(text, error.byte)));
  } catch (const Json::exception& error) {
    return CorruptDataError(Concat(source, ": not valid JSON: ", error.what()));
  }
}

Result<Json> ReadJsonFile(const std::string& path) {
  SONDE_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxConfigBytes));
  return ParseJson(text, path);
}

Result<std::string> GetString(const Json& object, std::string_view key, std::string_view fallback) {
  SONDE_ASSIGN_OR_RETURN(const Json* value, FindMember(object, key));
  if (value == nullptr) return std::string(fallback);
  if (!value->is_string()) return WrongType(key, "a text", *value);
  return value->get<std::string>();
}

Result<int64_t> GetInt(const Json& object, std::string_view key, int64_t fallback) {
  SONDE_ASSIGN_OR_RETURN(const Json* value, FindMember(object, key));
  if (value == nullptr) return fallback;
  if (value->is_number_unsigned() && value->get<uint64_t>() > uint64_t{INT64_MAX}) {
    return InvalidArgumentError(Concat("'", key, "' is too large"));
  }
  if (!value->is_number_integer()) return WrongType(key, "a whole number", *value);
  return value->get<int64_t>();
}

Result<double> GetDouble(const Json& object, std::string_view key, double fallback) {
  SONDE_ASSIGN_OR_RETURN(const Json* value, FindMember(object, key));
  if (value == nullptr) return fallback;
  if (!value->is_number()) return WrongType(key, "a number", *value);
  return value->get<double>();
}

Result<bool> GetBool(const Json& object, std::string_view key, bool fallback) {
  SONDE_ASSIGN_OR_RETURN(const Json* value, FindMember(object, key));
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) return WrongType(key, "true or false", *value);
  return value->get<bool>();
}

}  // namespace sonde::base
