// Reads whole tables of a store into vectors of the row structs of store/rows.h.
//
// For tables without Text columns: their rows are numbers (texts are ids into the names). Rows come
// in the order in which they lie in the file, which tables.h documents. Cost: about 5 ns a value.
// Errors: those of the store. One thread a call; calls may run in parallel.
#pragma once

#include <array>
#include <string>
#include <type_traits>
#include <vector>

#include "base/status.h"
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

}  // namespace internal

template <class Row>
Result<std::vector<Row>> ReadTable(const store::Store& store) {
  using Traits = store::RowTraits<Row>;
  static_assert(std::is_trivially_copyable_v<Row>);
  std::vector<Row> rows;
  const std::string sql = std::string("SELECT * FROM ") + Traits::kTable;
  SONDE_RETURN_IF_ERROR(store.Scan(sql, [&rows](const store::Chunk& chunk) -> Status {
    const size_t old_size = rows.size();
    rows.resize(old_size + chunk.rows());
    if (chunk.rows() == 0) return {};
    Row& first = rows[old_size];
    size_t column = 0;
    Traits::Visit(first, [&](const auto& member) {
      using Member = std::remove_cvref_t<decltype(member)>;
      static_assert(!std::is_same_v<Member, std::string_view>, "tables with texts: use a query");
      auto* place = reinterpret_cast<char*>(const_cast<Member*>(&member));
      internal::CopyColumn<Member>(chunk, column++, place, sizeof(Row));
    });
    return {};
  }));
  return rows;
}

}  // namespace sonde::recipes
