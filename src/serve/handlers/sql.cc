// POST /api/sql?trace=&id=&limit= with the statement as body: its first rows. POST /api/cancel?id=
// ends it. Without `trace`, or with -1, the statement sees the tables of all ranks. Statements may
// only read, and no files but the traces.
#include <chrono>

#include "base/strings.h"
#include "serve/cells.h"
#include "serve/handlers.h"
#include "serve/statements.h"

namespace sonde::serve {
namespace {

constexpr int64_t kMaxSqlRows = 100'000;
constexpr size_t kMaxSqlBytes = size_t{512} << 20U;

// Ends a scan that has given enough.
Status Enough() { return base::OutOfRangeError("enough rows"); }

}  // namespace

Result<HttpAnswer> HandleSql(Session& session, const HttpRequest& request) {
  SONDE_ASSIGN_OR_RETURN(const auto store, StoreFor(session, request));
  SONDE_ASSIGN_OR_RETURN(int64_t limit, request.Int("limit", 1000));
  limit = std::clamp<int64_t>(limit, 1, kMaxSqlRows);
  const RunningStatement statement(session, request);
  TableMessage message;
  constexpr size_t kOfCell = 8;  // at least
  size_t bytes = 0;
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
            const bool is_text = chunk.type(i) == store::ValueType::kText;
            bytes += kOfCell + (is_text ? chunk.Text(i, row).size() : 0);
          }
          json.EndArray();
          ++rows;
        }
        if (bytes > kMaxSqlBytes) {
          return base::OutOfRangeError(
              "more than 512 MiB: name fewer columns, or use sonde query --output FILE");
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

}  // namespace sonde::serve
