// Tables of cluster modes, each declared once: columns with our name and unit, and the name that
// the reference tool gives them.
//
//   #define SONDE_COLUMNS_SLOW(C) C(rank, Int, "rankId", "", "", KeyOf("rank"), "global rank")
//   SONDE_CLUSTER_TABLE(SlowRow, kSlow, "slow_rank", "SlowRank", "rank_stats", SONDE_COLUMNS_SLOW,
//                       "how often a rank arrived last")
//
// From the declaration come the row struct, the table of cluster_analysis.db, the csv file, the
// sheet, the table of the report and the documentation. Types: Int; Opt (-1 inside is NULL);
// Double (NaN is NULL); Text; OptText ("" is NULL). The fourth value of a column is its heading in
// text files where that is not made by the rule of TextHeading. Pure, any thread.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "store/result_info.h"

namespace sonde::cluster {

struct ColumnNames {
  std::string_view db;    // in cluster_analysis.db
  std::string_view text;  // in text files and sheets; "": by TextHeading; "-": not there
};

struct TableInfo {
  store::ResultInfo result;         // with our names
  std::string_view reference_name;  // table of cluster_analysis.db
  std::string_view file;            // of text, without ".csv"; "{time}" is the time of the run
  std::span<const ColumnNames> names;
};

// How text files show a column: nanoseconds become microseconds ("MeanNs" -> "Mean(Us)", / 1000),
// or milliseconds where the heading has that unit.
struct TextColumn {
  std::string heading;
  double divisor = 1;
};
TextColumn TextHeading(const ColumnNames& names);

using Cell = std::variant<std::monostate, int64_t, double, std::string>;

// The rows of a table. One thread.
class Table final : public store::RowSink {
 public:
  explicit Table(const TableInfo& info) : info_(&info) {}
  void Int(int64_t value) override { cells_.emplace_back(value); }
  void Double(double value) override {
    std::isnan(value) ? Null() : static_cast<void>(cells_.emplace_back(value));
  }
  void Text(std::string_view value) override { cells_.emplace_back(std::string(value)); }
  void Null() override { cells_.emplace_back(); }
  void EndRow() override {}

  const TableInfo& info() const { return *info_; }
  size_t columns() const { return info_->result.columns.size(); }
  size_t rows() const { return cells_.size() / columns(); }
  const Cell& At(size_t row, size_t column) const { return cells_[row * columns() + column]; }

 private:
  const TableInfo* info_;
  std::vector<Cell> cells_;
};

// As results are written. A text in a column of numbers, "NA" in the reference, is
// NULL.
void WriteRows(const Table& table, store::RowSink& rows);

template <class Rows>
Table TableOf(const TableInfo& info, const Rows& rows) {
  Table table(info);
  for (const auto& row : rows) row.Write(table);
  return table;
}

template <store::ResultType type>
struct CellOf {
  static constexpr bool kIsText =
      type == store::ResultType::kText || type == store::ResultType::kOptText;
  using Type =
      std::conditional_t<kIsText, std::string,
                         std::conditional_t<type == store::ResultType::kDouble, double, int64_t>>;
};

}  // namespace sonde::cluster

// NOLINTBEGIN(bugprone-macro-parentheses): types and names
#define SONDE_CLUSTER_MEMBER(column, type, db, text, unit, role, meaning)     \
  ::sonde::cluster::CellOf<::sonde::store::ResultType::k##type>::Type column{ \
      ::sonde::store::ResultValue<::sonde::store::ResultType::k##type>::kDefault};
#define SONDE_CLUSTER_COLUMN(column, type, db, text, unit, role, meaning)              \
  ::sonde::store::ResultColumnInfo{#column, ::sonde::store::ResultType::k##type, unit, \
                                   ::sonde::store::role, meaning},
#define SONDE_CLUSTER_NAMES(column, type, db, text, unit, role, meaning) \
  ::sonde::cluster::ColumnNames{db, text},
#define SONDE_CLUSTER_PUT(column, type, db, text, unit, role, meaning) \
  ::sonde::store::ResultValue<::sonde::store::ResultType::k##type>::Put(column, rows);
// Within namespace sonde::cluster.
#define SONDE_CLUSTER_TABLE(Row, kInfo, name, reference, file, columns, meaning)        \
  struct Row {                                                                          \
    columns(SONDE_CLUSTER_MEMBER) void Write(::sonde::store::RowSink& rows) const {     \
      columns(SONDE_CLUSTER_PUT) rows.EndRow();                                         \
    }                                                                                   \
  };                                                                                    \
  inline constexpr auto kInfo##Columns =                                                \
      std::to_array<::sonde::store::ResultColumnInfo>({columns(SONDE_CLUSTER_COLUMN)}); \
  inline constexpr auto kInfo##Names =                                                  \
      std::to_array<::sonde::cluster::ColumnNames>({columns(SONDE_CLUSTER_NAMES)});     \
  inline constexpr ::sonde::cluster::TableInfo kInfo = {                                \
      {name, meaning, kInfo##Columns}, reference, file, kInfo##Names};
// NOLINTEND(bugprone-macro-parentheses)
