#include "store/made_tables.h"

#include <duckdb.h>

#include <utility>

#include "base/strings.h"
#include "store/duckdb_handles.h"
#include "store/duckdb_statements.h"

namespace sonde::store {
namespace {

using internal::DataChunk;

constexpr const char* kFunction = "sonde_result";
constexpr size_t kNowhere = SIZE_MAX;

struct LogicalType {
  duckdb_logical_type handle;
  explicit LogicalType(ResultType type) : handle(duckdb_create_logical_type(TypeOf(type))) {}
  LogicalType(const LogicalType&) = delete;
  LogicalType& operator=(const LogicalType&) = delete;
  ~LogicalType() { duckdb_destroy_logical_type(&handle); }
  static duckdb_type TypeOf(ResultType type) {
    const bool is_text = type == ResultType::kText || type == ResultType::kOptText;
    if (is_text) return DUCKDB_TYPE_VARCHAR;
    return type == ResultType::kDouble ? DUCKDB_TYPE_DOUBLE : DUCKDB_TYPE_BIGINT;
  }
};

// Gathers rows in chunks of the database and forwards each full one, and at the end the rest.
class ChunkSink final : public RowSink {
 public:
  using Take = std::function<void(std::unique_ptr<DataChunk>)>;
  // `wanted`: the columns of a chunk, as numbers of `columns`.
  ChunkSink(std::span<const ResultColumnInfo> columns, const std::vector<size_t>& wanted, Take take)
      : places_(columns.size(), kNowhere), take_(std::move(take)), capacity_(duckdb_vector_size()) {
    for (const size_t column : wanted) {
      places_[column] = types_.size();
      types_.push_back(LogicalType::TypeOf(columns[column].type));
    }
    data_.resize(types_.size());
  }
  void Int(int64_t value) override { Put(value); }
  void Double(double value) override { Put(value); }
  void Text(std::string_view value) override {
    const size_t place = Place();
    if (place == kNowhere) return;
    duckdb_vector_assign_string_element_len(Vector(place), row_, value.data(), value.size());
  }
  void Null() override {
    const size_t place = Place();
    if (place == kNowhere) return;
    duckdb_vector vector = Vector(place);
    duckdb_vector_ensure_validity_writable(vector);
    duckdb_validity_set_row_invalid(duckdb_vector_get_validity(vector), row_);
  }
  void EndRow() override {
    CHECK(column_ == places_.size(), "a row of a result has all of its columns");
    if (chunk_ == nullptr) Begin();
    column_ = 0;
    if (++row_ == capacity_) Flush();
  }
  void Flush() {
    if (row_ == 0) return;
    duckdb_data_chunk_set_size(chunk_->handle, row_);
    row_ = 0;
    take_(std::move(chunk_));
  }

 private:
  size_t Place() {
    if (chunk_ == nullptr) Begin();
    return places_[column_++];
  }
  template <class T>
  void Put(T value) {
    const size_t place = Place();
    if (place != kNowhere) static_cast<T*>(data_[place])[row_] = value;
  }
  duckdb_vector Vector(size_t place) const {
    return duckdb_data_chunk_get_vector(chunk_->handle, place);
  }
  void Begin() {
    std::vector<duckdb_logical_type> types;
    types.reserve(types_.size());
    for (const duckdb_type type : types_) types.push_back(duckdb_create_logical_type(type));
    chunk_ = std::make_unique<DataChunk>(duckdb_create_data_chunk(types.data(), types.size()));
    for (duckdb_logical_type& type : types) duckdb_destroy_logical_type(&type);
    for (size_t i = 0; i < data_.size(); ++i) data_[i] = duckdb_vector_get_data(Vector(i));
  }

