// Hints for a statement that the database refuses: the table that was meant, and the new name of a
// renamed column.
//
// Pure, any thread. Private to this folder.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace sonde::store::internal {

// The message of the database, in one line with the hint. `made`: names of tables that are computed
// on demand (made_tables.h).
std::string WithHint(std::string_view message, std::string_view statement,
                     std::span<const std::string> made);

}  // namespace sonde::store::internal
