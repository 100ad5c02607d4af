#include "store/source_tables.h"

#include <duckdb.h>

#include <map>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/strings.h"
#include "store/duckdb_handles.h"
#include "store/sql_text.h"
#include "store/table_writer.h"

namespace sonde::store {
namespace {

using base::Concat;

constexpr const char* kSchema = "source";
constexpr size_t kChunkRows = 2048;

std::string_view SqlType(CellType type) {
  if (type == CellType::kInteger) return "BIGINT";
  return type == CellType::kReal ? "DOUBLE" : "VARCHAR";
}

// Names of columns are unique in a table without regard to case; a CSV file may repeat them.
std::string ColumnList(const std::vector<SourceColumn>& columns) {
  std::set<std::string> taken;
  std::string list;
  for (const SourceColumn& column : columns) {
    std::string name = column.name.empty() ? "unnamed" : column.name;
    while (!taken.insert(base::ToLower(name)).second) name += '_';
    list += Concat(list.empty() ? "" : ", ", SqlName(name), " ", SqlType(column.type));
  }
  return list;
}

}  // namespace

struct SourceTableWriter::Impl {
  SourceTable table;
  Transaction* transaction = nullptr;
  duckdb_appender appender = nullptr;
  duckdb_data_chunk chunk = nullptr;
  std::vector<duckdb_vector> vectors;
  std::vector<void*> data;
  size_t row = 0;
  size_t column = 0;
  Status first_error;

  Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    duckdb_destroy_data_chunk(&chunk);
    duckdb_appender_destroy(&appender);
  }

  Status Error(const char* what) const {
    const char* text = appender == nullptr ? nullptr : duckdb_appender_error(appender);
    return internal::DatabaseError(Concat("cannot ", what, " table source.", table.stored, ": ",
                                          text != nullptr ? text : "no reason"));
  }

  void FetchPointers() {
    for (size_t i = 0; i < vectors.size(); ++i) {
      vectors[i] = duckdb_data_chunk_get_vector(chunk, i);
      data[i] = duckdb_vector_get_data(vectors[i]);
    }
  }

  Status Open() {
    if (duckdb_appender_create(transaction->connection().handle, kSchema, table.stored.c_str(),
                               &appender) == DuckDBError) {
      return Error("append to");
    }
    std::vector<duckdb_logical_type> types(table.columns.size());
    for (size_t i = 0; i < types.size(); ++i) types[i] = duckdb_appender_column_type(appender, i);
    chunk = duckdb_create_data_chunk(types.data(), types.size());
    for (duckdb_logical_type& type : types) duckdb_destroy_logical_type(&type);
    vectors.resize(types.size());
    data.resize(types.size());
    FetchPointers();
    return {};
  }

  void Flush() {
    if (row == 0) return;
    duckdb_data_chunk_set_size(chunk, row);
    row = 0;
    if (first_error.ok() && duckdb_append_data_chunk(appender, chunk) == DuckDBError) {
      first_error = Error("write");
    }
    duckdb_data_chunk_reset(chunk);
    FetchPointers();
  }

  size_t NextColumn() {
    CHECK(column < vectors.size(), "a row has more cells than its table has columns");
    return column++;
  }
};

SourceTableWriter::SourceTableWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
SourceTableWriter::SourceTableWriter(SourceTableWriter&&) noexcept = default;
SourceTableWriter::~SourceTableWriter() = default;

std::string SourceNames::Take(std::string_view file, std::string_view name) {
  std::string chosen(name);
  if (!taken_.contains(base::ToLower(chosen))) {
    taken_.insert(base::ToLower(chosen));
    return chosen;
  }
  chosen = Concat(file, "/", name);
  while (!taken_.insert(base::ToLower(chosen)).second) chosen += '_';
  return chosen;
}

Result<SourceTableWriter> SourceTableWriter::Create(Transaction& transaction, SourceNames& names,
                                                    SourceTable table) {
  CHECK(!table.columns.empty(), "a table needs columns");
  table.stored = names.Take(table.file, table.name);
  SONDE_RETURN_IF_ERROR(transaction.Execute("CREATE SCHEMA IF NOT EXISTS source"));
  SONDE_RETURN_IF_ERROR(transaction.Execute(
      Concat("CREATE TABLE source.", SqlName(table.stored), " (", ColumnList(table.columns), ")")));
  auto impl = std::make_unique<Impl>();
  impl->transaction = &transaction;
  impl->table = std::move(table);
  SONDE_RETURN_IF_ERROR(impl->Open());
  return SourceTableWriter(std::move(impl));
}

