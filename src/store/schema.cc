#include "store/schema.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/check.h"
#include "base/strings.h"
#include "store/sql_text.h"

namespace sonde::store {
namespace {

using base::Concat;

#define SONDE_STORE_COLUMN(column, type, unit, meaning, source) \
  ColumnInfo{#column, ColumnType::k##type, unit, meaning, source},
#define SONDE_STORE_COLUMNS(Row, table, columns, meaning) \
  constexpr auto kColumnsOf##Row = std::to_array<ColumnInfo>({columns(SONDE_STORE_COLUMN)});
SONDE_TABLES(SONDE_STORE_COLUMNS)
#undef SONDE_STORE_COLUMNS
#undef SONDE_STORE_COLUMN

#define SONDE_STORE_TABLE(Row, table, columns, meaning) \
  TableInfo{#table, RowTraits<Row>::kTable, RowTraits<Row>::kStored, meaning, kColumnsOf##Row},
constexpr auto kTables = std::to_array<TableInfo>({SONDE_TABLES(SONDE_STORE_TABLE)});
#undef SONDE_STORE_TABLE

// The union of the three argument tables; the only public name without a table of its own.
std::string ArgsView(Of of) {
  const std::string trace = of == Of::kSeveral ? "trace, " : "";
  return Concat(
      "CREATE VIEW args AS "
      "SELECT ",
      trace,
      "args_id, n.name AS key, value::VARCHAR AS value, value AS int_value, "
      "NULL::DOUBLE AS double_value FROM args_int_ LEFT JOIN name_ n ON n.name_id = key "
      "UNION ALL SELECT ",
      trace,
      "args_id, n.name, value::VARCHAR, NULL, value "
      "FROM args_double_ LEFT JOIN name_ n ON n.name_id = key "
      "UNION ALL SELECT ",
      trace,
      "args_id, n.name, v.name, NULL, CASE WHEN form = 2 THEN "
      "TRY_CAST(v.name AS DOUBLE) END FROM args_text_ LEFT JOIN name_ n ON n.name_id = key "
      "LEFT JOIN name_ v ON v.name_id = value");
}

struct Lookup {
  const TableInfo* table;
  std::vector<ColumnInfo> columns;  // of the lookup table's public view, key excepted
};

// "task_kind(*)" or "track(process_id,device_id)".
Lookup ParseLookup(std::string_view unit) {
  const size_t open = unit.find('(');
  CHECK(open != std::string_view::npos && unit.back() == ')', "Lookup needs table(columns)");
  Lookup lookup{FindTable(unit.substr(0, open)), {}};
  CHECK(lookup.table != nullptr, "Lookup names a table that is not declared");
  const std::string_view list = unit.substr(open + 1, unit.size() - open - 2);
  for (const ColumnInfo& column : PublicColumns(*lookup.table)) {
    if (column.name == lookup.table->columns[0].name) continue;
    bool wanted = list == "*";
    for (const std::string_view name : base::Split(list, ',')) wanted |= name == column.name;
    if (wanted) lookup.columns.push_back(column);
  }
  return lookup;
}

// Texts are shared by all traces and have no column for the trace.
bool HasTrace(const TableInfo& table, Of of) {
  return of == Of::kSeveral && table.stored != RowTraits<NameRow>::kStored;
}

std::string CreateTable(const TableInfo& table, Of of) {
  const bool is_of_names = table.stored == RowTraits<NameRow>::kStored;
  std::string columns = HasTrace(table, of) ? "trace INTEGER" : "";
  for (const ColumnInfo& column : table.columns) {
    if (!columns.empty()) columns += ", ";
    columns += Concat(SqlName(column.name), " ", BaseSqlType(column.type));
    // Names are unique: a dictionary, which the database would try first, saves nothing.
    if (is_of_names && column.type == ColumnType::kText) columns += " USING COMPRESSION fsst";
  }
  if (table.stored != table.base_table) columns = Concat("r STRUCT(", columns, ")");
  return Concat("CREATE TABLE ", SqlName(table.stored), " (", columns, ")");
}

// The tables of arguments: a set consists of its own rows and those of the part that it shares.
bool HasSharedRows(const TableInfo& table) {
  return table.columns[0].name == "args_id" && table.stored != RowTraits<ArgsSharedRow>::kStored;
}

// The base table of a packed table: its fields as columns.
std::string CreateUnpacked(const TableInfo& table, Of of) {
  std::string columns = HasTrace(table, of) ? "r.trace AS trace" : "";
  std::string shared_columns = HasTrace(table, of) ? "s.r.trace AS trace" : "";
  for (const ColumnInfo& column : table.columns) {
    const std::string name = SqlName(column.name);
    const bool is_set = column.name == "args_id";
    columns += Concat(columns.empty() ? "" : ", ", "r.", name, " AS ", name);
    shared_columns +=
        Concat(shared_columns.empty() ? "" : ", ", is_set ? "s.r." : "t.r.", name, " AS ", name);
  }
  std::string view = Concat("CREATE VIEW ", SqlName(table.base_table), " AS SELECT ", columns,
                            " FROM ", SqlName(table.stored));
  if (HasSharedRows(table)) {
    view += Concat(" WHERE r.args_id >= 0 UNION ALL SELECT ", shared_columns, " FROM ",
                   RowTraits<ArgsSharedRow>::kStored, " s JOIN ", SqlName(table.stored),
                   " t ON t.r.args_id = s.r.shared_id",
                   HasTrace(table, of) ? " AND t.r.trace = s.r.trace" : "");
  }
  return view;
}

// The names of such a column are found by an inner join, which the database does by place; an outer
// one, by hash, makes queries a fifth to a half slower. Only in tables with many rows, and for
// one column of each, since the database is free to change the order of two such joins.
bool IsFoundByPlace(const TableInfo& table, const ColumnInfo& column) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kColumns = {
      {{"slice", "category"}, {"flow", "kind"}}};
  return std::find(kColumns.begin(), kColumns.end(), std::pair(table.name, column.name)) !=
         kColumns.end();
}

std::string JoinNames(std::string_view join_name, std::string_view base_column, bool by_place) {
  // The name of number -1 (none) is NULL.
  constexpr std::string_view kAll =
      " JOIN (SELECT name_id, name FROM name_ UNION ALL SELECT -1, NULL) ";
  return Concat(by_place ? kAll : " LEFT JOIN name_ ", join_name, " ON ", join_name,
                ".name_id = ", base_column);
}

std::string CreateView(const TableInfo& table, Of of) {
  std::string select = HasTrace(table, of) ? "b.trace" : "";
  std::string joins;
  int alias = 0;
  for (const ColumnInfo& column : table.columns) {
    if (!select.empty()) select += ", ";
    const std::string base_column = Concat("b.", SqlName(column.name));
    const std::string join_name = Concat("j", std::to_string(alias));
    if (column.type == ColumnType::kName) {
      ++alias;
      select += Concat(join_name, ".name AS ", SqlName(column.name));
      joins += JoinNames(join_name, base_column, IsFoundByPlace(table, column));
    } else if (column.type == ColumnType::kLookup) {
      ++alias;
      const Lookup lookup = ParseLookup(column.unit);
      select += Concat("nullif(", base_column, ", -1) AS ", SqlName(column.name));
      for (const ColumnInfo& added : lookup.columns) {
        select += Concat(", ", join_name, ".", SqlName(added.name));
      }
      joins += Concat(" LEFT JOIN ", SqlName(lookup.table->name), " ", join_name, " ON ", join_name,
                      ".", SqlName(lookup.table->columns[0].name), " = ", base_column,
                      HasTrace(table, of) ? Concat(" AND ", join_name, ".trace = b.trace") : "");
    } else if (column.type == ColumnType::kRef || column.type == ColumnType::kOpt) {
      select += Concat("nullif(", base_column, ", -1) AS ", SqlName(column.name));
    } else {
      select += base_column;
    }
  }
  return Concat("CREATE VIEW ", SqlName(table.name), " AS SELECT ", select, " FROM ",
                SqlName(table.base_table), " b", joins);
}

std::string UnitOf(const ColumnInfo& column) {
  return column.type == ColumnType::kLookup ? std::string() : std::string(column.unit);
}

}  // namespace

std::span<const TableInfo> Tables() { return kTables; }

const TableInfo* FindTable(std::string_view name) {
  for (const TableInfo& table : kTables) {
    if (table.name == name || table.base_table == name) return &table;
  }
  return nullptr;
}

std::string_view BaseSqlType(ColumnType type) {
  switch (type) {
    case ColumnType::kInt16:
      return "SMALLINT";
    case ColumnType::kInt32:
    case ColumnType::kRef:
    case ColumnType::kName:
    case ColumnType::kLookup:
      return "INTEGER";
    case ColumnType::kInt64:
    case ColumnType::kOpt:
      return "BIGINT";
    case ColumnType::kDouble:
      return "DOUBLE";
    case ColumnType::kText:
      return "VARCHAR";
  }
  return "";
}

std::string_view ViewSqlType(ColumnType type) {
  return type == ColumnType::kName ? "VARCHAR" : BaseSqlType(type);
}

std::vector<ColumnInfo> PublicColumns(const TableInfo& table) {
  std::vector<ColumnInfo> columns;
  for (const ColumnInfo& column : table.columns) {
    columns.push_back(column);
    if (column.type != ColumnType::kLookup) continue;
    for (const ColumnInfo& added : ParseLookup(column.unit).columns) columns.push_back(added);
  }
  return columns;
}

std::vector<std::string> CreateStatements(Of of) {
  std::vector<std::string> statements;
  for (const TableInfo& table : kTables) statements.push_back(CreateTable(table, of));
  for (const TableInfo& table : kTables) {
    if (table.stored != table.base_table) statements.push_back(CreateUnpacked(table, of));
    if (table.name != table.base_table) statements.push_back(CreateView(table, of));
  }
  statements.push_back(ArgsView(of));
  return statements;
}

std::string SchemaMarkdown() {
  std::string out =
      "# Tables of the trace store\n\n"
      "Made from the declaration in `src/store/tables.h`; do not edit.\n\n"
      "A store is a DuckDB database. Times are integer nanoseconds of the Unix epoch. Texts are\n"
      "stored once in `name_`; the public names below are views that give them as text. Where a\n"
      "name is given as `NAME_`, that table holds numbers only (-1 stands for NULL) and is for\n"
      "tools that want speed.\n";
  for (const TableInfo& table : kTables) {
    out += Concat("\n## ", table.name, "\n\n", base::Capitalised(table.meaning), ".");
    if (table.name != table.base_table) out += Concat(" Numbers only: `", table.base_table, "`.");
    out += "\n\n| Column | Type | Unit | Meaning | Filled by |\n|---|---|---|---|---|\n";
    for (const ColumnInfo& column : PublicColumns(table)) {
      out += Concat("| `", column.name, "` | ", ViewSqlType(column.type), " | ", UnitOf(column),
                    " | ", column.meaning, " | ", column.source, " |\n");
    }
  }
  out +=
      "\n## args\n\n"
      "All arguments of all sets: `args_int`, `args_double` and `args_text` under one name.\n\n"
      "| Column | Type | Meaning |\n|---|---|---|\n"
      "| `args_id` | INTEGER | argument set |\n| `key` | VARCHAR | name of the argument |\n"
      "| `value` | VARCHAR | value as text |\n| `int_value` | BIGINT | value of an integer |\n"
      "| `double_value` | DOUBLE | value of a floating-point number |\n";
  return out;
}

std::string SchemaText() {
  std::string out;
  for (const TableInfo& table : kTables) {
    out += Concat(table.name, ": ", table.meaning, "\n");
    for (const ColumnInfo& column : PublicColumns(table)) {
      std::string line = Concat("  ", column.name);
      line.resize(std::max<size_t>(line.size() + 1, 26), ' ');
      line += ViewSqlType(column.type);
      line.resize(std::max<size_t>(line.size() + 1, 36), ' ');
      line += column.meaning;
      const std::string unit = UnitOf(column);
      if (!unit.empty()) line += Concat(" (", unit, ")");
      out += line + "\n";
    }
  }
  out +=
      "args: all arguments of all sets, views of args_int, args_double and args_text\n"
      "  args_id INTEGER, key VARCHAR, value VARCHAR, int_value BIGINT, double_value DOUBLE\n";
  return out;
}

}  // namespace sonde::store
