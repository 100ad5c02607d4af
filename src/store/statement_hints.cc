#include "store/statement_hints.h"

#include <algorithm>
#include <vector>

#include "base/strings.h"
#include "store/schema.h"

namespace sonde::store::internal {
namespace {

using base::Concat;

struct RenamedColumn {
  std::string_view table;
  std::string_view old_name;
  std::string_view new_name;
};
#define COLUMN(table, old_name, new_name) RenamedColumn{table, old_name, new_name},
constexpr RenamedColumn kRenamed[] = {
#include "store/renamed_columns.inc"
};
#undef COLUMN

// The text between `mark` and `end`; "" where the mark is missing.
std::string_view Behind(std::string_view message, std::string_view mark, std::string_view end) {
  const size_t at = message.find(mark);
  if (at == std::string_view::npos) return {};
  message.remove_prefix(at + mark.size());
  return message.substr(0, message.find(end));
}

// Of the database itself, and those behind views.
bool IsInternal(std::string_view table) {
  for (const char* prefix : {"pg_", "sqlite_", "duckdb_", "information_schema", "pragma_"}) {
    if (table.starts_with(prefix)) return true;
  }
  return table.ends_with('_') || table.ends_with("_packed");
}

std::string TableHint(std::string_view message, std::string_view unknown,
                      std::span<const std::string> made) {
  std::vector<std::string> names(made.begin(), made.end());
  for (const TableInfo& table : Tables()) names.emplace_back(table.name);
  names.insert(names.end(), {"args", "trace"});
  std::string_view other = Behind(message, "Did you mean \"", "\"");
  other.remove_prefix(other.rfind('.') + 1);
  if (!other.empty() && !IsInternal(other)) names.emplace_back(other);
  const std::string typed = base::ToLower(unknown);
  const size_t limit = std::max<size_t>(1, typed.size() / 3);
  const auto distance = [&](const std::string& name) { return base::EditDistance(typed, name); };
  const auto nearest = std::min_element(
      names.begin(), names.end(),
      [&](const std::string& a, const std::string& b) { return distance(a) < distance(b); });
  if (distance(*nearest) > limit) return "; `sonde query --schema` lists the tables";
  return Concat("; did you mean \"", *nearest, "\"?");
}

// Whether the statement, in small letters, has the word; "group by" is none of a column.
bool HasWord(std::string_view statement, std::string_view word) {
  const auto is_of_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  for (size_t at = statement.find(word); at != std::string_view::npos;
       at = statement.find(word, at + 1)) {
    if (at > 0 && is_of_word(statement[at - 1])) continue;
    const std::string_view behind = statement.substr(at + word.size());
    if (!behind.empty() && is_of_word(behind.front())) continue;
    if (!base::Trim(behind).starts_with("by ")) return true;
  }
  return false;
}

// The column that the database does not know.
std::string_view UnknownColumn(std::string_view message) {
  for (const char* mark : {"Referenced column \"", "does not have a column named \""}) {
    const std::string_view column = Behind(message, mark, "\"");
    if (!column.empty()) return column;
  }
  return {};
}

std::string ColumnHint(std::string_view message, std::string_view statement) {
  const std::string column = base::ToLower(UnknownColumn(message));
  const std::string text = base::ToLower(statement);
  // An old name may be a keyword of SQL: the database then reports a syntax error somewhere.
  const bool is_syntax = message.find("syntax error at or near") != std::string_view::npos;
  for (const RenamedColumn& renamed : kRenamed) {
    const bool is_meant = is_syntax ? HasWord(text, renamed.old_name) : renamed.old_name == column;
    if (!is_meant || !HasWord(text, renamed.table)) continue;
    return Concat("; the column ", renamed.old_name, " of ", renamed.table, " is called ",
                  renamed.new_name, " now");
  }
  return {};
}

// Its first line, which ends like a sentence.
std::string_view FirstLine(std::string_view message) {
  message = message.substr(0, message.find('\n'));
  while (message.ends_with('!') || message.ends_with('.')) message.remove_suffix(1);
  return message;
}

}  // namespace

std::string WithHint(std::string_view message, std::string_view statement,
                     std::span<const std::string> made) {
  const std::string_view unknown = Behind(message, "Table with name ", " does not exist");
  if (!unknown.empty()) return Concat(FirstLine(message), TableHint(message, unknown, made));
  const std::string column = ColumnHint(message, statement);
  return column.empty() ? std::string(message) : Concat(FirstLine(message), column);
}

}  // namespace sonde::store::internal
