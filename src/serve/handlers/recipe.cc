// GET /api/recipe?trace=&name=: the result of an analysis (src/recipes), made once a trace.
#include "base/strings.h"
#include "recipes/registry.h"
#include "serve/cells.h"
#include "serve/handlers.h"

namespace sonde::serve {

Result<HttpAnswer> HandleRecipe(Session& session, const HttpRequest& request) {
  SONDE_ASSIGN_OR_RETURN(const int64_t id, request.Int("trace"));
  SONDE_ASSIGN_OR_RETURN(const auto trace, session.Find(id));
  const recipes::Recipe* recipe = recipes::FindRecipe(request.Text("name"));
  if (recipe == nullptr) {
    return base::NotFoundError(base::Concat("there is no recipe '", request.Text("name"), "'"));
  }
  const std::string key = base::Concat(std::to_string(trace->store->store_id()), "/", recipe->name);
  HttpAnswer answer{.body = session.Remembered(key)};
  if (answer.body.empty()) {
    SONDE_ASSIGN_OR_RETURN(const store::ResultTable table,
                           recipes::RunRecipe(*recipe, *trace->store));
    answer.body = ToJson(ToTable(table));
    session.Remember(key, answer.body);
  }
  return answer;
}

}  // namespace sonde::serve
