// Reading half of Store: statements, streaming results, small result tables.
#include <duckdb.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <limits>
#include <optional>
#include <thread>
#include <utility>

#include "base/files.h"
#include "base/strings.h"
#include "store/duckdb_handles.h"
#include "store/duckdb_statements.h"
#include "store/lake_catalog.h"
#include "store/statement_message.h"
#include "store/store.h"
#include "store/user_sql.h"
#include "store/user_statements.h"

namespace sonde::store {
std::string_view Chunk::Text(size_t column, size_t row) const {
  CHECK(columns_[column].type == ValueType::kText, "column is not text: cast in the query");
  if (IsNull(column, row)) return {};  // the value there is arbitrary
  // Read here and not by the library, which a program that gets its rows from a process (see
  // statement_process.h) does not load.
  const auto& value = (static_cast<const duckdb_string_t*>(columns_[column].data) + row)->value;
  const size_t length = value.inlined.length;
  const bool is_inlined = length <= sizeof(value.inlined.inlined);
  return {is_inlined ? value.inlined.inlined : value.pointer.ptr, length};
}

namespace {

using base::Concat;
using internal::Asker;
using internal::DataChunk;
using internal::Extracted;
using internal::Prepared;
using internal::QueryResult;

ValueType ToValueType(duckdb_type type) {
  switch (type) {
    case DUCKDB_TYPE_BOOLEAN:
      return ValueType::kBool;
    case DUCKDB_TYPE_TINYINT:
      return ValueType::kInt8;
    case DUCKDB_TYPE_SMALLINT:
      return ValueType::kInt16;
    case DUCKDB_TYPE_INTEGER:
      return ValueType::kInt32;
    case DUCKDB_TYPE_BIGINT:
      return ValueType::kInt64;
    case DUCKDB_TYPE_UTINYINT:
      return ValueType::kUint8;
    case DUCKDB_TYPE_USMALLINT:
      return ValueType::kUint16;
    case DUCKDB_TYPE_UINTEGER:
      return ValueType::kUint32;
    case DUCKDB_TYPE_UBIGINT:
      return ValueType::kUint64;
    case DUCKDB_TYPE_FLOAT:
      return ValueType::kFloat;
    case DUCKDB_TYPE_DOUBLE:
      return ValueType::kDouble;
    case DUCKDB_TYPE_HUGEINT:
      return ValueType::kHugeInt;
    case DUCKDB_TYPE_VARCHAR:
      return ValueType::kText;
    default:
      return ValueType::kOther;
  }
}

}  // namespace

// The database forgets an interruption that comes right before it begins with the statement.
void Cancellation::Cancel() {
  constexpr auto kAgain = std::chrono::milliseconds(2);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  do {
    {
      const std::scoped_lock lock(mutex_);
      cancelled_ = true;
      if (connection_ == nullptr) return;
      duckdb_interrupt(connection_);
    }
    std::this_thread::sleep_for(kAgain);
  } while (std::chrono::steady_clock::now() < end);
}

bool Cancellation::cancelled() const {
  const std::scoped_lock lock(mutex_);
  return cancelled_;
}

// A running statement; chunks come in order.
class Cursor {
 public:
  explicit Cursor(Cancellation* cancellation = nullptr) : cancellation_(cancellation) {}
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;
  ~Cursor() {
    if (cancellation_ == nullptr) return;
    const std::scoped_lock lock(cancellation_->mutex_);
    cancellation_->connection_ = nullptr;
  }

  // Checks `sql` and makes it ready; of a user, it must be of OneStatement and only read.
  Status Prepare(const internal::Database& database, const std::string& sql, Asker asker) {
    database_ = &database;
    sql_ = sql;
    SONDE_ASSIGN_OR_RETURN(connection_, internal::Connect(database));
    SONDE_RETURN_IF_ERROR(internal::NameLakeFiles(*connection_, database, sql));
    if (cancellation_ != nullptr) {
      const std::scoped_lock lock(cancellation_->mutex_);
      if (cancellation_->cancelled_) return Cancelled();
      cancellation_->connection_ = connection_->handle;
    }
    const bool is_of_user = asker == Asker::kUser;
    if (is_of_user) SONDE_RETURN_IF_ERROR(internal::CheckWords(*connection_, sql));
    parts_ = std::make_unique<Extracted>(connection_->handle, sql.c_str());
    if (parts_->count == 0) {
      return StatementError(duckdb_extract_statements_error(parts_->handle),
                            "there is no statement");
    }
    if (parts_->count > 1) {
      result_part_ = parts_->count - 1;
      if (!is_of_user) return {};
      SONDE_ASSIGN_OR_RETURN(result_part_, internal::CheckParts(*connection_, sql, parts_->count));
      return {};
    }
    SONDE_RETURN_IF_ERROR(PreparePart(0, statement_));
    if (!is_of_user) return {};
    return internal::CheckKind(*connection_, sql,
                               duckdb_prepared_statement_type(statement_.handle));
  }

