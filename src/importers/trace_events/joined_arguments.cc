// The sets of arguments of a begin and its end as one set, made in the database: the rows of both
// were written there while the file was read.
#include <array>
#include <string>
#include <string_view>

#include "base/strings.h"
#include "importers/trace_events/stage.h"
#include "store/rows.h"

namespace sonde::importers::trace_events {
namespace {

using base::Concat;

struct JoinedTable {
  std::string_view name;
  std::string_view stored;
  bool packed;
  std::string_view columns;  // behind args_id
};

template <class Row>
constexpr JoinedTable TableOf(std::string_view columns) {
  using Traits = store::RowTraits<Row>;
  return {Traits::kTable, Traits::kStored, Traits::kPacked, columns};
}

constexpr std::array<JoinedTable, 3> kTables = {TableOf<store::ArgsIntRow>("key value"),
                                                TableOf<store::ArgsDoubleRow>("key value"),
                                                TableOf<store::ArgsTextRow>("key form value")};

// The row of `t` under the number of the joined set `j`.
std::string JoinedRow(const JoinedTable& table) {
  std::string row = table.packed ? "struct_pack(args_id := j.args_id" : "j.args_id";
  for (const std::string_view column : base::Split(table.columns, ' ')) {
    row += table.packed ? Concat(", ", column, " := t.", column) : Concat(", t.", column);
  }
  return table.packed ? row + ")" : row;
}

// As one text, which the database takes apart faster than a list of values.
std::string InsertPairs(std::string_view text) {
  return Concat("INSERT INTO joined_ SELECT split_part(x, ' ', 1)::INTEGER, ",
                "split_part(x, ' ', 2)::INTEGER, split_part(x, ' ', 3)::INTEGER ",
                "FROM (SELECT unnest(string_split('", text, "', ',')) AS x)");
}

}  // namespace

int32_t EventStage::JoinArguments(int32_t begin, int32_t end) {
  joined_arguments_.push_back({begin, end, argument_numbers_.set++});
  return joined_arguments_.back().joined;
}

Status EventStage::WriteJoinedArguments() {
  constexpr size_t kBatchBytes = size_t{1} << 20U;
  SONDE_ASSIGN_OR_RETURN(auto transaction, store_->Begin());
  SONDE_RETURN_IF_ERROR(transaction.Execute(
      "CREATE TEMP TABLE joined_ (begin_id INTEGER, end_id INTEGER, args_id INTEGER)"));
  std::string text;
  for (size_t i = 0; i < joined_arguments_.size(); ++i) {
    const JoinedArguments& sets = joined_arguments_[i];
    text += Concat(text.empty() ? "" : ",", std::to_string(sets.begin), " ",
                   std::to_string(sets.end), " ", std::to_string(sets.joined));
    if (text.size() < kBatchBytes && i + 1 < joined_arguments_.size()) continue;
    SONDE_RETURN_IF_ERROR(transaction.Execute(InsertPairs(text)));
    text.clear();
  }
  SONDE_RETURN_IF_ERROR(
      transaction.Execute("CREATE TEMP TABLE end_keys_ (args_id INTEGER, key INTEGER)"));
  for (const JoinedTable& table : kTables) {
    SONDE_RETURN_IF_ERROR(transaction.Execute(
        Concat("INSERT INTO end_keys_ SELECT j.args_id, t.key FROM joined_ j JOIN ", table.name,
               " t ON t.args_id = j.end_id")));
  }
  for (const JoinedTable& table : kTables) {
    const std::string join = Concat("SELECT ", JoinedRow(table), " FROM joined_ j JOIN ",
                                    table.name, " t ON t.args_id = j.");
    SONDE_RETURN_IF_ERROR(transaction.Execute(
        Concat("INSERT INTO ", table.stored, " ", join, "end_id UNION ALL ", join,
               "begin_id ANTI JOIN end_keys_ e ON e.args_id = j.args_id AND e.key = t.key")));
  }
  SONDE_RETURN_IF_ERROR(transaction.Execute("DROP TABLE temp.joined_"));
  SONDE_RETURN_IF_ERROR(transaction.Execute("DROP TABLE temp.end_keys_"));
  return transaction.Commit();
}

}  // namespace sonde::importers::trace_events
