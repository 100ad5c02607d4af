// Names inside SQL statements. Pure, any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/strings.h"

namespace sonde::base {

// A name of a table or column, whatever it holds: "a ""b""".
inline std::string SqlName(std::string_view name) {
  return Concat("\"", ReplaceAll(name, "\"", "\"\""), "\"");
}

}  // namespace sonde::base