  Status Open(const internal::Database& database, const std::string& sql, Asker asker) {
    SONDE_RETURN_IF_ERROR(Describe(database, sql, asker));
    return Execute();
  }

  // As Open, but the statement itself waits for Execute: its columns are known.
  Status Describe(const internal::Database& database, const std::string& sql, Asker asker) {
    SONDE_RETURN_IF_ERROR(Prepare(database, sql, asker));
    for (idx_t i = 0; i < result_part_; ++i) {
      Prepared part;
      QueryResult result;
      SONDE_RETURN_IF_ERROR(PreparePart(i, part));
      if (duckdb_execute_prepared(part.handle, &result.handle) == DuckDBError) {
        return Failure(duckdb_result_error(&result.handle));
      }
    }
    if (parts_->count > 1) SONDE_RETURN_IF_ERROR(PreparePart(result_part_, statement_));
    const idx_t count = duckdb_prepared_statement_column_count(statement_.handle);
    for (idx_t i = 0; i < count; ++i) {
      const char* name = duckdb_prepared_statement_column_name(statement_.handle, i);
      columns_.push_back({name != nullptr ? name : "", ToValueType(TypeOf(i))});
      duckdb_free(const_cast<char*>(name));
    }
    return {};
  }

  Status Execute() {
    if (duckdb_execute_prepared_streaming(statement_.handle, &result_.handle) == DuckDBError) {
      return Failure(duckdb_result_error(&result_.handle));
    }
    return {};
  }

  const std::vector<QueryColumn>& columns() const { return columns_; }
  // Not where a parameter of the statement has no value: it fails when it is executed.
  bool IsKnown(size_t column) const { return TypeOf(column) != DUCKDB_TYPE_INVALID; }
  bool IsDecimal(size_t column) const { return TypeOf(column) == DUCKDB_TYPE_DECIMAL; }
  bool IsNested(size_t column) const {
    const duckdb_type type = TypeOf(column);
    return type == DUCKDB_TYPE_LIST || type == DUCKDB_TYPE_STRUCT || type == DUCKDB_TYPE_MAP ||
           type == DUCKDB_TYPE_ARRAY || type == DUCKDB_TYPE_UNION;
  }

  Status ForEach(const std::function<Status(const Chunk&)>& consume) {
    while (true) {
      const DataChunk chunk(duckdb_fetch_chunk(result_.handle));
      if (WasCancelled()) return Cancelled();
      if (chunk.handle == nullptr) break;
      std::vector<Chunk::Column> columns(columns_.size());
      for (size_t i = 0; i < columns.size(); ++i) {
        duckdb_vector vector = duckdb_data_chunk_get_vector(chunk.handle, i);
        columns[i] = {columns_[i].type, duckdb_vector_get_data(vector),
                      duckdb_vector_get_validity(vector)};
      }
      const size_t rows = duckdb_data_chunk_get_size(chunk.handle);
      if (rows == 0) continue;
      SONDE_RETURN_IF_ERROR(consume(Chunk(rows, std::move(columns))));
    }
    const char* text = duckdb_result_error(&result_.handle);
    if (text != nullptr && *text != '\0') return Failure(text);
    return {};
  }

 private:
  duckdb_type TypeOf(size_t column) const {
    return duckdb_prepared_statement_column_type(statement_.handle, column);
  }
  static Status Cancelled() { return base::CancelledError("the statement was cancelled"); }
  bool WasCancelled() const { return cancellation_ != nullptr && cancellation_->cancelled(); }
  Status StatementError(const char* text, const char* otherwise) const {
    const std::string_view message = text != nullptr ? text : otherwise;
    std::string memory = internal::OutOfMemoryMessage(message);
    if (!memory.empty()) return base::ResourceExhaustedError(std::move(memory));
    return base::InvalidArgumentError(internal::StatementMessage(message, sql_, database_->made));
  }
  Status Failure(const char* text) const {
    return WasCancelled() ? Cancelled() : StatementError(text, "the statement failed");
  }
  Status PreparePart(idx_t part, Prepared& prepared) {
    if (duckdb_prepare_extracted_statement(connection_->handle, parts_->handle, part,
                                           &prepared.handle) == DuckDBError) {
      return Failure(duckdb_prepare_error(prepared.handle));
    }
    return {};
  }

