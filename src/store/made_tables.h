// Tables whose rows are computed when a statement names them (store/result_info.h), in addition to
// those of a store. The database itself finds the names in a statement, so that aliases, WITH,
// DESCRIBE and the like work as usual. Each use in a statement computes the table again, only with
// the columns that it needs; the rows are released with the statement.
//
// Also appends results to a table of a database. Threads: MadeTables answers from any, several at
// once; sinks are used by one. Errors of making become those of the statement.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "store/result_info.h"

namespace sonde::store {

namespace internal {
struct Connection;
struct Database;
}  // namespace internal

class MadeTables {
 public:
  virtual ~MadeTables() = default;
  // The list never changes.
  virtual std::span<const ResultInfo> tables() const = 0;
  virtual Status Fill(const ResultInfo& table, RowSink& rows) const = 0;
};

// The tables of several sources, with distinct names.
class JoinedTables final : public MadeTables {
 public:
  explicit JoinedTables(std::vector<std::shared_ptr<const MadeTables>> makers);
  std::span<const ResultInfo> tables() const override { return tables_; }
  Status Fill(const ResultInfo& table, RowSink& rows) const override;

 private:
  std::vector<std::shared_ptr<const MadeTables>> makers_;
  std::vector<ResultInfo> tables_;
};

// Values in front of those of each row: of the columns that a job adds to the results of a trace.
class PrefixSink final : public RowSink {
 public:
  // `put` writes them.
  PrefixSink(RowSink& rows, std::function<void(RowSink&)> put)
      : rows_(rows), put_(std::move(put)) {}
  void Int(int64_t value) override { Row().Int(value); }
  void Double(double value) override { Row().Double(value); }
  void Text(std::string_view value) override { Row().Text(value); }
  void Null() override { Row().Null(); }
  void EndRow() override {
    rows_.EndRow();
    is_begun_ = false;
  }
  bool wants_more() const override { return rows_.wants_more(); }

 private:
  RowSink& Row() {
    if (!is_begun_) put_(rows_);
    is_begun_ = true;
    return rows_;
  }
  RowSink& rows_;
  std::function<void(RowSink&)> put_;
  bool is_begun_ = false;
};

// Appends rows to a table that CreateResultSql made. The first failure is kept; Close returns it.
class ResultAppender final : public RowSink {
 public:
  static Result<std::unique_ptr<ResultAppender>> Open(internal::Connection& connection,
                                                      const std::string& table,
                                                      std::vector<ResultColumnInfo> columns);
  ~ResultAppender() override;
  void Int(int64_t value) override;
  void Double(double value) override;
  void Text(std::string_view value) override;
  void Null() override;
  void EndRow() override;
  bool wants_more() const override;
  Status Close();

 private:
  struct Impl;
  explicit ResultAppender(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

namespace internal {
// Lets statements on any connection of the database name the tables of `made`, which live as long
// as it. Before the first statement of others; once.
Status OfferTables(Database& database, std::shared_ptr<const MadeTables> made);
}  // namespace internal

}  // namespace sonde::store
