// What the database says of a statement that it refuses or that fails, as one line for people.
//
// A message of the database repeats the value that did not fit (a text of a megabyte that is no
// number), draws a picture of the statement, and lists candidates on lines of their own. Pure, any
// thread. Private to this folder.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace sonde::store::internal {

// Without the picture, with the hint of statement_hints.h; long values have "..." in their middle,
// control characters are '?'. `made`: as WithHint.
std::string StatementMessage(std::string_view message, std::string_view statement,
                             std::span<const std::string> made);

// Of a message of memory that ran out: without the settings that it recommends, which statements
// here may not change. "" where the message is another one.
std::string OutOfMemoryMessage(std::string_view message);

}  // namespace sonde::store::internal
