// Appends rows to a table of the store, a vector of 2 048 values a column at a time.
//
//   SONDE_ASSIGN_OR_RETURN(auto slices, TableWriter<SliceRow>::Open(transaction));
//   slices.Append({.slice_id = 0, .ts = 12});
//   SONDE_RETURN_IF_ERROR(slices.Close());
//
// The first failure is kept; Append after it does nothing, Close returns it. Cost: about 0.02 us a
// value, nearly all of it in the database. One thread; the transaction must outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "base/status.h"
#include "store/row_tables.h"
#include "store/rows.h"
#include "store/store.h"

namespace sonde::store {

namespace internal {

// The untyped half: owns the database's appender and chunk.
class ChunkAppender {
 public:
  static constexpr size_t kMaxColumns = 32;
  static constexpr size_t kChunkRows = 2048;

  // `packed`: the columns are the fields of the table's only column.
  static Result<std::unique_ptr<ChunkAppender>> Open(Connection& connection, const char* table,
                                                     size_t columns, bool packed);
  ~ChunkAppender();
  ChunkAppender(const ChunkAppender&) = delete;
  ChunkAppender& operator=(const ChunkAppender&) = delete;

  template <class T>
  void Put(size_t column, T value) {
    static_cast<T*>(data_[column])[row_] = value;
  }
  void Put(size_t column, std::string_view text) { PutText(column, text); }

  void EndRow() {
    ++total_rows_;
    if (++row_ == kChunkRows) Flush();
  }
  size_t total_rows() const { return total_rows_; }
  Status Close();

 private:
  struct Impl;
  ChunkAppender();
  void Flush();
  void FetchPointers();
  void PutText(size_t column, std::string_view text);

  void* data_[kMaxColumns] = {};
  size_t row_ = 0;
  size_t total_rows_ = 0;
  std::unique_ptr<Impl> impl_;
  Status first_error_;
};

}  // namespace internal

template <class Row>
class TableWriter {
 public:
  using Traits = RowTraits<Row>;
  static_assert(Traits::kColumns <= internal::ChunkAppender::kMaxColumns);

  static Result<TableWriter> Open(Transaction& transaction) {
    if (RowTables* tables = transaction.rows()) return TableWriter(*tables);
    SONDE_ASSIGN_OR_RETURN(auto appender,
                           internal::ChunkAppender::Open(transaction.connection(), Traits::kStored,
                                                         Traits::kColumns, Traits::kPacked));
    return TableWriter(std::move(appender));
  }

  // How many rows will come, where that is known: saves copies of rows in memory.
  void Reserve(size_t rows) {
    if (tables_ != nullptr) rows_.reserve(rows);
  }
  void Append(const Row& row) {
    if (tables_ != nullptr) {
      rows_.push_back(row);
      ++kept_rows_;
      if constexpr (Traits::kHasTexts) tables_->KeepTexts(rows_.back());
      return;
    }
    internal::ChunkAppender& appender = *appender_;
    size_t column = 0;
    Traits::Visit(row, [&](auto value) { appender.Put(column++, value); });
    appender.EndRow();
  }
  size_t rows() const { return tables_ != nullptr ? kept_rows_ : appender_->total_rows(); }
  Status Close() {
    if (tables_ == nullptr) return appender_->Close();
    tables_->Add(std::move(rows_));
    return {};
  }

 private:
  explicit TableWriter(std::unique_ptr<internal::ChunkAppender> appender)
      : appender_(std::move(appender)) {}
  explicit TableWriter(RowTables& tables) : tables_(&tables) {}
  std::unique_ptr<internal::ChunkAppender> appender_;
  RowTables* tables_ = nullptr;  // with rows in memory
  base::LargeVector<Row> rows_;
  size_t kept_rows_ = 0;
};

}  // namespace sonde::store
