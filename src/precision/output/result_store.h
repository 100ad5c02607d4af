// The results of a comparison or the nodes of graphs as tables of a store, for SQL.
//
//   precision_statistics, precision_tensor, precision_md5   one row a parameter, after its mode
//   precision_finding                                       one row a pair of ranks: its first
//   cause precision_node                                          one row a node of a graph
//
// Columns are those of the csv in snake case, with step, rank and row in front; metrics and
// statistics are numbers, NULL where the csv has a word. npu_max_text and bench_max_text are what
// it prints there: values of arguments. The cells as printed are in schema `source`, a table a pair
// of ranks.
// SQL metrics: an expression over these columns is evaluated for every row of a comparison.
// Errors: Status with the database's text. Threads: one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "precision/graph/vis_db.h"
#include "precision/output/conclusion.h"
#include "precision/output/result_table.h"
#include "precision/output/row_causes.h"
#include "store/source_tables.h"
#include "store/store.h"

namespace sonde::precision {

// A column of the user's own: "name=expression".
struct SqlMetric {
  std::string name;
  std::string expression;
};
Result<SqlMetric> ParseSqlMetric(std::string_view text);

// Where the rows of a table come from; what may be null gives no modules, no source lines.
struct RowOrigin {
  int64_t step = 0;
  int64_t rank = 0;
  const ConstructFile* construct = nullptr;
  const StackFile* stack = nullptr;
};

class ResultStore {
 public:
  // The file gets its name at Publish(); without it nothing is left.
  static Result<std::unique_ptr<ResultStore>> Create(const std::string& path);

  // All rows of a table; `causes` (may be empty) gives the columns cause, explained and ratio.
  Status Add(const ResultTable& table, const RowOrigin& origin,
             const std::vector<RowCause>& causes);
  // What each pair that was compared shows, and the conclusion of all.
  Status AddFindings(const std::vector<PairFinding>& pairs, const Conclusion& conclusion);
  // The metric for every row of the table that was added last.
  Result<std::vector<std::string>> Evaluate(const SqlMetric& metric) const;
  Status AddGraph(const VisGraph& graph);
  // Makes the public views.
  Status Publish();

 private:
  explicit ResultStore(std::unique_ptr<store::Store> store) : store_(std::move(store)) {}

  // A source table with its view's SELECT.
  struct Part {
    std::string view;
    std::string select;
  };

  std::unique_ptr<store::Store> store_;
  store::SourceNames names_;
  std::vector<Part> parts_;
};

// "MaxRelativeErr" -> "max_relative_err", "NPU Name" -> "npu_name".
std::string SnakeCase(std::string_view header);

}  // namespace sonde::precision
