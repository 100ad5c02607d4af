// GET /api/session: what is open, and where each trace stands.
#include "serve/handlers.h"

namespace sonde::serve {

Result<HttpAnswer> HandleSession(Session& session, const HttpRequest& /*request*/) {
  return HttpAnswer{.body = ToJson(session.Describe())};
}

}  // namespace sonde::serve
