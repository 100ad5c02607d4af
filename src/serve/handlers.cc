#include "serve/handlers.h"

#include <array>

#include "base/strings.h"
#include "serve/page_files.h"

namespace sonde::serve {

Result<HttpAnswer> HandleAdvice(Session& session, const HttpRequest& request);
Result<HttpAnswer> HandleAdvisor(Session& session, const HttpRequest& request);
Result<HttpAnswer> HandleArea(Session& session, const HttpRequest& request);
Result<HttpAnswer> HandleBrowse(Session& session, const HttpRequest& request);
Result<HttpAnswer> HandleCancel(Session& session, const HttpRequest& request);
Result<HttpAnswer> HandleCluster(Session& session, const HttpRequest& request);
Result<HttpAnswer> HandleCompare(Session& session, const HttpRequest& request);
Result<HttpAnswer> HandleCounter(Session& session, const HttpRequest& request);
Result<HttpAnswer> HandleEvents(Session& session, const HttpRequest& request);
Result<HttpAnswer> HandleExport(Session& session, const HttpRequest& request);
Result<HttpAnswer> HandleFindings(Session& session, const HttpRequest& request);
Result<HttpAnswer> HandleFlame(Session& session, const HttpRequest& request);
Result<HttpAnswer> HandleLive(Session& session, const HttpRequest& request);
Result<HttpAnswer> HandleLiveStart(Session& session, const HttpRequest& request);
Result<HttpAnswer> HandleLiveStop(Session& session, const HttpRequest& request);
Result<HttpAnswer> HandleNames(Session& session, const HttpRequest& request);
Result<HttpAnswer> HandleNeighbour(Session& session, const HttpRequest& request);
Result<HttpAnswer> HandleOccurrences(Session& session, const HttpRequest& request);
Result<HttpAnswer> HandleOpen(Session& session, const HttpRequest& request);
Result<HttpAnswer> HandleProgress(Session& session, const HttpRequest& request);
Result<HttpAnswer> HandleRank(Session& session, const HttpRequest& request);
Result<HttpAnswer> HandleRankMap(Session& session, const HttpRequest& request);
Result<HttpAnswer> HandleRecipe(Session& session, const HttpRequest& request);
Result<HttpAnswer> HandleRecipes(Session& session, const HttpRequest& request);
Result<HttpAnswer> HandleResults(Session& session, const HttpRequest& request);
Result<HttpAnswer> HandleSchema(Session& session, const HttpRequest& request);
Result<HttpAnswer> HandleSearch(Session& session, const HttpRequest& request);
Result<HttpAnswer> HandleSession(Session& session, const HttpRequest& request);
Result<HttpAnswer> HandleSlice(Session& session, const HttpRequest& request);
Result<HttpAnswer> HandleSql(Session& session, const HttpRequest& request);
Result<HttpAnswer> HandleWindow(Session& session, const HttpRequest& request);

namespace {

constexpr std::array kHandlers = {
    Handler{"GET", "/api/advice", &HandleAdvice},
    Handler{"GET", "/api/advisor", &HandleAdvisor},
    Handler{"GET", "/api/area", &HandleArea},
    Handler{"GET", "/api/browse", &HandleBrowse},
    Handler{"POST", "/api/cancel", &HandleCancel},
    Handler{"GET", "/api/cluster", &HandleCluster},
    Handler{"GET", "/api/compare", &HandleCompare},
    Handler{"GET", "/api/counter", &HandleCounter},
    Handler{"GET", "/api/events", &HandleEvents},
    Handler{"POST", "/api/export", &HandleExport},
    Handler{"GET", "/api/flame", &HandleFlame},
    Handler{"GET", "/api/live", &HandleLive},
    Handler{"POST", "/api/live/start", &HandleLiveStart},
    Handler{"POST", "/api/live/stop", &HandleLiveStop},
    Handler{"GET", "/api/names", &HandleNames},
    Handler{"GET", "/api/neighbour", &HandleNeighbour},
    Handler{"GET", "/api/occurrences", &HandleOccurrences},
    Handler{"POST", "/api/open", &HandleOpen},
    Handler{"GET", "/api/progress", &HandleProgress},
    Handler{"GET", "/api/findings", &HandleFindings},
    Handler{"POST", "/api/rank", &HandleRank},
    Handler{"GET", "/api/rank_map", &HandleRankMap},
    Handler{"GET", "/api/recipe", &HandleRecipe},
    Handler{"GET", "/api/recipes", &HandleRecipes},
    Handler{"GET", "/api/results", &HandleResults},
    Handler{"GET", "/api/schema", &HandleSchema},
    Handler{"GET", "/api/search", &HandleSearch},
    Handler{"GET", "/api/session", &HandleSession},
    Handler{"GET", "/api/slice", &HandleSlice},
    Handler{"POST", "/api/sql", &HandleSql},
    Handler{"GET", "/api/window", &HandleWindow},
};

}  // namespace

std::span<const Handler> Handlers() { return kHandlers; }

Result<HttpAnswer> Answer(Session& session, const HttpRequest& request) {
  for (const Handler& handler : kHandlers) {
    if (request.path == handler.path && request.method == handler.method) {
      return handler.handle(session, request);
    }
  }
  if (request.method == "GET" && !request.path.starts_with("/api/")) return PageFile(request);
  return base::NotFoundError(base::Concat("there is no ", request.method, " ", request.path));
}

}  // namespace sonde::serve
