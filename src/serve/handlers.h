// Request handlers of the server: one file a request below handlers/, one line in the list.
//
// docs/view.md lists the addresses. Threads: handlers run on many at once.
#pragma once

#include <span>

#include "serve/http.h"
#include "serve/session.h"

namespace sonde::serve {

struct Handler {
  const char* method;
  const char* path;
  Result<HttpAnswer> (*handle)(Session& session, const HttpRequest& request);
};

std::span<const Handler> Handlers();

// The one of this request, or the page; kNotFound for everything else.
Result<HttpAnswer> Answer(Session& session, const HttpRequest& request);

}  // namespace sonde::serve
