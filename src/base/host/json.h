// Small JSON documents (configuration, metadata) by nlohmann/json, with failures as Status.
//
// Include this in .cc files only: it brings the whole library. Large files go through simdjson.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/status.h"

namespace sonde::base {

using Json = nlohmann::json;

// `source` names the text in the message: "config.json: line 3, column 7: ...".
Result<Json> ParseJson(std::string_view text, std::string_view source);
// A configuration file: at most 64 MiB.
Result<Json> ReadJsonFile(const std::string& path);

// The member `key` of `object`, converted; `fallback` where it is absent or null. The wrong type is
// kInvalidArgument with a message that names the key and both types.
Result<std::string> GetString(const Json& object, std::string_view key, std::string_view fallback);
Result<int64_t> GetInt(const Json& object, std::string_view key, int64_t fallback);
Result<double> GetDouble(const Json& object, std::string_view key, double fallback);
Result<bool> GetBool(const Json& object, std::string_view key, bool fallback);

}  // namespace sonde::base
