// The rows of all tables in memory: those of a store before its file is made
// (StoreOptions::rows_in_memory), or read from one.
//
// Rows refer to texts that this object keeps. Memory: the size of the rows. Threads: Add and
// KeepText may be called from any; Rows only when nothing is added any more.
#pragma once

#include <deque>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/large_vector.h"
#include "base/status.h"
#include "store/rows.h"

namespace sonde::store {

class Transaction;

class RowTables {
 public:
  // In the order in which they were added.
  template <class Row>
  std::span<const Row> Rows() const {
    return const_cast<RowTables*>(this)->Table(static_cast<const Row*>(nullptr));
  }

  // Texts of the rows must have been kept.
  template <class Row>
  void Add(base::LargeVector<Row> rows) {
    const std::lock_guard lock(mutex_);
    base::LargeVector<Row>& table = Table(static_cast<const Row*>(nullptr));
    if (table.empty()) {
      table = std::move(rows);
    } else {
      table.insert(table.end(), rows.begin(), rows.end());
    }
  }

  // Makes the texts of a row refer to copies that live as long as this object.
  template <class Row>
  void KeepTexts(Row& row) {
    RowTraits<Row>::Visit(row, [this](const auto& member) {
      using Member = std::remove_cvref_t<decltype(member)>;
      if constexpr (std::is_same_v<Member, std::string_view>) {
        const_cast<Member&>(member) = KeepText(member);
      }
    });
  }
  std::string_view KeepText(std::string_view text) {
    if (text.empty()) return {};
    const std::lock_guard lock(mutex_);
    return texts_.emplace_back(text);
  }

  // Writes all rows into the file that the transactions belong to, on up to `threads` threads.
  Status Write(int threads, const std::function<Result<Transaction>()>& begin) const;

 private:
#define SONDE_STORE_KEPT(Row, table, columns, meaning)                \
  base::LargeVector<Row>& Table(const Row*) { return table##_rows_; } \
  base::LargeVector<Row> table##_rows_;
  SONDE_TABLES(SONDE_STORE_KEPT)
#undef SONDE_STORE_KEPT

  std::mutex mutex_;
  std::deque<std::string> texts_;
};

}  // namespace sonde::store
