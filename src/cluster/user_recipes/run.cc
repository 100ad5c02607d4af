#include "cluster/user_recipes/run.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "base/host/parallel.h"
#include "base/strings.h"
#include "cluster/frame/add_finding.h"
#include "cluster/frame/facts.h"
#include "job/results.h"
#include "store/joint.h"
#include "store/made_tables.h"

namespace sonde::cluster {
namespace {

using base::Concat;
using store::Chunk;
using store::ResultType;
using store::ValueType;

constexpr std::string_view kStepId = "{step_id}";

// The result of a statement.
struct Answer {
  std::vector<std::string> names;
  std::vector<ResultType> types;
  std::vector<std::vector<Cell>> rows;
};

template <class T>
int64_t Whole(const Chunk& chunk, size_t column, size_t row) {
  return static_cast<int64_t>(chunk.Values<T>(column)[row]);
}

Cell CellOf(const Chunk& chunk, size_t column, size_t row) {
  if (chunk.IsNull(column, row)) return {};
  switch (chunk.type(column)) {
    case ValueType::kBool:
      return Whole<bool>(chunk, column, row);
    case ValueType::kInt8:
      return Whole<int8_t>(chunk, column, row);
    case ValueType::kInt16:
      return Whole<int16_t>(chunk, column, row);
    case ValueType::kInt32:
      return Whole<int32_t>(chunk, column, row);
    case ValueType::kInt64:
      return Whole<int64_t>(chunk, column, row);
    case ValueType::kUint8:
      return Whole<uint8_t>(chunk, column, row);
    case ValueType::kUint16:
      return Whole<uint16_t>(chunk, column, row);
    case ValueType::kUint32:
      return Whole<uint32_t>(chunk, column, row);
    case ValueType::kUint64:
      return Whole<uint64_t>(chunk, column, row);
    case ValueType::kFloat:
      return static_cast<double>(chunk.Values<float>(column)[row]);
    case ValueType::kDouble:
      return chunk.Values<double>(column)[row];
    case ValueType::kHugeInt: {
      // Sums of integers; beyond 64 bits the nearest double.
      const store::HugeInt value = chunk.Values<store::HugeInt>(column)[row];
      const auto low = static_cast<int64_t>(value.lower);
      if (value.upper == (low < 0 ? -1 : 0)) return low;
      constexpr double kHigh = 18446744073709551616.0;  // 2^64
      return static_cast<double>(value.upper) * kHigh + static_cast<double>(value.lower);
    }
    case ValueType::kText:
    case ValueType::kOther:
      return std::string(chunk.Text(column, row));
  }
  return {};
}

ResultType TypeOf(const store::QueryColumn& column) {
  if (column.is_decimal) return ResultType::kDouble;
  switch (column.type) {
    case ValueType::kText:
    case ValueType::kOther:
      return ResultType::kText;
    case ValueType::kFloat:
    case ValueType::kDouble:
      return ResultType::kDouble;
    default:
      return ResultType::kInt;
  }
}

// Decimal numbers come as texts.
Cell AsDouble(const Cell& cell) {
  const auto* text = std::get_if<std::string>(&cell);
  if (text == nullptr) return cell;
  const auto number = base::ParseDouble(*text);
  return number ? Cell(*number) : Cell();
}

Result<Answer> Ask(const store::JointStore& store, const std::string& sql) {
  Answer answer;
  std::vector<bool> are_decimal;
  const auto begin = [&](const std::vector<store::QueryColumn>& columns) -> Status {
    answer = {};
    are_decimal.clear();
    for (const store::QueryColumn& column : columns) {
      answer.names.push_back(column.name);
      answer.types.push_back(TypeOf(column));
      are_decimal.push_back(column.is_decimal);
    }
    return {};
  };
  SONDE_RETURN_IF_ERROR(store.ScanWithColumns(sql, begin, [&](const Chunk& chunk) -> Status {
    for (size_t row = 0; row < chunk.rows(); ++row) {
      std::vector<Cell>& cells = answer.rows.emplace_back();
      for (size_t column = 0; column < chunk.columns(); ++column) {
        Cell cell = CellOf(chunk, column, row);
        cells.push_back(are_decimal[column] ? AsDouble(cell) : std::move(cell));
        if (std::holds_alternative<double>(cells.back()) &&
            answer.types[column] == ResultType::kInt) {
          answer.types[column] = ResultType::kDouble;
        }
      }
    }
    return {};
  }));
  return answer;
}

void PutCell(const Cell& cell, ResultType type, store::RowSink& rows) {
  const auto* integer = std::get_if<int64_t>(&cell);
  if (integer != nullptr) {
    type == ResultType::kDouble ? rows.Double(static_cast<double>(*integer)) : rows.Int(*integer);
  } else if (const auto* real = std::get_if<double>(&cell)) {
    rows.Double(*real);
  } else if (const auto* text = std::get_if<std::string>(&cell)) {
    rows.Text(*text);
  } else {
    rows.Null();
  }
}

// rank_rows: what all ranks gave.
class RankRows final : public store::MadeTables {
 public:
  explicit RankRows(Answer rows) : rows_(std::move(rows)) {
    for (size_t i = 0; i < rows_.names.size(); ++i) {
      columns_.push_back({.name = rows_.names[i],
                          .type = rows_.types[i],
                          .unit = "",
                          .role = store::kLabel,
                          .meaning = ""});
    }
    table_ = {.name = "rank_rows", .meaning = "rows of all ranks", .columns = columns_};
  }
  RankRows(const RankRows&) = delete;
  RankRows& operator=(const RankRows&) = delete;
  ~RankRows() override = default;
  std::span<const store::ResultInfo> tables() const override { return {&table_, 1}; }
  Status Fill(const store::ResultInfo& /*table*/, store::RowSink& rows) const override {
    for (const std::vector<Cell>& row : rows_.rows) {
      for (size_t i = 0; i < row.size(); ++i) PutCell(row[i], rows_.types[i], rows);
      rows.EndRow();
    }
    return {};
  }
  const Answer& all() const { return rows_; }