  Cancellation* cancellation_;
  const internal::Database* database_ = nullptr;
  std::string sql_;
  std::unique_ptr<internal::Connection> connection_;
  std::unique_ptr<Extracted> parts_;
  size_t result_part_ = 0;  // of parts_; those before are run first, those behind never
  Prepared statement_;
  QueryResult result_;
  std::vector<QueryColumn> columns_;
};

namespace {

// `sql` with the columns of types that have no plain layout cast to `cast_to`.
std::string WithCasts(const std::string& sql, const std::vector<std::string>& cast_to) {
  std::string names;
  std::string values;
  for (size_t i = 0; i < cast_to.size(); ++i) {
    const std::string name = Concat("c", std::to_string(i));
    if (i > 0) names += ", ", values += ", ";
    names += name;
    values += cast_to[i].empty() ? name : Concat("CAST(", name, " AS ", cast_to[i], ")");
  }
  return Concat("SELECT ", values, " FROM (", sql, "\n) AS t(", names, ")");
}

template <class T>
int64_t WidenInt(const Chunk& chunk, size_t column, size_t row) {
  return static_cast<int64_t>(chunk.Values<T>(column)[row]);
}

std::optional<int64_t> IntAt(const Chunk& chunk, size_t column, size_t row) {
  switch (chunk.type(column)) {
    case ValueType::kBool:
      return WidenInt<bool>(chunk, column, row);
    case ValueType::kInt8:
      return WidenInt<int8_t>(chunk, column, row);
    case ValueType::kInt16:
      return WidenInt<int16_t>(chunk, column, row);
    case ValueType::kInt32:
      return WidenInt<int32_t>(chunk, column, row);
    case ValueType::kInt64:
      return WidenInt<int64_t>(chunk, column, row);
    case ValueType::kUint8:
      return WidenInt<uint8_t>(chunk, column, row);
    case ValueType::kUint16:
      return WidenInt<uint16_t>(chunk, column, row);
    case ValueType::kUint32:
      return WidenInt<uint32_t>(chunk, column, row);
    case ValueType::kUint64: {
      const uint64_t value = chunk.Values<uint64_t>(column)[row];
      if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
      return static_cast<int64_t>(value);
    }
    case ValueType::kHugeInt: {
      const HugeInt value = chunk.Values<HugeInt>(column)[row];
      const auto low = static_cast<int64_t>(value.lower);
      if (value.upper != (low < 0 ? -1 : 0)) return std::nullopt;
      return low;
    }
    default:
      return std::nullopt;
  }
}

// Collects one column of a result.
struct Collector {
  ResultColumn column;
  bool any_null = false;

  Status Add(const Chunk& chunk, size_t index) {
    for (size_t row = 0; row < chunk.rows(); ++row) {
      const bool null = chunk.IsNull(index, row);
      any_null |= null;
      column.nulls.push_back(null);
      SONDE_RETURN_IF_ERROR(AddValue(chunk, index, row, null));
    }
    return {};
  }

  Status AddValue(const Chunk& chunk, size_t index, size_t row, bool null) {
    if (auto* texts = std::get_if<std::vector<std::string>>(&column.values)) {
      texts->emplace_back(null ? std::string_view() : chunk.Text(index, row));
    } else if (auto* doubles = std::get_if<std::vector<double>>(&column.values)) {
      const bool is_float = chunk.type(index) == ValueType::kFloat;
      doubles->push_back(null       ? 0.0
                         : is_float ? static_cast<double>(chunk.Values<float>(index)[row])
                                    : chunk.Values<double>(index)[row]);
    } else {
      const auto value = null ? std::optional<int64_t>(0) : IntAt(chunk, index, row);
      if (!value) {
        return base::OutOfRangeError(
            Concat("column '", column.name, "' holds an integer beyond 64 bits"));
      }
      std::get<std::vector<int64_t>>(column.values).push_back(*value);
    }
    return {};
  }
};

Collector MakeCollector(const QueryColumn& column) {
  Collector collector;
  collector.column.name = column.name;
  if (column.type == ValueType::kText) {
    collector.column.values = std::vector<std::string>();
  } else if (column.type == ValueType::kFloat || column.type == ValueType::kDouble) {
    collector.column.values = std::vector<double>();
  }
  return collector;
}

}  // namespace

Status internal::RunStatement(const internal::Database& database, const std::string& sql,
                              Asker asker,
                              const std::function<Status(const std::vector<QueryColumn>&)>& begin,
                              const std::function<Status(const Chunk&)>& consume,
                              Cancellation* cancellation) {
  SONDE_ASSIGN_OR_RETURN(const std::string statement, OneStatement(sql));
  Cursor cursor(cancellation);
  SONDE_RETURN_IF_ERROR(cursor.Describe(database, statement, asker));
  std::vector<QueryColumn> columns = cursor.columns();
  std::vector<std::string> casts(columns.size());
  bool any_cast = false;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].type != ValueType::kOther || !cursor.IsKnown(i)) continue;
    const bool is_decimal = cursor.IsDecimal(i);
    const bool to_double = asker == Asker::kSonde && is_decimal;
    columns[i].is_json = cursor.IsNested(i);
    casts[i] = to_double ? "DOUBLE" : columns[i].is_json ? "JSON" : "VARCHAR";
    columns[i].type = to_double ? ValueType::kDouble : ValueType::kText;
    columns[i].is_decimal = is_decimal && !to_double;
    any_cast = true;
  }
  if (!any_cast) {
    SONDE_RETURN_IF_ERROR(cursor.Execute());
    SONDE_RETURN_IF_ERROR(begin(columns));
    return cursor.ForEach(consume);
  }
  Cursor cast_cursor(cancellation);
  SONDE_RETURN_IF_ERROR(cast_cursor.Open(database, WithCasts(statement, casts), Asker::kSonde));
  SONDE_RETURN_IF_ERROR(begin(columns));
  return cast_cursor.ForEach(consume);
}

