// The schema of the trace store as data: for DDL, for `sonde query --schema` and for the reference
// page. Made from tables.h. Pure, any thread.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "store/rows.h"

namespace sonde::store {

// Raised when a table or column changes meaning; a store of another version is imported again.
inline constexpr int kSchemaVersion = 5;

// How many traces a file has rows of: with several (pack.h) all tables but that of texts have a
// column `trace` in front, the place of the trace in the file.
enum class Of : uint8_t { kOne, kSeveral };

struct ColumnInfo {
  std::string_view name;
  ColumnType type;
  std::string_view unit;  // of Lookup columns: "table(columns)"
  std::string_view meaning;
  std::string_view source;  // the switch that fills it
};

struct TableInfo {
  std::string_view name;        // public name
  std::string_view base_table;  // numbers only; differs from `name` where a view adds texts
  std::string_view stored;      // the table itself; differs from `base_table` where it is packed
  std::string_view meaning;
  std::span<const ColumnInfo> columns;
};

std::span<const TableInfo> Tables();
// Null where there is none; takes public and base names.
const TableInfo* FindTable(std::string_view name);

// Type of a column in the file and in the public view ("BIGINT", "VARCHAR", ...).
std::string_view BaseSqlType(ColumnType type);
std::string_view ViewSqlType(ColumnType type);

// The columns that users see of a table, those of lookup tables included.
std::vector<ColumnInfo> PublicColumns(const TableInfo& table);

// One statement a table and view.
std::vector<std::string> CreateStatements(Of of = Of::kOne);

// docs/reference/store.md, and the plain text of `sonde query --schema`.
std::string SchemaMarkdown();
std::string SchemaText();

}  // namespace sonde::store