void SourceTableWriter::Int(int64_t value) {
  const size_t column = impl_->NextColumn();
  static_cast<int64_t*>(impl_->data[column])[impl_->row] = value;
}

void SourceTableWriter::Real(double value) {
  const size_t column = impl_->NextColumn();
  static_cast<double*>(impl_->data[column])[impl_->row] = value;
}

void SourceTableWriter::Text(std::string_view value) {
  const size_t column = impl_->NextColumn();
  duckdb_vector_assign_string_element_len(impl_->vectors[column], impl_->row, value.data(),
                                          value.size());
}

void SourceTableWriter::Null() {
  const size_t column = impl_->NextColumn();
  duckdb_vector_ensure_validity_writable(impl_->vectors[column]);
  duckdb_validity_set_row_invalid(duckdb_vector_get_validity(impl_->vectors[column]), impl_->row);
}

void SourceTableWriter::EndRow() {
  CHECK(impl_->column == impl_->vectors.size(), "a row needs a cell for each column");
  impl_->column = 0;
  ++impl_->table.row_count;
  if (++impl_->row == kChunkRows) impl_->Flush();
}

Status SourceTableWriter::Close() {
  Impl& impl = *impl_;
  impl.Flush();
  if (impl.first_error.ok() && duckdb_appender_close(impl.appender) == DuckDBError) {
    impl.first_error = impl.Error("write");
  }
  SONDE_RETURN_IF_ERROR(impl.first_error);
  std::string cells;
  for (const SourceColumn& column : impl.table.columns) cells += static_cast<char>(column.type);
  SONDE_ASSIGN_OR_RETURN(auto rows, TableWriter<SourceTableRow>::Open(*impl.transaction));
  rows.Append({.file = impl.table.file,
               .name = impl.table.name,
               .stored = impl.table.stored,
               .definition = impl.table.definition,
               .cells = cells,
               .row_count = impl.table.row_count});
  return rows.Close();
}

namespace {

// Of all tables at once: the database goes through all columns of all tables for each question.
Result<std::map<std::string, std::vector<std::string>>> ColumnNames(const Store& store) {
  SONDE_ASSIGN_OR_RETURN(
      const ResultTable list,
      store.Query("SELECT table_name, column_name FROM duckdb_columns() "
                  "WHERE schema_name = 'source' ORDER BY table_name, column_index"));
  std::map<std::string, std::vector<std::string>> names;
  for (size_t row = 0; row < list.rows(); ++row) {
    names[list.Text(0, row)].push_back(list.Text(1, row));
  }
  return names;
}

}  // namespace

Result<std::vector<SourceTable>> SourceTables(const Store& store) {
  SONDE_ASSIGN_OR_RETURN(
      const ResultTable list,
      store.Query("SELECT file, name, stored, definition, cells, row_count FROM source_table"));
  std::vector<SourceTable> tables;
  if (list.rows() == 0) return tables;
  SONDE_ASSIGN_OR_RETURN(const auto column_names, ColumnNames(store));
  for (size_t row = 0; row < list.rows(); ++row) {
    SourceTable table{.file = list.Text(0, row),
                      .name = list.Text(1, row),
                      .stored = list.Text(2, row),
                      .definition = list.Text(3, row),
                      .columns = {},
                      .row_count = list.Int(5, row)};
    const auto columns = column_names.find(table.stored);
    const std::string& cells = list.Text(4, row);
    if (columns == column_names.end() || cells.size() != columns->second.size()) {
      return base::CorruptDataError(Concat("table source.", table.stored, " is inconsistent"));
    }
    for (size_t i = 0; i < cells.size(); ++i) {
      table.columns.push_back({columns->second[i], static_cast<CellType>(cells[i])});
    }
    tables.push_back(std::move(table));
  }
  return tables;
}

Status ScanSourceTable(const Store& store, const SourceTable& table,
                       const std::function<Status(const Chunk&)>& consume) {
  return store.Scan(Concat("SELECT * FROM source.", SqlName(table.stored)), consume);
}

}  // namespace sonde::store