 private:
  Answer rows_;
  std::vector<store::ResultColumnInfo> columns_;
  store::ResultInfo table_;
};

using store::JointStore;

// A file with the one trace, under the rank's number.
store::StoreFile FileOf(const store::StoreFile& file, const store::TraceLabel& label,
                        int32_t rank) {
  store::StoreFile one = file;
  one.traces = {label};
  one.traces.front().rank = rank;
  return one;
}

Result<Answer> AskRank(const store::StoreFile& file, const std::string& sql) {
  SONDE_ASSIGN_OR_RETURN(const auto store, JointStore::Open({file}, JointStore::Columns::kLeading));
  const auto complain = [](std::string_view) {};  // of a result that cannot be made: no rows
  SONDE_RETURN_IF_ERROR(store->Offer(
      job::MakeResults({file}, JointStore::Columns::kLeading, /*threads=*/1, complain)));
  return Ask(*store, sql);
}

struct RankFile {
  int32_t rank = 0;
  std::string path;
  store::StoreFile file;
};

std::vector<RankFile> FilesOfRanks(const job::JobFiles& opened, const std::vector<Rank>& ranks) {
  std::map<int32_t, const Rank*> by_trace;
  for (const Rank& rank : ranks) by_trace[rank.trace.number] = &rank;
  std::vector<RankFile> files;
  for (const store::StoreFile& file : opened.files) {
    for (const store::TraceLabel& label : file.traces) {
      const Rank& rank = *by_trace.at(label.trace);
      files.push_back({rank.number, rank.trace.source.path, FileOf(file, label, rank.number)});
    }
  }
  std::ranges::sort(files, {}, &RankFile::rank);
  return files;
}

// All rows with the rank in front; the types are those that hold what every rank gave.
Answer Together(std::vector<std::pair<int32_t, Answer>> answers) {
  Answer all;
  for (auto& [rank, answer] : answers) {
    if (all.names.empty()) {
      all.names = {"rank"};
      all.types = {ResultType::kInt};
      all.names.insert(all.names.end(), answer.names.begin(), answer.names.end());
      all.types.insert(all.types.end(), answer.types.begin(), answer.types.end());
    }
    for (size_t i = 0; i < answer.types.size(); ++i) {
      if (answer.types[i] == ResultType::kDouble) all.types[i + 1] = ResultType::kDouble;
    }
    for (std::vector<Cell>& row : answer.rows) {
      row.insert(row.begin(), static_cast<int64_t>(rank));
      all.rows.push_back(std::move(row));
    }
  }
  return all;
}

Status Reduce(const UserRecipe& recipe, const store::StoreFile& any, Answer rows, UserTable& table,
              Outcome& outcome) {
  const auto all = std::make_shared<RankRows>(std::move(rows));
  SONDE_ASSIGN_OR_RETURN(const auto store, JointStore::Open({any}, JointStore::Columns::kLeading));
  SONDE_RETURN_IF_ERROR(store->Offer(all));
  Answer result = all->all();
  if (!recipe.reduce_sql.empty()) {
    SONDE_ASSIGN_OR_RETURN(
        result, Ask(*store, recipe.reduce_sql).Annotate(Concat(recipe.folder, "/reduce.sql")));
  }
  table.SetColumns(result.names, result.types);
  Table& written = outcome.tables.emplace_back(table.info());
  for (const std::vector<Cell>& row : result.rows) {
    for (size_t i = 0; i < row.size(); ++i) PutCell(row[i], result.types[i], written);
  }
  if (recipe.say_sql.empty()) return {};
  SONDE_ASSIGN_OR_RETURN(const Answer sentences,
                         Ask(*store, recipe.say_sql).Annotate(Concat(recipe.folder, "/say.sql")));
  for (const std::vector<Cell>& row : sentences.rows) {
    const auto* text = row.empty() ? nullptr : std::get_if<std::string>(row.data());
    if (text != nullptr) AddFinding(outcome, "cluster.of_user", {*text}, table.info());
  }
  return {};
}

using Answers = std::vector<std::pair<int32_t, Answer>>;  // by rank

// A statement may make columns of values (PIVOT): only what has the same ones goes together.
bool HaveSameColumns(const Answer& a, const Answer& b) {
  if (a.names != b.names) return false;
  for (size_t i = 0; i < a.types.size(); ++i) {
    if ((a.types[i] == ResultType::kText) != (b.types[i] == ResultType::kText)) return false;
  }
  return true;
}

// Of the ranks in which the statement found something; what became of the others is in `result`.
Result<Answers> AskRanks(const UserRecipe& recipe, const std::vector<RankFile>& files,
                         const std::string& sql, int threads, RunResult& result) {
  std::vector<std::optional<Result<Answer>>> answers(files.size());
  base::ParallelFor(files.size(), {.max_threads = threads}, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) answers[i].emplace(AskRank(files[i].file, sql));
  });
  Answers good;
  for (size_t i = 0; i < files.size(); ++i) {
    Result<Answer>& answer = answers[i].value();
    if (!answer.ok()) {
      Status why = answer.status();
      why.Annotate(Concat(recipe.folder, "/rank.sql"));
      result.failures.push_back({files[i].path, std::move(why)});
    } else if (answer->rows.empty()) {
      result.without.push_back(files[i].rank);
    } else if (!good.empty() && !HaveSameColumns(good.front().second, *answer)) {
      result.failures.push_back(
          {files[i].path, base::FailedPreconditionError(
                              Concat(recipe.folder, "/rank.sql gives other columns than of rank ",
                                     std::to_string(good.front().first)))});
    } else {
      good.emplace_back(files[i].rank, *std::move(answer));
    }
  }
  if (!good.empty()) return good;
  if (!result.failures.empty()) return result.failures.front().why;
  return base::NotFoundError(
      Concat("no rank holds what '", recipe.name, "' is made from: ", recipe.wants));
}

