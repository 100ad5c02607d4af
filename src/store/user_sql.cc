#include "store/user_sql.h"

#include <duckdb.h>

#include <algorithm>
#include <array>

#include "base/strings.h"
#include "store/duckdb_statements.h"
#include "store/sql_text.h"

namespace sonde::store::internal {
namespace {

using base::Concat;

// First words of statements that do more than read. Other words are no statement, or reach
// CheckKind.
constexpr std::array kWriting = std::to_array<std::string_view>(
    {"ABORT",      "ALTER",   "ANALYSE", "ANALYZE", "ATTACH", "BEGIN",  "CALL",    "CHECKPOINT",
     "COMMENT",    "COMMIT",  "COPY",    "CREATE",  "DELETE", "DETACH", "DROP",    "END",
     "DEALLOCATE", "EXECUTE", "EXPORT",  "FORCE",   "IMPORT", "INSERT", "INSTALL", "LOAD",
     "MERGE",      "PREPARE", "REPLACE", "RESET",   "REVOKE", "SET",    "START",   "ROLLBACK",
     "TRUNCATE",   "UPDATE",  "USE",     "VACUUM"});

// Functions that change the database, or run text as a statement of its own. A call of one of them
// is recognized by its name and a parenthesis.
constexpr std::array kRefusedFunctions = std::to_array<std::string_view>(
    {"enable_logging", "disable_logging", "truncate_duckdb_logs", "enable_profiling",
     "disable_profiling", "enable_peg_parser", "disable_peg_parser", "checkpoint",
     "force_checkpoint", "query", "json_execute_serialized_sql"});

std::string Upper(std::string_view text) {
  std::string upper(text);
  std::transform(upper.begin(), upper.end(), upper.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return upper;
}

// The word at the start of `text`, else its first character.
std::string_view FirstWord(std::string_view text) {
  const auto is_part = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  const auto end = std::find_if_not(text.begin(), text.end(), is_part);
  const auto size = static_cast<size_t>(end - text.begin());
  return text.substr(0, std::max<size_t>(size, 1));
}

void TakeWord(std::string_view& text) {
  text.remove_prefix(FirstWord(text).size());
  text.remove_prefix(SkipBlank(text));
}

Status Refusal(std::string_view what) {
  return base::InvalidArgumentError(Concat("statements here only read: ", what, " is refused"));
}

// The statement behind EXPLAIN: ANALYZE would run it.
std::string_view Explained(std::string_view statement) {
  TakeWord(statement);
  const std::string word = Upper(FirstWord(statement));
  if (word == "ANALYZE" || word == "ANALYSE") {
    TakeWord(statement);
  } else if (word == "(") {
    std::string_view inner = statement.substr(1);
    inner.remove_prefix(SkipBlank(inner));
    const std::string option = Upper(FirstWord(inner));
    if (option == "ANALYZE" || option == "ANALYSE" || option == "FORMAT") {
      statement.remove_prefix(std::min(statement.find(')'), statement.size() - 1) + 1);
      statement.remove_prefix(SkipBlank(statement));
    }
  }
  return statement;
}

// The statement as the database's parser understands it, as JSON in capital letters; empty where it
// is no query.
std::string ParsedQuery(Connection& connection, std::string_view statement) {
  Prepared prepared;
  QueryResult result;
  if (duckdb_prepare(connection.handle, "SELECT json_serialize_sql($1::VARCHAR)",
                     &prepared.handle) == DuckDBError ||
      duckdb_bind_varchar_length(prepared.handle, 1, statement.data(), statement.size()) ==
          DuckDBError ||
      duckdb_execute_prepared(prepared.handle, &result.handle) == DuckDBError) {
    return "";
  }
  const DataChunk chunk(duckdb_fetch_chunk(result.handle));
  if (chunk.handle == nullptr || duckdb_data_chunk_get_size(chunk.handle) != 1) return "";
  auto* text = static_cast<duckdb_string_t*>(
      duckdb_vector_get_data(duckdb_data_chunk_get_vector(chunk.handle, 0)));
  std::string parsed = Upper({duckdb_string_t_data(text), duckdb_string_t_length(*text)});
  return parsed.starts_with(R"({"ERROR":FALSE)") ? parsed : "";
}

// Whether `upper` may hold a call of `function`: its name and, quote, spaces and comments aside, a
// parenthesis. It may do so in a text, too.
bool MayCall(std::string_view upper, std::string_view function) {
  for (size_t at = upper.find(function); at != std::string_view::npos;
       at = upper.find(function, at + 1)) {
    std::string_view rest = upper.substr(at + function.size());
    if (rest.starts_with('"')) rest.remove_prefix(1);
    rest.remove_prefix(SkipBlank(rest));
    if (rest.starts_with('(')) return true;
  }
  return false;
}

Status CheckFunctions(Connection& connection, const std::string& statement,
                      std::string_view query) {
  const std::string upper = Upper(statement);
  std::string parsed;
  for (const std::string_view function : kRefusedFunctions) {
    const std::string name = Upper(function);
    if (!MayCall(upper, name)) continue;
    if (parsed.empty()) parsed = ParsedQuery(connection, query);
    const bool is_called = parsed.empty() || parsed.find(Concat(R"("FUNCTION_NAME":")", name,
                                                                "\"")) != std::string::npos;
    if (is_called) return Refusal(Concat("the function ", function));
  }
  return {};
}

// PRAGMAs cannot be part of a query, by which values without a plain layout become text.
std::string WithoutPragma(std::string_view statement) {
  std::string_view rest = statement;
  if (Upper(FirstWord(rest)) != "PRAGMA") return std::string(statement);
  TakeWord(rest);
  const std::string name = Upper(FirstWord(rest));
  TakeWord(rest);
  if (name == "SHOW_TABLES_EXPANDED") return "SHOW ALL TABLES";
  if (name == "FUNCTIONS") {
    return "SELECT function_name AS name, upper(function_type) AS type, parameter_types AS "
           "parameters, varargs, return_type FROM duckdb_functions() ORDER BY 1";
  }
  if (name != "STORAGE_INFO" && name != "METADATA_INFO") return std::string(statement);
  std::string argument(rest.starts_with('(') ? rest.substr(1, rest.find(')') - 1) : "");
  const std::string_view word = base::Trim(argument);
  if (!word.empty() && word.find_first_of("'\"") == std::string_view::npos) {
    argument = Concat("'", word, "'");
  }
  return Concat("SELECT * FROM pragma_", name == "STORAGE_INFO" ? "storage" : "metadata", "_info(",
                argument, ")");
}

}  // namespace

Result<std::string> OneStatement(std::string_view sql) {
  const auto skip_ends = [](std::string_view& text) {
    text.remove_prefix(SkipBlank(text));
    while (text.starts_with(';')) {
      text.remove_prefix(1);
      text.remove_prefix(SkipBlank(text));
    }
  };
  skip_ends(sql);
  const std::string_view statement = sql.substr(0, EndOfStatement(sql));
  sql.remove_prefix(statement.size());
  skip_ends(sql);
  if (!sql.empty()) {
    return base::InvalidArgumentError("one statement at a time: there is another behind the ';'");
  }
  if (statement.empty()) return base::InvalidArgumentError("there is no statement");
  return WithoutPragma(statement);
}

Status CheckWords(Connection& connection, const std::string& statement) {
  const bool is_explain = Upper(FirstWord(statement)) == "EXPLAIN";
  const std::string_view query = is_explain ? Explained(statement) : statement;
  const std::string word = Upper(FirstWord(query));
  if (std::find(kWriting.begin(), kWriting.end(), word) != kWriting.end()) {
    return Refusal(is_explain ? Concat("EXPLAIN of ", word) : word);
  }
  return CheckFunctions(connection, statement, query);
}

Status CheckKind(Connection& connection, const std::string& statement, int kind) {
  if (kind == DUCKDB_STATEMENT_TYPE_SELECT) return {};
  if (kind != DUCKDB_STATEMENT_TYPE_EXPLAIN) return Refusal(Upper(FirstWord(statement)));
  const std::string query(Explained(statement));
  const Extracted extracted(connection.handle, query.c_str());
  Prepared inner;
  const bool is_read = extracted.count == 1 &&
                       duckdb_prepare_extracted_statement(connection.handle, extracted.handle, 0,
                                                          &inner.handle) == DuckDBSuccess &&
                       duckdb_prepared_statement_type(inner.handle) == DUCKDB_STATEMENT_TYPE_SELECT;
  return is_read ? Status() : Refusal(Concat("EXPLAIN of ", Upper(FirstWord(query))));
}

// The database splits one query into several statements only for the values of a PIVOT, which it
// first collects into a type of this connection. Parentheses cannot contain a `;`: a text that
// parses with and without them is one query. The parts of an EXPLAIN get a transaction around them.
Result<size_t> CheckParts(Connection& connection, const std::string& statement, size_t parts) {
  const bool is_explain = Upper(FirstWord(statement)) == "EXPLAIN";
  const std::string_view query = is_explain ? Explained(statement) : statement;
  const std::string in_parentheses = Concat("SELECT * FROM (", query, "\n)");
  const Extracted extracted(connection.handle, in_parentheses.c_str());
  constexpr size_t kTransaction = 2;
  if (!is_explain && extracted.count == parts) return parts - 1;
  if (is_explain && extracted.count + kTransaction == parts) return parts - kTransaction;
  return Refusal(Upper(FirstWord(statement)));
}

}  // namespace sonde::store::internal
