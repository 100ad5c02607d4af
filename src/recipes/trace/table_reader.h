// Reads whole tables of a store into memory, as the row structs of store/rows.h.
//
// Rows come in the order in which they lie in the file, which tables.h documents. Cost: about 5 ns
// a value. Errors: those of the store. One thread a call; calls may run in parallel.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/large_vector.h"
#include "base/status.h"
#include "store/row_tables.h"
#include "store/rows.h"
#include "store/store.h"

namespace sonde::recipes {

namespace internal {

template <class Member>
void CopyColumn(const store::Chunk& chunk, size_t column, char* first_member, size_t stride) {
  const auto values = chunk.Values<Member>(column);
  for (size_t row = 0; row < values.size(); ++row) {
    *reinterpret_cast<Member*>(first_member + row * stride) = values[row];
  }
}

// Where values of the database may be absent, texts are empty.
inline void CopyTexts(const store::Chunk& chunk, size_t column, char* first_member, size_t stride,
                      store::RowTables& tables) {
  for (size_t row = 0; row < chunk.rows(); ++row) {
    const bool is_null = chunk.IsNull(column, row);
    *reinterpret_cast<std::string_view*>(first_member + row * stride) =
        is_null ? std::string_view() : tables.KeepText(chunk.Text(column, row));
  }
}

}  // namespace internal

template <class Row>
Status ReadTable(const store::Store& store, store::RowTables& tables) {
  using Traits = store::RowTraits<Row>;
  static_assert(std::is_trivially_copyable_v<Row>);
  base::LargeVector<Row> rows;
  const std::string sql = std::string("SELECT * FROM ") + Traits::kTable;
  SONDE_RETURN_IF_ERROR(store.Scan(sql, [&](const store::Chunk& chunk) -> Status {
    const size_t old_size = rows.size();
    rows.resize(old_size + chunk.rows());
    if (chunk.rows() == 0) return {};
    Row& first = rows[old_size];
    size_t column = 0;
    Traits::Visit(first, [&](const auto& member) {
      using Member = std::remove_cvref_t<decltype(member)>;
      auto* place = reinterpret_cast<char*>(const_cast<Member*>(&member));
      if constexpr (std::is_same_v<Member, std::string_view>) {
        internal::CopyTexts(chunk, column++, place, sizeof(Row), tables);
      } else {
        internal::CopyColumn<Member>(chunk, column++, place, sizeof(Row));
      }
    });
    return {};
  }));
  tables.Add(std::move(rows));
  return {};
}

}  // namespace sonde::recipes