Status internal::WriteParquet(const Database& database, const std::string& sql,
                              const std::string& path, Cancellation* cancellation) {
  SONDE_ASSIGN_OR_RETURN(const std::string statement, OneStatement(sql));
  {
    Cursor cursor(cancellation);
    SONDE_RETURN_IF_ERROR(cursor.Prepare(database, statement, Asker::kUser));
  }
  Cursor cursor(cancellation);
  return cursor.Open(database,
                     Concat("COPY (", statement, "\n) TO '", base::ReplaceAll(path, "'", "''"),
                            "' (FORMAT parquet, COMPRESSION zstd)"),
                     Asker::kSonde);
}

Status internal::WriteParquetTo(const Database& database, const std::string& sql,
                                const std::string& path, Cancellation* cancellation) {
  if (database.spill == nullptr) return WriteParquet(database, sql, path, cancellation);
  // The one folder that the database may write.
  static std::atomic<int> next = 0;
  const std::string made =
      Concat(database.spill->path(), "/export-", std::to_string(next++), ".parquet");
  SONDE_RETURN_IF_ERROR(WriteParquet(database, sql, made, cancellation));
  std::error_code error;
  std::filesystem::rename(made, path, error);
  if (error == std::errc::cross_device_link) {
    std::filesystem::copy_file(made, path, std::filesystem::copy_options::overwrite_existing,
                               error);
    base::RemoveTree(made).IgnoreError();  // goes with its folder
  }
  return error ? base::ErrnoStatus(error.value(), "write", path) : Status();
}

Status internal::Scan(const Database& database, const std::string& sql,
                      const std::function<Status(const Chunk&)>& consume) {
  Cursor cursor;
  SONDE_RETURN_IF_ERROR(cursor.Open(database, sql, Asker::kSonde));
  return cursor.ForEach(consume);
}

Result<ResultTable> internal::Query(const Database& database, const std::string& sql) {
  return Collect([&](const auto& begin, const auto& consume) {
    return RunStatement(database, sql, Asker::kSonde, begin, consume, nullptr);
  });
}

Result<ResultTable> internal::Collect(const RunRows& run) {
  std::vector<Collector> collectors;
  const auto begin = [&](const std::vector<QueryColumn>& columns) -> Status {
    for (const QueryColumn& column : columns) collectors.push_back(MakeCollector(column));
    return {};
  };
  const auto consume = [&](const Chunk& chunk) -> Status {
    for (size_t i = 0; i < collectors.size(); ++i) {
      SONDE_RETURN_IF_ERROR(collectors[i].Add(chunk, i));
    }
    return {};
  };
  SONDE_RETURN_IF_ERROR(run(begin, consume));
  ResultTable table;
  for (Collector& collector : collectors) {
    if (!collector.any_null) collector.column.nulls.clear();
    std::visit(
        [&](auto& values) {
          table.AddColumn(collector.column.name, std::move(values),
                          std::move(collector.column.nulls));
        },
        collector.column.values);
  }
  return table;
}

Status Store::Scan(const std::string& sql,
                   const std::function<Status(const Chunk&)>& consume) const {
  return internal::Scan(*database_, sql, consume);
}

Status Store::ScanWithColumns(const std::string& sql,
                              const std::function<Status(const std::vector<QueryColumn>&)>& begin,
                              const std::function<Status(const Chunk&)>& consume) const {
  return internal::RunStatement(*database_, sql, Asker::kUser, begin, consume, nullptr);
}

Status Store::WriteParquet(const std::string& sql, const std::string& path) const {
  return internal::WriteParquetTo(*database_, sql, path, nullptr);
}

Result<ResultTable> Store::Query(const std::string& sql) const {
  return internal::Query(*database_, sql);
}

}  // namespace sonde::store