// As it is asked for this run.
std::string StatementOf(const UserRecipe& recipe, int64_t step_id, Outcome& outcome) {
  std::string sql =
      base::ReplaceAll(recipe.rank_sql, kStepId, step_id < 0 ? "NULL" : std::to_string(step_id));
  if (sql == recipe.rank_sql && step_id >= 0) {
    outcome.notices.push_back(
        Concat("--step_id has no effect: ", recipe.folder, "/rank.sql does not name {step_id}"));
  }
  return sql;
}

}  // namespace

Result<RunResult> RunUserRecipe(const UserRecipe& recipe, const std::vector<Rank>& ranks,
                                const ModeOptions& mode_options, const RunOptions& options,
                                UserTable& table) {
  job::Job job;
  for (const Rank& rank : ranks) job.traces.push_back(rank.trace);
  SONDE_ASSIGN_OR_RETURN(
      const auto opened,
      job::OpenFiles(job, {.threads = options.threads,
                           .notify = options.notify,
                           .complain = [](std::string_view) {},  // reported below
                           .shows_progress = options.shows_progress}));
  RunResult result;
  result.failures = opened.failures;
  const std::string sql = StatementOf(recipe, mode_options.step_id, result.outcome);
  const std::vector<RankFile> files = FilesOfRanks(opened, ranks);
  SONDE_ASSIGN_OR_RETURN(Answers good, AskRanks(recipe, files, sql, options.threads, result));
  if (!result.without.empty()) {
    result.outcome.notices.push_back(
        Concat("without rank ", Listed(result.without), ", where this is missing: ", recipe.wants));
  }
  SONDE_RETURN_IF_ERROR(
      Reduce(recipe, files.front().file, Together(std::move(good)), table, result.outcome));
  return result;
}

}  // namespace sonde::cluster
