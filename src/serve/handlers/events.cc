// GET /api/events: an event stream; each event is the session's revision, sent when it changes.
#include <chrono>

#include "base/strings.h"
#include "serve/handlers.h"

namespace sonde::serve {
namespace {

using Clock = std::chrono::steady_clock;

// A line now and then, which shows whether the client is still there.
constexpr auto kHeartbeat = std::chrono::seconds(10);

}  // namespace

Result<HttpAnswer> HandleEvents(Session& session, const HttpRequest& /*request*/) {
  HttpAnswer answer{.type = "text/event-stream"};
  answer.stream = [&session, known = int64_t{-1}, sent = Clock::now()](std::string& piece) mutable {
    const int64_t revision = session.WaitForChange(known);
    if (session.stopped()) return false;
    if (revision != known) {
      piece = base::Concat("data: ", std::to_string(revision), "\n\n");
    } else if (Clock::now() - sent > kHeartbeat) {
      piece = ":\n\n";
    }
    known = revision;
    if (!piece.empty()) sent = Clock::now();
    return true;
  };
  return answer;
}

}  // namespace sonde::serve
