// Texts and names inside statements, and the end of a statement: SQL as the database's lexer splits
// it, no further. Threads: any.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/host/sql_name.h"

namespace sonde::store {

// A text as a literal: 'it''s'.
std::string SqlText(std::string_view text);
using base::SqlName;

// Place of the first character that is no space or comment.
size_t SkipBlank(std::string_view sql);
// Place of the `;` that ends the first statement; sql.size() where none does.
size_t EndOfStatement(std::string_view sql);
// Whether `sql` ends with a `;` that ends a statement, and blank after it.
bool IsEnded(std::string_view sql);

}  // namespace sonde::store
