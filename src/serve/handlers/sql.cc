// POST /api/sql?trace=&id=&limit= with the statement as body: its first rows. POST /api/cancel?id=
// ends it. GET /api/csv?trace=&sql=: all rows as a file. Without `trace`, or with -1, the statement
// sees the tables of all ranks. Statements may only read, and no files but the traces.
#include <chrono>

#include "base/strings.h"
#include "serve/cells.h"
#include "serve/handlers.h"

namespace sonde::serve {
namespace {

constexpr int64_t kMaxRows = 100'000;
constexpr size_t kMaxCsvBytes = size_t{512} << 20U;

Result<std::shared_ptr<const store::UserStatements>> StoreFor(Session& session,
                                                              const HttpRequest& request) {
  SONDE_ASSIGN_OR_RETURN(int64_t id, request.Int("trace", -1));
  const auto ready = session.Ready();
  if (id < 0 && ready.size() == 1) id = ready[0]->id;
  if (id < 0) return session.AllRanks();
  SONDE_ASSIGN_OR_RETURN(const auto trace, session.Find(id));
  // The trace owns it.
  return std::shared_ptr<const store::UserStatements>(trace, trace->user.get());
}

// Takes itself from the session's list when the statement has ended.
class RunningStatement {
 public:
  RunningStatement(Session& session, std::string id)
      : session_(session), id_(std::move(id)), cancellation_(session.BeginStatement(id_)) {}
  RunningStatement(const RunningStatement&) = delete;
  RunningStatement& operator=(const RunningStatement&) = delete;
  ~RunningStatement() { session_.EndStatement(id_); }
  store::Cancellation* cancellation() const { return cancellation_.get(); }

 private:
  Session& session_;
  std::string id_;
  std::shared_ptr<store::Cancellation> cancellation_;
};

// Ends a scan that has given enough.
Status Enough() { return base::OutOfRangeError("enough rows"); }

}  // namespace

Result<HttpAnswer> HandleSql(Session& session, const HttpRequest& request) {
  SONDE_ASSIGN_OR_RETURN(const auto store, StoreFor(session, request));
  SONDE_ASSIGN_OR_RETURN(int64_t limit, request.Int("limit", 1000));
  limit = std::clamp<int64_t>(limit, 1, kMaxRows);
  const RunningStatement statement(session, request.Text("id"));
  TableMessage message;
  int64_t rows = 0;
  bool enough = false;
  std::vector<bool> is_decimal;  // text that is a number
  base::JsonWriter json(nullptr);
  json.BeginArray();
  const auto started = std::chrono::steady_clock::now();
  const Status status = store->Scan(
      request.body,
      [&](const std::vector<store::QueryColumn>& columns) -> Status {
        for (const store::QueryColumn& column : columns) {
          is_decimal.push_back(column.is_decimal);
          message.columns.push_back(
              {column.name, column.is_decimal ? "real" : CellType(column.type)});
        }
        return {};
      },
      [&](const store::Chunk& chunk) -> Status {
        for (size_t row = 0; row < chunk.rows(); ++row) {
          enough = rows == limit;
          if (enough) return Enough();
          json.BeginArray();
          for (size_t i = 0; i < chunk.columns(); ++i) {
            if (is_decimal[i] && !chunk.IsNull(i, row)) {
              json.Raw(chunk.Text(i, row));
            } else {
              WriteCell(json, chunk, i, row);
            }
          }
          json.EndArray();
          ++rows;
        }
        return {};
      },
      statement.cancellation());
  if (!status.ok() && !enough) return status;
  json.EndArray();
  message.rows.text = json.Take();
  message.complete = !enough;
  message.elapsed = std::chrono::nanoseconds(std::chrono::steady_clock::now() - started).count();
  return HttpAnswer{.body = ToJson(message)};
}

Result<HttpAnswer> HandleCancel(Session& session, const HttpRequest& request) {
  if (!session.CancelStatement(request.Text("id"))) {
    return base::NotFoundError("no statement of that number runs");
  }
  return HttpAnswer{.body = "{}"};
}

Result<HttpAnswer> HandleCsv(Session& session, const HttpRequest& request) {
  SONDE_ASSIGN_OR_RETURN(const auto store, StoreFor(session, request));
  const RunningStatement statement(session, request.Text("id"));
  HttpAnswer answer{.type = "text/csv; charset=utf-8"};
  const auto append = [&](base::CsvWriter& csv) -> Status {
    answer.body += csv.Take();
    if (answer.body.size() <= kMaxCsvBytes) return {};
    return base::OutOfRangeError("more than 512 MiB: use sonde query --format csv");
  };
  SONDE_RETURN_IF_ERROR(store->Scan(
      request.Text("sql"),
      [&](const std::vector<store::QueryColumn>& columns) -> Status {
        base::CsvWriter csv(nullptr);
        for (const store::QueryColumn& column : columns) csv.Text(column.name);
        csv.EndRow();
        return append(csv);
      },
      [&](const store::Chunk& chunk) -> Status {
        base::CsvWriter csv(nullptr);
        for (size_t row = 0; row < chunk.rows(); ++row) {
          for (size_t i = 0; i < chunk.columns(); ++i) WriteCell(csv, chunk, i, row);
          csv.EndRow();
        }
        return append(csv);
      },
      statement.cancellation()));
  answer.headers.emplace_back("Content-Disposition", "attachment; filename=\"sonde.csv\"");
  return answer;
}

}  // namespace sonde::serve
