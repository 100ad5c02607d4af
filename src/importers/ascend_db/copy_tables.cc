#include "importers/ascend_db/copy_tables.h"

#include <vector>

#include "base/strings.h"
#include "importers/ascend_db/issues.h"
#include "store/name_pool.h"

namespace sonde::importers {
namespace {

using base::Concat;
using base::SqliteReader;
using base::SqliteRow;
using store::CellType;

// Whether SQLite itself makes 5 of 5.0 in a column declared so (affinity NUMERIC or INTEGER).
bool TurnsRealsIntoIntegers(std::string_view declared_type) {
  const std::string type = base::ToLower(declared_type);
  const auto has = [&](std::string_view word) { return type.find(word) != std::string::npos; };
  if (has("int")) return true;
  return !type.empty() && !has("char") && !has("clob") && !has("text") && !has("blob") &&
         !has("real") && !has("floa") && !has("doub");
}

// How often each type occurs in a column.
struct Census {
  int64_t integers = 0;
  int64_t large_integers = 0;  // that a double cannot hold
  int64_t reals = 0;
  int64_t texts = 0;
  int64_t blobs = 0;

  CellType Type(std::string_view declared_type) const {
    if (blobs > 0) return CellType::kMixed;
    if (texts > 0) return integers + reals > 0 ? CellType::kMixed : CellType::kText;
    if (reals == 0) return CellType::kInteger;
    if (integers == 0) return CellType::kReal;
    const bool fits = large_integers == 0 && TurnsRealsIntoIntegers(declared_type);
    return fits ? CellType::kReal : CellType::kMixed;
  }
};

void Count(const SqliteRow& row, int column, Census& census) {
  switch (row.Type(column)) {
    case 1: {
      constexpr int64_t kExact = int64_t{1} << 53;
      const int64_t value = row.Int(column).value_or(0);
      ++census.integers;
      if (value < -kExact || value > kExact) ++census.large_integers;
      break;
    }
    case 2:
      ++census.reals;
      break;
    case 3:
      ++census.texts;
      break;
    case 4:
      ++census.blobs;
      break;
    default:
      break;
  }
}

// A pass over the table: a query for the types of all cells takes three times as long.
std::vector<store::SourceColumn> TypedColumns(const SqliteReader& reader,
                                              const std::string& table) {
  const std::vector<base::SqliteColumn>& columns = reader.Columns(table);
  std::vector<std::string_view> names;
  for (const base::SqliteColumn& column : columns) names.push_back(column.name);
  std::vector<Census> census(columns.size());
  // Where the table is damaged, the copy ends at the same place as this pass.
  reader
      .Read(table, names,
            [&](const SqliteRow& row) {
              for (size_t i = 0; i < census.size(); ++i) Count(row, static_cast<int>(i), census[i]);
            })
      .IgnoreError();
  std::vector<store::SourceColumn> typed;
  for (size_t i = 0; i < columns.size(); ++i) {
    typed.push_back({columns[i].name, census[i].Type(columns[i].declared_type)});
  }
  return typed;
}

// The SQL of a table and of its indexes and triggers.
std::string Definition(const SqliteReader& reader, const std::string& table) {
  std::string sql;
  for (const base::SqliteObject& object : reader.objects()) {
    if (object.sql.empty() || object.type == "view") continue;
    const bool is_own = object.type == "table" ? object.name == table : object.table == table;
    if (is_own) sql += Concat(sql.empty() ? "" : ";\n", object.sql);
  }
  return sql;
}

class TableCopier {
 public:
  TableCopier(store::SourceTableWriter& writer, const std::vector<store::SourceColumn>& columns,
              const std::string& place, store::ImportIssues& issues)
      : writer_(writer), columns_(columns), place_(place), issues_(issues) {}

  void Row(const SqliteRow& row) {
    for (int i = 0; i < static_cast<int>(columns_.size()); ++i) {
      if (row.IsNull(i)) {
        writer_.Null();
      } else {
        Cell(row, i, columns_[static_cast<size_t>(i)].type);
      }
    }
    writer_.EndRow();
  }

 private:
  void Cell(const SqliteRow& row, int column, CellType type) {
    if (type == CellType::kInteger) {
      writer_.Int(row.Int(column).value_or(0));
    } else if (type == CellType::kReal) {
      writer_.Real(row.Double(column).value_or(0));
    } else if (type == CellType::kText) {
      Text(row.Text(column));
    } else {
      Text(row.Literal(column));
    }
  }
  void Text(std::string_view text) {
    if (store::IsValidUtf8(text)) {
      writer_.Text(text);
      return;
    }
    issues_.Add(kDbText, place_);
    writer_.Text(store::ToValidUtf8(text));
  }

  store::SourceTableWriter& writer_;
  const std::vector<store::SourceColumn>& columns_;
  const std::string& place_;
  store::ImportIssues& issues_;
};

Status CopyTable(const SqliteReader& reader, const std::string& file, const std::string& table,
                 store::SourceNames& names, store::ImportIssues& issues,
                 store::Transaction& transaction) {
  const std::string place = store::ToValidUtf8(Concat(file, ": ", table));
  const auto columns = TypedColumns(reader, table);
  if (columns.empty()) {
    issues.Add(kDbDamaged, place);
    return {};
  }
  store::SourceTable described{.file = file,
                               .name = store::ToValidUtf8(table),
                               .stored = {},
                               .definition = store::ToValidUtf8(Definition(reader, table)),
                               .columns = columns};
  for (store::SourceColumn& column : described.columns) {
    column.name = store::ToValidUtf8(column.name);
  }
  SONDE_ASSIGN_OR_RETURN(
      auto writer, store::SourceTableWriter::Create(transaction, names, std::move(described)));
  std::vector<std::string_view> wanted;
  for (const store::SourceColumn& column : columns) wanted.push_back(column.name);
  TableCopier copier(writer, columns, place, issues);
  const Status status = reader.Read(table, wanted, [&](const SqliteRow& row) { copier.Row(row); });
  if (!status.ok()) issues.Add(kDbDamaged, place);
  return writer.Close();
}

}  // namespace

Status CopyTables(const SqliteReader& reader, const std::string& file, store::SourceNames& names,
                  store::ImportIssues& issues, store::Transaction& transaction) {
  if (transaction.rows() != nullptr) return {};  // rows alone are not exported as a file
  for (const base::SqliteObject& object : reader.objects()) {
    if (object.type == "table") {
      SONDE_RETURN_IF_ERROR(CopyTable(reader, file, object.name, names, issues, transaction));
    } else if (object.type == "view") {
      issues.Add(kDbView, store::ToValidUtf8(Concat(file, ": ", object.name)));
    }
  }
  return {};
}

}  // namespace sonde::importers
