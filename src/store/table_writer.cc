#include "store/table_writer.h"

#include <duckdb.h>

#include <algorithm>

#include "base/strings.h"
#include "store/duckdb_handles.h"

namespace sonde::store::internal {
namespace {

duckdb_type ToDuckDbType(ColumnType type) {
  switch (type) {
    case ColumnType::kInt16:
      return DUCKDB_TYPE_SMALLINT;
    case ColumnType::kInt64:
    case ColumnType::kOpt:
      return DUCKDB_TYPE_BIGINT;
    case ColumnType::kDouble:
      return DUCKDB_TYPE_DOUBLE;
    case ColumnType::kText:
      return DUCKDB_TYPE_VARCHAR;
    default:
      return DUCKDB_TYPE_INTEGER;
  }
}

}  // namespace

struct ChunkAppender::Impl {
  duckdb_appender appender = nullptr;
  duckdb_data_chunk chunk = nullptr;
  size_t columns = 0;
  std::vector<duckdb_vector> vectors;

  Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    duckdb_destroy_data_chunk(&chunk);
    duckdb_appender_destroy(&appender);
  }
  Status Error(const char* what) const {
    const char* text = duckdb_appender_error(appender);
    return base::InternalError(
        base::Concat("cannot ", what, " the trace store: ", text != nullptr ? text : "no reason"));
  }
};

ChunkAppender::ChunkAppender() : impl_(std::make_unique<Impl>()) {}
ChunkAppender::~ChunkAppender() = default;

Result<std::unique_ptr<ChunkAppender>> ChunkAppender::Open(Connection& connection,
                                                           const char* table,
                                                           std::span<const ColumnType> types) {
  std::unique_ptr<ChunkAppender> result(new ChunkAppender());
  Impl& impl = *result->impl_;
  impl.columns = types.size();
  if (duckdb_appender_create(connection.handle, nullptr, table, &impl.appender) == DuckDBError) {
    return impl.Error("append to");
  }
  std::vector<duckdb_logical_type> logical(types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    logical[i] = duckdb_create_logical_type(ToDuckDbType(types[i]));
  }
  impl.chunk = duckdb_create_data_chunk(logical.data(), logical.size());
  for (duckdb_logical_type& type : logical) duckdb_destroy_logical_type(&type);
  CHECK(duckdb_vector_size() == kChunkRows, "the database works on vectors of another size");
  impl.vectors.resize(types.size());
  result->FetchPointers();
  return result;
}

void ChunkAppender::FetchPointers() {
  for (size_t i = 0; i < impl_->columns; ++i) {
    impl_->vectors[i] = duckdb_data_chunk_get_vector(impl_->chunk, i);
    data_[i] = duckdb_vector_get_data(impl_->vectors[i]);
  }
}

void ChunkAppender::PutText(size_t column, std::string_view text) {
  duckdb_vector_assign_string_element_len(impl_->vectors[column], row_, text.data(), text.size());
}

void ChunkAppender::Flush() {
  if (row_ == 0) return;
  duckdb_data_chunk_set_size(impl_->chunk, row_);
  row_ = 0;
  if (first_error_.ok() && duckdb_append_data_chunk(impl_->appender, impl_->chunk) == DuckDBError) {
    first_error_ = impl_->Error("write");
  }
  duckdb_data_chunk_reset(impl_->chunk);
  FetchPointers();
}

Status ChunkAppender::Close() {
  Flush();
  if (first_error_.ok() && duckdb_appender_close(impl_->appender) == DuckDBError) {
    first_error_ = impl_->Error("write");
  }
  return first_error_;
}

}  // namespace sonde::store::internal
