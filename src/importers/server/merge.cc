#include "importers/server/merge.h"

#include <algorithm>
#include <string_view>
#include <type_traits>
#include <utility>

#include "store/table_writer.h"

namespace sonde::importers::server {
namespace {

using store::ColumnType;

constexpr std::pair<std::string_view, IdSpace> kColumns[] = {
    {"process_id", IdSpace::kProcess},
    {"thread_id", IdSpace::kThread},
    {"forward_thread_id", IdSpace::kThread},
    {"end_thread_id", IdSpace::kThread},
    {"track_id", IdSpace::kTrack},
    {"slice_id", IdSpace::kSlice},
    {"parent_id", IdSpace::kSlice},
    {"launch_slice_id", IdSpace::kSlice},
    {"owner_slice_id", IdSpace::kSlice},
    {"slice_out", IdSpace::kSlice},
    {"slice_in", IdSpace::kSlice},
    {"args_id", IdSpace::kArgs},
    {"stack_id", IdSpace::kStack},
    {"signature_id", IdSpace::kSignature},
    {"kind_id", IdSpace::kKind},
    {"task_id", IdSpace::kTask},
    {"communication_id", IdSpace::kCommunication},
    {"connection_id", IdSpace::kConnection},
    {"flow_id", IdSpace::kFlow},
    {"mark_id", IdSpace::kMark},
};

constexpr IdSpace SpaceOf(std::string_view column) {
  for (const auto& [name, space] : kColumns) {
    if (name == column) return space;
  }
  return IdSpace::kNone;
}

// Calls visitor.template operator()<type, space>(member) for every column.
#define SONDE_MERGE_COLUMN(column, type, unit, meaning, source) \
  visitor.template operator()<ColumnType::k##type, SpaceOf(#column)>(row.column);
#define SONDE_MERGE_VISIT(Row, table, columns, meaning)              \
  template <class AnyRow, class Visitor>                             \
    requires std::is_same_v<std::remove_const_t<AnyRow>, store::Row> \
  void VisitColumns(AnyRow& row, Visitor&& visitor) {                \
    columns(SONDE_MERGE_COLUMN)                                      \
  }
SONDE_TABLES(SONDE_MERGE_VISIT)
#undef SONDE_MERGE_VISIT
#undef SONDE_MERGE_COLUMN

template <class Row, class Numbers>
void Count(const store::RowTables& tables, Numbers& counts) {
  for (const Row& row : tables.Rows<Row>()) {
    VisitColumns(row, [&]<ColumnType type, IdSpace space>(const auto& member) {
      if constexpr (space != IdSpace::kNone) {
        int64_t& count = counts[static_cast<size_t>(space)];
        count = std::max(count, static_cast<int64_t>(member) + 1);
      }
    });
  }
}

template <class Row, class Numbers>
Status Append(const store::RowTables& tables, const Numbers& offsets,
              const std::vector<int32_t>& name_ids, store::Transaction& transaction) {
  if constexpr (std::is_same_v<Row, store::NameRow>) return {};
  const auto rows = tables.Rows<Row>();
  if (rows.empty()) return {};
  SONDE_ASSIGN_OR_RETURN(auto writer, store::TableWriter<Row>::Open(transaction));
  writer.Reserve(rows.size());
  for (Row row : rows) {
    VisitColumns(row, [&]<ColumnType type, IdSpace space>(auto& member) {
      using Member = std::remove_reference_t<decltype(member)>;
      if constexpr (type == ColumnType::kName) {
        if (member >= 0) member = name_ids[static_cast<size_t>(member)];
      } else if constexpr (space != IdSpace::kNone) {
        if (member >= 0) {
          member = static_cast<Member>(member + offsets[static_cast<size_t>(space)]);
        }
      }
    });
    writer.Append(row);
  }
  return writer.Close();
}

}  // namespace

Status Merger::Add(const store::RowTables& tables, store::Transaction& transaction) {
  const auto names = tables.Rows<store::NameRow>();
  name_ids_.assign(names.size(), store::kNone);
  for (const store::NameRow& row : names) {
    name_ids_[static_cast<size_t>(row.name_id)] = names_.Intern(row.name);
  }
  Numbers counts{};
#define SONDE_MERGE_COUNT(Row, table, columns, meaning) Count<store::Row>(tables, counts);
  SONDE_TABLES(SONDE_MERGE_COUNT)
#undef SONDE_MERGE_COUNT
  offsets_ = next_;
  for (size_t i = 0; i < next_.size(); ++i) next_[i] += counts[i];
#define SONDE_MERGE_APPEND(Row, table, columns, meaning) \
  SONDE_RETURN_IF_ERROR(Append<store::Row>(tables, offsets_, name_ids_, transaction));
  SONDE_TABLES(SONDE_MERGE_APPEND)
#undef SONDE_MERGE_APPEND
  return {};
}

}  // namespace sonde::importers::server
