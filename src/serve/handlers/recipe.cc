// GET /api/recipe?trace=&name=&limit=: the first rows of an analysis (src/recipes) with what its
// columns mean. GET /api/recipes: which there are. Answers are kept while there is room for them.
#include <algorithm>
#include <chrono>

#include "base/strings.h"
#include "recipes/registry.h"
#include "serve/cells.h"
#include "serve/handlers.h"

namespace sonde::serve {
namespace {

constexpr int64_t kMaxRows = 100'000;

ResultMessage Described(const store::ResultInfo& result) {
  ResultMessage message;
  message.name = result.name;
  message.meaning = result.meaning;
  for (const store::ResultColumnInfo& column : result.columns) {
    const std::string_view sql = store::ResultSqlType(column.type);
    ResultColumnMessage& added = message.columns.emplace_back();
    added.name = column.name;
    added.type = sql == "BIGINT" ? "integer" : sql == "DOUBLE" ? "real" : "text";
    added.unit = column.unit;
    added.role = column.role.role;
    added.better = column.role.better;
    added.space = column.role.space;
    added.meaning = column.meaning;
  }
  return message;
}

}  // namespace

Result<HttpAnswer> HandleRecipe(Session& session, const HttpRequest& request) {
  SONDE_ASSIGN_OR_RETURN(const int64_t id, request.Int("trace"));
  SONDE_ASSIGN_OR_RETURN(const auto trace, session.Find(id));
  SONDE_ASSIGN_OR_RETURN(int64_t limit, request.Int("limit", kMaxRows));
  limit = std::clamp<int64_t>(limit, 1, kMaxRows);
  const recipes::Recipe* recipe = recipes::FindRecipe(request.Text("name"));
  if (recipe == nullptr) {
    return base::NotFoundError(base::Concat("there is no recipe '", request.Text("name"), "'"));
  }
  const std::string key = base::Concat(std::to_string(trace->store->store_id()), "/",
                                       recipe->result->name, "/", std::to_string(limit));
  HttpAnswer answer{.body = session.Remembered(key)};
  if (!answer.body.empty()) return answer;
  ResultMessage message = Described(*recipe->result);
  CellSink rows(limit);
  const auto started = std::chrono::steady_clock::now();
  SONDE_RETURN_IF_ERROR(recipes::RunRecipe(*recipe, *trace->store, rows));
  message.elapsed = std::chrono::nanoseconds(std::chrono::steady_clock::now() - started).count();
  message.complete = rows.is_complete();
  message.rows.text = rows.Take();
  answer.body = ToJson(message);
  session.Remember(key, answer.body);
  return answer;
}

Result<HttpAnswer> HandleRecipes(Session& /*session*/, const HttpRequest& /*request*/) {
  std::vector<ResultMessage> messages;
  for (const store::ResultInfo* result : recipes::Results()) {
    messages.push_back(Described(*result));
  }
  return HttpAnswer{.body = ToJson(messages)};
}

}  // namespace sonde::serve
