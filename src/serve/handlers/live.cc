// GET /api/live: programs that record on request. POST /api/live/start with the options of the
// control address as body, POST /api/live/stop: asks all of them.
#include "serve/live.h"

#include "serve/handlers.h"

namespace sonde::serve {
namespace {

Result<Live*> Programs(const Session& session) {
  if (session.live() != nullptr) return session.live();
  return base::FailedPreconditionError(
      "no program records on request: start it by sonde run --control ADDRESS, and the page by "
      "sonde view --live ADDRESS");
}

}  // namespace

Result<HttpAnswer> HandleLive(Session& session, const HttpRequest& /*request*/) {
  SONDE_ASSIGN_OR_RETURN(const Live* live, Programs(session));
  return HttpAnswer{.body = ToJson(live->Describe())};
}

Result<HttpAnswer> HandleLiveStart(Session& session, const HttpRequest& request) {
  SONDE_ASSIGN_OR_RETURN(Live * live, Programs(session));
  SONDE_RETURN_IF_ERROR(live->Start(request.body));
  return HttpAnswer{.body = ToJson(live->Describe())};
}

Result<HttpAnswer> HandleLiveStop(Session& session, const HttpRequest& /*request*/) {
  SONDE_ASSIGN_OR_RETURN(Live * live, Programs(session));
  SONDE_RETURN_IF_ERROR(live->Stop());
  return HttpAnswer{.body = ToJson(live->Describe())};
}

}  // namespace sonde::serve
