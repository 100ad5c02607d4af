// What helps with a statement that the database refuses: the table that was meant, and the new name
// of a column that is called otherwise now.
//
// Pure, any thread. Private to this folder.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace sonde::store::internal {

// The message of the database, in one line with what is known better. `made`: names of tables that
// are made when they are asked for (made_tables.h).
std::string WithHint(std::string_view message, std::string_view statement,
                     std::span<const std::string> made);

}  // namespace sonde::store::internal
