#include "job/pack_rows.h"

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/strings.h"
#include "recipes/trace/part_needs.h"
#include "recipes/trace/table_reader.h"
#include "store/row_tables.h"

namespace sonde::job {
namespace {

using store::RowTables;

using Traces = std::vector<RowTables*>;  // by place, null where nobody wants its rows

// The cells of a chunk, behind the one that names the trace, as rows.
template <class Row>
void TakeCells(const store::Chunk& chunk, std::vector<Row>& block, const Traces& traces) {
  const auto places = chunk.Values<int32_t>(0);
  size_t column = 1;
  store::RowTraits<Row>::Visit(block[0], [&](const auto& member) {
    using Member = std::remove_cvref_t<decltype(member)>;
    auto* first = reinterpret_cast<char*>(const_cast<Member*>(&member));
    if constexpr (std::is_same_v<Member, std::string_view>) {
      for (size_t row = 0; row < chunk.rows(); ++row) {
        const bool is_null = chunk.IsNull(column, row);
        *reinterpret_cast<std::string_view*>(first + row * sizeof(Row)) =
            is_null ? std::string_view()
                    : traces[static_cast<size_t>(places[row])]->KeepText(chunk.Text(column, row));
      }
    } else {
      recipes::internal::CopyColumn<Member>(chunk, column, first, sizeof(Row));
    }
    ++column;
  });
}

template <class Row>
Status ReadTableOfAll(const store::JointStore& pack, const std::string& where,
                      const Traces& traces) {
  std::vector<base::LargeVector<Row>> rows(traces.size());
  const std::string sql = base::Concat("SELECT * FROM ", store::RowTraits<Row>::kTable, where);
  SONDE_RETURN_IF_ERROR(pack.Scan(sql, [&](const store::Chunk& chunk) -> Status {
    const auto places = chunk.Values<int32_t>(0);
    std::vector<Row> block(chunk.rows());
    if (block.empty()) return {};
    TakeCells(chunk, block, traces);
    for (size_t row = 0; row < block.size(); ++row) {
      rows[static_cast<size_t>(places[row])].push_back(block[row]);
    }
    return {};
  }));
  for (size_t place = 0; place < traces.size(); ++place) {
    if (traces[place] != nullptr) traces[place]->Add(std::move(rows[place]));
  }
  return {};
}

// Texts are those of all traces, and each of them refers to some by number.
Status ReadNames(const store::JointStore& pack, const Traces& traces) {
  std::vector<base::LargeVector<store::NameRow>> rows(traces.size());
  SONDE_RETURN_IF_ERROR(
      pack.Scan("SELECT name_id, name FROM name_", [&](const store::Chunk& chunk) -> Status {
        const auto ids = chunk.Values<int32_t>(0);
        for (size_t i = 0; i < traces.size(); ++i) {
          if (traces[i] == nullptr) continue;
          for (size_t row = 0; row < chunk.rows(); ++row) {
            rows[i].push_back({ids[row], traces[i]->KeepText(chunk.Text(1, row))});
          }
        }
        return {};
      }));
  for (size_t i = 0; i < traces.size(); ++i) {
    if (traces[i] != nullptr) traces[i]->Add(std::move(rows[i]));
  }
  return {};
}

template <class Row>
Status Read(const store::JointStore& pack, const std::string& where, const recipes::Needs& needs,
            const Traces& traces) {
  if constexpr (std::is_same_v<Row, store::NameRow>) return ReadNames(pack, traces);
  // The bounds of a trace are those of all its tables.
  if (!needs.bounds && !recipes::HasAnyOf<Row>(needs)) return {};
  return ReadTableOfAll<Row>(pack, where, traces);
}

}  // namespace

Result<std::vector<std::unique_ptr<store::Store>>> ReadPack(const store::JointStore& pack,
                                                            std::span<const int32_t> places,
                                                            const recipes::Needs& needs) {
  std::vector<std::unique_ptr<store::Store>> stores;
  Traces traces;
  std::string where;
  for (const int32_t place : places) {
    SONDE_ASSIGN_OR_RETURN(stores.emplace_back(), store::Store::Create("", {.rows_in_memory = true,
                                                                            .without_file = true}));
    SONDE_ASSIGN_OR_RETURN(auto transaction, stores.back()->Begin());
    const auto at = static_cast<size_t>(place);
    if (at >= traces.size()) traces.resize(at + 1);
    traces[at] = transaction.rows();
    where += base::Concat(where.empty() ? " WHERE trace IN (" : ", ", std::to_string(place));
  }
  where += ')';
#define SONDE_JOB_READ(Row, table, columns, meaning) \
  SONDE_RETURN_IF_ERROR(Read<store::Row>(pack, where, needs, traces));
  SONDE_TABLES(SONDE_JOB_READ)
#undef SONDE_JOB_READ
  return stores;
}

}  // namespace sonde::job
