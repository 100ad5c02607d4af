#include "store/result_info.h"

#include <algorithm>

#include "base/strings.h"

namespace sonde::store {
namespace {

using base::Concat;

// "key (device)", "measure, less is better", "label".
std::string RoleText(const ResultRole& role) {
  std::string text(role.role);
  if (!role.space.empty()) text += Concat(" (", role.space, ")");
  if (!role.better.empty()) text += Concat(", ", role.better, " is better");
  return text;
}

}  // namespace

std::string_view ResultSqlType(ResultType type) {
  if (type == ResultType::kText || type == ResultType::kOptText) return "VARCHAR";
  return type == ResultType::kDouble ? "DOUBLE" : "BIGINT";
}

std::string CreateResultSql(const ResultInfo& result, std::string_view table,
                            std::span<const ResultColumnInfo> leading) {
  std::string columns;
  const auto add = [&](const ResultColumnInfo& column) {
    columns +=
        Concat(columns.empty() ? "\"" : ", \"", column.name, "\" ", ResultSqlType(column.type));
  };
  for (const ResultColumnInfo& column : leading) add(column);
  for (const ResultColumnInfo& column : result.columns) add(column);
  return Concat("CREATE TABLE \"", table, "\" (", columns, ")");
}

std::string ResultsMarkdown(std::span<const ResultInfo* const> results) {
  std::string out =
      "# Results\n\n"
      "Made from the declarations in `src/recipes`; do not edit.\n\n"
      "Analyses of a trace whose results are tables: any statement may name them like the tables\n"
      "of the trace ([store.md](store.md)), and they are computed when it does. Times are integer\n"
      "nanoseconds. Rows of two results whose keys of one space (in parentheses) are equal "
      "describe\n"
      "the same thing.\n";
  for (const ResultInfo* result : results) {
    out += Concat("\n## ", result->name, "\n\n", base::Capitalised(result->meaning),
                  ".\n\n| Column | Type | Unit | Role | Meaning |\n|---|---|---|---|---|\n");
    for (const ResultColumnInfo& column : result->columns) {
      out += Concat("| `", column.name, "` | ", ResultSqlType(column.type), " | ", column.unit,
                    " | ", RoleText(column.role), " | ", column.meaning, " |\n");
    }
  }
  return out;
}

std::string ResultsText(std::span<const ResultInfo* const> results) {
  std::string out;
  for (const ResultInfo* result : results) {
    out += Concat(result->name, ": result: ", result->meaning, "\n");
    for (const ResultColumnInfo& column : result->columns) {
      std::string line = Concat("  ", column.name);
      line.resize(std::max<size_t>(line.size() + 1, 26), ' ');
      line += ResultSqlType(column.type);
      line.resize(std::max<size_t>(line.size() + 1, 36), ' ');
      line += column.meaning;
      if (!column.unit.empty()) line += Concat(" (", column.unit, ")");
      out += line + "\n";
    }
  }
  return out;
}

}  // namespace sonde::store
