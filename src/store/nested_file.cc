#include "store/nested_file.h"

#include <duckdb.h>

#include <algorithm>
#include <utility>

#include "base/files.h"
#include "base/strings.h"
#include "store/duckdb_handles.h"
#include "store/duckdb_statements.h"
#include "store/name_pool.h"
#include "store/open_database.h"
#include "store/sql_text.h"

namespace sonde::store {
namespace {

using base::Concat;
using internal::Connection;
using internal::Database;
using Kind = NestedColumn::Kind;

struct NestedType {
  duckdb_logical_type handle = nullptr;
  explicit NestedType(duckdb_logical_type type) : handle(type) {}
  NestedType(const NestedType&) = delete;
  NestedType& operator=(const NestedType&) = delete;
  ~NestedType() { duckdb_destroy_logical_type(&handle); }
};

struct NestedAppender {
  duckdb_appender handle = nullptr;
  NestedAppender() = default;
  NestedAppender(const NestedAppender&) = delete;
  NestedAppender& operator=(const NestedAppender&) = delete;
  ~NestedAppender() { duckdb_appender_destroy(&handle); }
};

bool AreBytes(const NestedColumn& column) {
  return !std::ranges::all_of(column.texts, IsValidUtf8);
}

std::string SqlTypeOf(const NestedColumn& column) {
  switch (column.kind) {
    case Kind::kInt:
      return "BIGINT";
    case Kind::kUint:
      return "UBIGINT";
    case Kind::kDouble:
      return "DOUBLE";
    case Kind::kText:
      return AreBytes(column) ? "BLOB" : "VARCHAR";
    case Kind::kList:
      return SqlTypeOf(column.children.front()) + "[]";
    case Kind::kStruct:
      break;
  }
  std::vector<std::string> fields;
  for (const NestedColumn& child : column.children) {
    fields.push_back(Concat(SqlName(child.name), " ", SqlTypeOf(child)));
  }
  return Concat("STRUCT(", base::Join(fields, ", "), ")");
}

// Values [begin, begin + count) of the column go to the vector, from `at` on.
struct Piece {
  size_t begin = 0;
  size_t count = 0;
  size_t at = 0;
};

void FillVector(const NestedColumn& column, const Piece& piece, duckdb_vector vector);

void FillList(const NestedColumn& column, const Piece& piece, duckdb_vector vector) {
  auto* entries = static_cast<duckdb_list_entry*>(duckdb_vector_get_data(vector));
  const uint64_t first = piece.begin == 0 ? 0 : column.ends[piece.begin - 1];
  const uint64_t last = piece.count == 0 ? first : column.ends[piece.begin + piece.count - 1];
  uint64_t offset = duckdb_list_vector_get_size(vector);
  duckdb_list_vector_reserve(vector, offset + last - first);
  FillVector(column.children.front(), {.begin = first, .count = last - first, .at = offset},
             duckdb_list_vector_get_child(vector));
  duckdb_list_vector_set_size(vector, offset + last - first);
  for (size_t i = 0; i < piece.count; ++i) {
    const size_t row = piece.begin + i;
    const uint64_t length = column.ends[row] - (row == 0 ? 0 : column.ends[row - 1]);
    entries[piece.at + i] = {offset, length};
    offset += length;
  }
}

void FillNulls(const NestedColumn& column, const Piece& piece, duckdb_vector vector) {
  if (column.nulls.empty()) return;
  duckdb_vector_ensure_validity_writable(vector);
  uint64_t* validity = duckdb_vector_get_validity(vector);
  for (size_t i = 0; i < piece.count; ++i) {
    duckdb_validity_set_row_validity(validity, piece.at + i, column.nulls[piece.begin + i] == 0);
  }
}

void FillVector(const NestedColumn& column, const Piece& piece, duckdb_vector vector) {
  FillNulls(column, piece, vector);
  switch (column.kind) {
    case Kind::kInt:
    case Kind::kUint:
      std::copy_n(column.ints.begin() + static_cast<ptrdiff_t>(piece.begin), piece.count,
                  static_cast<int64_t*>(duckdb_vector_get_data(vector)) + piece.at);
      break;
    case Kind::kDouble:
      std::copy_n(column.doubles.begin() + static_cast<ptrdiff_t>(piece.begin), piece.count,
                  static_cast<double*>(duckdb_vector_get_data(vector)) + piece.at);
      break;
    case Kind::kText:
      for (size_t i = 0; i < piece.count; ++i) {
        const std::string& text = column.texts[piece.begin + i];
        duckdb_vector_assign_string_element_len(vector, piece.at + i, text.data(), text.size());
      }
      break;
    case Kind::kList:
      FillList(column, piece, vector);
      break;
    case Kind::kStruct:
      for (size_t i = 0; i < column.children.size(); ++i) {
        FillVector(column.children[i], piece, duckdb_struct_vector_get_child(vector, i));
      }
      break;
  }
}

Status AppendRows(const Connection& connection, const std::vector<NestedColumn>& columns) {
  NestedAppender appender;
  if (duckdb_appender_create(connection.handle, nullptr, "packed", &appender.handle) ==
      DuckDBError) {
    return base::InternalError("the database takes no rows");
  }
  std::vector<duckdb_logical_type> types;
  for (size_t i = 0; i < columns.size(); ++i) {
    types.push_back(duckdb_appender_column_type(appender.handle, i));
  }
  const size_t rows = columns.front().size;
  const size_t most = duckdb_vector_size();
  for (size_t begin = 0; begin < rows; begin += most) {
    const size_t count = std::min(most, rows - begin);
    const internal::DataChunk chunk(duckdb_create_data_chunk(types.data(), types.size()));
    for (size_t i = 0; i < columns.size(); ++i) {
      FillVector(columns[i], {.begin = begin, .count = count},
                 duckdb_data_chunk_get_vector(chunk.handle, i));
    }
    duckdb_data_chunk_set_size(chunk.handle, count);
    if (duckdb_append_data_chunk(appender.handle, chunk.handle) == DuckDBError) {
      return internal::DatabaseError(duckdb_appender_error(appender.handle));
    }
  }
  for (duckdb_logical_type& type : types) duckdb_destroy_logical_type(&type);
  if (duckdb_appender_close(appender.handle) == DuckDBError) {
    return internal::DatabaseError(duckdb_appender_error(appender.handle));
  }
  return {};
}

std::string TextOfFacts(const FileFacts& facts) {
  std::vector<std::string> pairs;
  for (const auto& [key, value] : facts) {
    pairs.push_back(Concat(SqlName(key), ": ", SqlText(value)));
  }
  return Concat("{", base::Join(pairs, ", "), "}");
}

NestedColumn Named(std::string name, Kind kind) {
  NestedColumn column;
  column.name = std::move(name);
  column.kind = kind;
  return column;
}

// The empty column for values of such a type.
Result<NestedColumn> EmptyOf(duckdb_logical_type type, std::string name) {
  switch (duckdb_get_type_id(type)) {
    case DUCKDB_TYPE_BIGINT:
      return Named(std::move(name), Kind::kInt);
    case DUCKDB_TYPE_UBIGINT:
      return Named(std::move(name), Kind::kUint);
    case DUCKDB_TYPE_DOUBLE:
      return Named(std::move(name), Kind::kDouble);
    case DUCKDB_TYPE_VARCHAR:
    case DUCKDB_TYPE_BLOB:
      return Named(std::move(name), Kind::kText);
    case DUCKDB_TYPE_LIST: {
      NestedColumn column = Named(std::move(name), Kind::kList);
      const NestedType child(duckdb_list_type_child_type(type));
      SONDE_ASSIGN_OR_RETURN(NestedColumn element, EmptyOf(child.handle, "element"));
      column.children.push_back(std::move(element));
      return column;
    }
    case DUCKDB_TYPE_STRUCT: {
      NestedColumn column = Named(std::move(name), Kind::kStruct);
      for (idx_t i = 0; i < duckdb_struct_type_child_count(type); ++i) {
        char* field = duckdb_struct_type_child_name(type, i);
        std::string field_name = field;
        duckdb_free(field);
        const NestedType child(duckdb_struct_type_child_type(type, i));
        SONDE_ASSIGN_OR_RETURN(NestedColumn of_field, EmptyOf(child.handle, std::move(field_name)));
        column.children.push_back(std::move(of_field));
      }
      return column;
    }
    default:
      return base::CorruptDataError(Concat("the column '", name, "' has a type that is not ours"));
  }
}

void TakeVector(duckdb_vector vector, const Piece& piece, NestedColumn& column);

void TakeList(duckdb_vector vector, const Piece& piece, NestedColumn& column) {
  const auto* entries = static_cast<duckdb_list_entry*>(duckdb_vector_get_data(vector));
  const uint64_t* validity = duckdb_vector_get_validity(vector);
  for (size_t i = piece.begin; i < piece.begin + piece.count; ++i) {
    const bool is_null =
        validity != nullptr && !duckdb_validity_row_is_valid(const_cast<uint64_t*>(validity), i);
    const auto length = is_null ? 0 : entries[i].length;
    if (length > 0) {
      TakeVector(duckdb_list_vector_get_child(vector),
                 {.begin = entries[i].offset, .count = length}, column.children.front());
    }
    column.ends.push_back(column.children.front().size);
  }
}

void TakeNulls(duckdb_vector vector, const Piece& piece, NestedColumn& column) {
  uint64_t* validity = duckdb_vector_get_validity(vector);
  for (size_t i = piece.begin; i < piece.begin + piece.count; ++i) {
    const bool is_null = validity != nullptr && !duckdb_validity_row_is_valid(validity, i);
    if (is_null && column.nulls.empty()) column.nulls.resize(column.size + i - piece.begin);
    if (is_null || !column.nulls.empty()) column.nulls.push_back(is_null ? 1 : 0);
  }
}

void TakeVector(duckdb_vector vector, const Piece& piece, NestedColumn& column) {
  TakeNulls(vector, piece, column);
  void* data = duckdb_vector_get_data(vector);
  const size_t end = piece.begin + piece.count;
  switch (column.kind) {
    case Kind::kInt:
    case Kind::kUint:
      column.ints.insert(column.ints.end(), static_cast<int64_t*>(data) + piece.begin,
                         static_cast<int64_t*>(data) + end);
      break;
    case Kind::kDouble:
      column.doubles.insert(column.doubles.end(), static_cast<double*>(data) + piece.begin,
                            static_cast<double*>(data) + end);
      break;
    case Kind::kText: {
      uint64_t* validity = duckdb_vector_get_validity(vector);
      for (size_t i = piece.begin; i < end; ++i) {
        auto* text = static_cast<duckdb_string_t*>(data) + i;
        const bool is_null = validity != nullptr && !duckdb_validity_row_is_valid(validity, i);
        column.texts.push_back(
            is_null ? std::string()
                    : std::string(duckdb_string_t_data(text), duckdb_string_t_length(*text)));
      }
      break;
    }
    case Kind::kList:
      TakeList(vector, piece, column);
      break;
    case Kind::kStruct:
      for (size_t i = 0; i < column.children.size(); ++i) {
        TakeVector(duckdb_struct_vector_get_child(vector, i), piece, column.children[i]);
      }
      break;
  }
  column.size += piece.count;
}

Status ResultOf(const Connection& connection, const std::string& sql,
                internal::QueryResult& result) {
  if (duckdb_query(connection.handle, sql.c_str(), &result.handle) != DuckDBError) return {};
  return internal::DatabaseError(duckdb_result_error(&result.handle));
}

Result<std::vector<NestedColumn>> ColumnsOf(const Connection& connection, const std::string& sql) {
  internal::QueryResult result;
  SONDE_RETURN_IF_ERROR(ResultOf(connection, sql, result));
  std::vector<NestedColumn> columns;
  for (idx_t i = 0; i < duckdb_column_count(&result.handle); ++i) {
    const NestedType type(duckdb_column_logical_type(&result.handle, i));
    SONDE_ASSIGN_OR_RETURN(NestedColumn column,
                           EmptyOf(type.handle, duckdb_column_name(&result.handle, i)));
    columns.push_back(std::move(column));
  }
  for (;;) {
    const internal::DataChunk chunk(duckdb_fetch_chunk(result.handle));
    if (chunk.handle == nullptr) return columns;
    const size_t rows = duckdb_data_chunk_get_size(chunk.handle);
    for (size_t i = 0; i < columns.size(); ++i) {
      TakeVector(duckdb_data_chunk_get_vector(chunk.handle, i), {.count = rows}, columns[i]);
    }
  }
}

Result<FileFacts> FactsOf(const Connection& connection, const std::string& path) {
  SONDE_ASSIGN_OR_RETURN(const auto columns,
                         ColumnsOf(connection, Concat("SELECT key, value FROM parquet_kv_metadata(",
                                                      SqlText(path), ")")));
  FileFacts facts;
  for (size_t i = 0; i < columns[0].size; ++i) facts[columns[0].texts[i]] = columns[1].texts[i];
  return facts;
}

Status CorruptFile(const std::string& path, const Status& why) {
  return base::CorruptDataError(Concat("'", path, "' cannot be read: ", why.message()));
}

}  // namespace

bool NestedColumn::HasTypeOf(const NestedColumn& other) const {
  return kind == other.kind &&
         std::ranges::equal(children, other.children,
                            [this](const NestedColumn& a, const NestedColumn& b) {
                              return (kind == Kind::kList || a.name == b.name) && a.HasTypeOf(b);
                            });
}

struct NestedFiles::Engine {
  std::unique_ptr<Database> database;
  std::unique_ptr<Connection> connection;
};

NestedFiles::NestedFiles(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}
NestedFiles::NestedFiles(NestedFiles&&) noexcept = default;
NestedFiles& NestedFiles::operator=(NestedFiles&&) noexcept = default;
NestedFiles::~NestedFiles() = default;

Result<NestedFiles> NestedFiles::Open() {
  auto engine = std::make_unique<Engine>();
  SONDE_ASSIGN_OR_RETURN(engine->database,
                         internal::OpenDatabase(":memory:", internal::Use::kAny, {}));
  SONDE_ASSIGN_OR_RETURN(engine->connection, internal::Connect(*engine->database));
  return NestedFiles(std::move(engine));
}

Status NestedFiles::Write(const std::string& path, const std::vector<NestedColumn>& columns,
                          const FileFacts& facts) {
  Connection& connection = *engine_->connection;
  std::vector<std::string> fields;
  for (const NestedColumn& column : columns) {
    fields.push_back(Concat(SqlName(column.name), " ", SqlTypeOf(column)));
  }
  SONDE_RETURN_IF_ERROR(connection.Execute(
      Concat("CREATE OR REPLACE TABLE packed (", base::Join(fields, ", "), ")")));
  SONDE_RETURN_IF_ERROR(AppendRows(connection, columns));
  SONDE_ASSIGN_OR_RETURN(base::AtomicFile file,
                         base::AtomicFile::Create(path, {.sync_to_disk = true}));
  // Without a file of the database's own, which would take the place of the one that is synced.
  Status written = connection.Execute(
      Concat("COPY packed TO ", SqlText(file.temporary_path()),
             " (FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false, KV_METADATA ",
             TextOfFacts(facts), ")"));
  if (written.ok()) written = connection.Execute("DROP TABLE packed");
  if (!written.ok()) return std::move(written).Annotate(path);
  return file.Commit();
}

Result<NestedFile> NestedFiles::Read(const std::string& path, const std::string& filter) {
  NestedFile file;
  SONDE_ASSIGN_OR_RETURN(file.facts, ReadFacts(path));
  auto columns =
      ColumnsOf(*engine_->connection, Concat("SELECT * FROM read_parquet(", SqlText(path), ")",
                                             filter.empty() ? "" : " WHERE ", filter));
  if (!columns.ok()) return CorruptFile(path, columns.status());
  file.columns = *std::move(columns);
  return file;
}

Result<FileFacts> NestedFiles::ReadFacts(const std::string& path) {
  auto facts = FactsOf(*engine_->connection, path);
  if (!facts.ok()) return CorruptFile(path, facts.status());
  return facts;
}

}  // namespace sonde::store
