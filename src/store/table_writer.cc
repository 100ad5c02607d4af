#include "store/table_writer.h"

#include <duckdb.h>

#include <algorithm>

#include "base/strings.h"
#include "store/duckdb_handles.h"

namespace sonde::store::internal {
namespace {

// A row group of the database, which by itself gathers a hundred. Each flush costs as much as a
// small statement.
constexpr int kGatheredChunks = 60;

}  // namespace

struct ChunkAppender::Impl {
  duckdb_appender appender = nullptr;
  duckdb_data_chunk chunk = nullptr;
  bool packed = false;
  int gathered = 0;  // chunks since the last flush
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
    return internal::DatabaseError(
        base::Concat("cannot ", what, " the trace store: ", text != nullptr ? text : "no reason"));
  }
};

ChunkAppender::ChunkAppender() : impl_(std::make_unique<Impl>()) {}
ChunkAppender::~ChunkAppender() = default;

Result<std::unique_ptr<ChunkAppender>> ChunkAppender::Open(Connection& connection,
                                                           const char* table, size_t columns,
                                                           bool packed) {
  CHECK(duckdb_vector_size() == kChunkRows, "the database works on vectors of another size");
  std::unique_ptr<ChunkAppender> result(new ChunkAppender());
  Impl& impl = *result->impl_;
  impl.packed = packed;
  if (duckdb_appender_create(connection.handle, nullptr, table, &impl.appender) == DuckDBError) {
    return impl.Error("append to");
  }
  std::vector<duckdb_logical_type> types(packed ? 1 : columns);
  for (size_t i = 0; i < types.size(); ++i) {
    types[i] = duckdb_appender_column_type(impl.appender, i);
  }
  impl.chunk = duckdb_create_data_chunk(types.data(), types.size());
  for (duckdb_logical_type& type : types) duckdb_destroy_logical_type(&type);
  impl.vectors.resize(columns);
  result->FetchPointers();
  return result;
}

void ChunkAppender::FetchPointers() {
  duckdb_vector whole = duckdb_data_chunk_get_vector(impl_->chunk, 0);
  for (size_t i = 0; i < impl_->vectors.size(); ++i) {
    impl_->vectors[i] = impl_->packed ? duckdb_struct_vector_get_child(whole, i)
                                      : duckdb_data_chunk_get_vector(impl_->chunk, i);
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
  // A full row group is written to the file at once; nothing of it stays in memory.
  if (first_error_.ok() && ++impl_->gathered == kGatheredChunks) {
    impl_->gathered = 0;
    if (duckdb_appender_flush(impl_->appender) == DuckDBError) first_error_ = impl_->Error("write");
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
