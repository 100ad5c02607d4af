// JSON text laid out as Python's json.dump(..., indent=N) does; numbers and texts stay as they are.
// Pure, any thread.
#pragma once

#include <string>
#include <string_view>

namespace sonde::precision {

// Text that is no JSON is handed out as it is.
std::string PrettyJson(std::string_view json, int indent);

// In quotes, with the escapes that JSON demands; other characters stay.
void AppendJsonText(std::string_view text, std::string* out);

}  // namespace sonde::precision
