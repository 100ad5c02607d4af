#include "serve/handlers.h"

#include <array>

#include "base/strings.h"
#include "serve/page_files.h"

namespace sonde::serve {

Result<HttpAnswer> HandleArea(Session& session, const HttpRequest& request);
Result<HttpAnswer> HandleCancel(Session& session, const HttpRequest& request);
Result<HttpAnswer> HandleCounter(Session& session, const HttpRequest& request);
Result<HttpAnswer> HandleCsv(Session& session, const HttpRequest& request);
Result<HttpAnswer> HandleEvents(Session& session, const HttpRequest& request);
Result<HttpAnswer> HandleFlame(Session& session, const HttpRequest& request);
Result<HttpAnswer> HandleNames(Session& session, const HttpRequest& request);
Result<HttpAnswer> HandleNeighbour(Session& session, const HttpRequest& request);
Result<HttpAnswer> HandleOccurrences(Session& session, const HttpRequest& request);
Result<HttpAnswer> HandleRecipe(Session& session, const HttpRequest& request);
Result<HttpAnswer> HandleSchema(Session& session, const HttpRequest& request);
Result<HttpAnswer> HandleSearch(Session& session, const HttpRequest& request);
Result<HttpAnswer> HandleSession(Session& session, const HttpRequest& request);
Result<HttpAnswer> HandleSlice(Session& session, const HttpRequest& request);
Result<HttpAnswer> HandleSql(Session& session, const HttpRequest& request);
Result<HttpAnswer> HandleWindow(Session& session, const HttpRequest& request);

namespace {

constexpr std::array kHandlers = {
    Handler{"GET", "/api/area", &HandleArea},
    Handler{"POST", "/api/cancel", &HandleCancel},
    Handler{"GET", "/api/counter", &HandleCounter},
    Handler{"GET", "/api/csv", &HandleCsv},
    Handler{"GET", "/api/events", &HandleEvents},
    Handler{"GET", "/api/flame", &HandleFlame},
    Handler{"GET", "/api/names", &HandleNames},
    Handler{"GET", "/api/neighbour", &HandleNeighbour},
    Handler{"GET", "/api/occurrences", &HandleOccurrences},
    Handler{"GET", "/api/recipe", &HandleRecipe},
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