  std::vector<size_t> places_;  // by column of the result: in the chunk, or nowhere
  std::vector<duckdb_type> types_;
  Take take_;
  const size_t capacity_;
  std::unique_ptr<DataChunk> chunk_;
  std::vector<void*> data_;  // of its vectors
  size_t column_ = 0;
  size_t row_ = 0;
};

// The table function's callbacks: first its columns, then their rows.
using Made = std::shared_ptr<const MadeTables>;

struct Rows {
  std::vector<std::unique_ptr<DataChunk>> chunks;
  std::vector<size_t> sources;  // by column of the output: that of the chunks
  size_t next = 0;
};

template <class T>
void Delete(void* data) {
  delete static_cast<T*>(data);  // NOLINT(cppcoreguidelines-owning-memory): the database owns it
}

const ResultInfo* FindMade(const MadeTables& made, std::string_view name) {
  for (const ResultInfo& table : made.tables()) {
    if (table.name == name) return &table;
  }
  return nullptr;
}

void Bind(duckdb_bind_info info) {
  const Made& made = *static_cast<const Made*>(duckdb_bind_get_extra_info(info));
  duckdb_value parameter = duckdb_bind_get_parameter(info, 0);
  char* text = duckdb_get_varchar(parameter);
  const ResultInfo* table = FindMade(*made, text != nullptr ? text : "");
  duckdb_free(text);
  duckdb_destroy_value(&parameter);
  if (table == nullptr) return duckdb_bind_set_error(info, "there is no result of that name");
  for (const ResultColumnInfo& column : table->columns) {
    duckdb_bind_add_result_column(info, std::string(column.name).c_str(),
                                  LogicalType(column.type).handle);
  }
  duckdb_bind_set_bind_data(info, const_cast<ResultInfo*>(table), [](void*) {});
}

void Init(duckdb_init_info info) {
  const Made& made = *static_cast<const Made*>(duckdb_init_get_extra_info(info));
  const auto& table = *static_cast<const ResultInfo*>(duckdb_init_get_bind_data(info));
  auto rows = std::make_unique<Rows>();
  std::vector<size_t> wanted;
  for (idx_t i = 0; i < duckdb_init_get_column_count(info); ++i) {
    const auto column = static_cast<size_t>(duckdb_init_get_column_index(info, i));
    const bool is_ours = column < table.columns.size();  // else one without values, for count(*)
    rows->sources.push_back(is_ours ? wanted.size() : kNowhere);
    if (is_ours) wanted.push_back(column);
  }
  if (wanted.empty()) wanted.push_back(0);
  ChunkSink sink(table.columns, wanted, [&](std::unique_ptr<DataChunk> chunk) {
    rows->chunks.push_back(std::move(chunk));
  });
  const Status status = made->Fill(table, sink);
  if (!status.ok()) {
    const std::string why = base::Concat(internal::kOwnWords, status.message());
    return duckdb_init_set_error(info, why.c_str());
  }
  sink.Flush();
  duckdb_init_set_init_data(info, rows.release(), &Delete<Rows>);
}

void Next(duckdb_function_info info, duckdb_data_chunk output) {
  auto& rows = *static_cast<Rows*>(duckdb_function_get_init_data(info));
  if (rows.next == rows.chunks.size()) return duckdb_data_chunk_set_size(output, 0);
  const std::unique_ptr<DataChunk> chunk = std::move(rows.chunks[rows.next++]);
  for (size_t i = 0; i < rows.sources.size(); ++i) {
    if (rows.sources[i] == kNowhere) continue;
    duckdb_vector_reference_vector(duckdb_data_chunk_get_vector(output, i),
                                   duckdb_data_chunk_get_vector(chunk->handle, rows.sources[i]));
  }
  duckdb_data_chunk_set_size(output, duckdb_data_chunk_get_size(chunk->handle));
}

// A name that the database does not know.
void Replace(duckdb_replacement_scan_info info, const char* name, void* data) {
  const Made& made = *static_cast<const Made*>(data);
  const std::string table = base::ToLower(name);
  if (FindMade(*made, table) == nullptr) return;
  duckdb_value parameter = duckdb_create_varchar(table.c_str());
  duckdb_replacement_scan_set_function_name(info, kFunction);
  duckdb_replacement_scan_add_parameter(info, parameter);
  duckdb_destroy_value(&parameter);
}

}  // namespace

Status internal::OfferTables(Database& database, std::shared_ptr<const MadeTables> made) {
  SONDE_ASSIGN_OR_RETURN(const auto connection, Connect(database));
  const LogicalType text(ResultType::kText);
  duckdb_table_function function = duckdb_create_table_function();
  duckdb_table_function_set_name(function, kFunction);
  duckdb_table_function_add_parameter(function, text.handle);
  duckdb_table_function_set_extra_info(function, new Made(made), &Delete<Made>);
  duckdb_table_function_set_bind(function, &Bind);
  duckdb_table_function_set_init(function, &Init);
  duckdb_table_function_set_function(function, &Next);
  duckdb_table_function_supports_projection_pushdown(function, true);
  const bool is_taken =
      duckdb_register_table_function(connection->handle, function) == DuckDBSuccess;
  duckdb_destroy_table_function(&function);
  if (!is_taken) return base::InternalError("the database does not take the tables of results");
  for (const ResultInfo& table : made->tables()) database.made.emplace_back(table.name);
  duckdb_add_replacement_scan(database.handle, &Replace, new Made(std::move(made)), &Delete<Made>);
  return {};
}

struct ResultAppender::Impl {
  duckdb_appender appender = nullptr;
  std::unique_ptr<ChunkSink> sink;
  Status first_error;

  Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() { duckdb_appender_destroy(&appender); }
  void KeepError() {
    const char* text = duckdb_appender_error(appender);
    first_error = internal::DatabaseError(
        base::Concat("cannot write a result: ", text != nullptr ? text : "no reason"));
  }
};

ResultAppender::ResultAppender(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ResultAppender::~ResultAppender() = default;

Result<std::unique_ptr<ResultAppender>> ResultAppender::Open(
    internal::Connection& connection, const std::string& table,
    std::vector<ResultColumnInfo> columns) {
  auto impl = std::make_unique<Impl>();
  if (duckdb_appender_create(connection.handle, nullptr, table.c_str(), &impl->appender) ==
      DuckDBError) {
    impl->KeepError();
    return impl->first_error;
  }
  std::vector<size_t> all;
  for (size_t i = 0; i < columns.size(); ++i) all.push_back(i);
  impl->sink = std::make_unique<ChunkSink>(
      columns, all, [owner = impl.get()](const std::unique_ptr<DataChunk>& chunk) {
        if (!owner->first_error.ok()) return;
        if (duckdb_append_data_chunk(owner->appender, chunk->handle) == DuckDBError) {
          owner->KeepError();
        }
      });
  return std::unique_ptr<ResultAppender>(new ResultAppender(std::move(impl)));
}

void ResultAppender::Int(int64_t value) { impl_->sink->Int(value); }
void ResultAppender::Double(double value) { impl_->sink->Double(value); }
void ResultAppender::Text(std::string_view value) { impl_->sink->Text(value); }
void ResultAppender::Null() { impl_->sink->Null(); }
void ResultAppender::EndRow() { impl_->sink->EndRow(); }
bool ResultAppender::wants_more() const { return impl_->first_error.ok(); }

Status ResultAppender::Close() {
  impl_->sink->Flush();
  if (impl_->first_error.ok() && duckdb_appender_close(impl_->appender) == DuckDBError) {
    impl_->KeepError();
  }
  return impl_->first_error;
}

JoinedTables::JoinedTables(std::vector<std::shared_ptr<const MadeTables>> makers)
    : makers_(std::move(makers)) {
  for (const auto& maker : makers_) {
    const auto tables = maker->tables();
    tables_.insert(tables_.end(), tables.begin(), tables.end());
  }
}

Status JoinedTables::Fill(const ResultInfo& table, RowSink& rows) const {
  for (const auto& maker : makers_) {
    for (const ResultInfo& one : maker->tables()) {
      if (one.name == table.name) return maker->Fill(one, rows);
    }
  }
  return base::InternalError(base::Concat("no source makes the table ", table.name));
}

}  // namespace sonde::store
