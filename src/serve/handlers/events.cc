// GET /api/events: an event stream; each event is the session's revision, sent when it changes, of
// many traces less often: whoever hears of it reads the description of all.
#include <algorithm>
#include <chrono>
#include <thread>

#include "base/strings.h"
#include "serve/handlers.h"

namespace sonde::serve {
namespace {

using Clock = std::chrono::steady_clock;

// A line now and then, which shows whether the client is still there.
constexpr auto kHeartbeat = std::chrono::seconds(10);

// Between two events: a millisecond a trace, a second at most.
std::chrono::milliseconds PauseFor(const Session& session) {
  return std::chrono::milliseconds(std::min<size_t>(1000, session.size()));
}

}  // namespace

Result<HttpAnswer> HandleEvents(Session& session, const HttpRequest& /*request*/) {
  HttpAnswer answer{.type = "text/event-stream"};
  answer.stream = [&session, known = int64_t{-1}, sent = Clock::now()](std::string& piece) mutable {
    int64_t revision = session.WaitForChange(known);
    if (session.stopped()) return false;
    if (revision != known) {
      std::this_thread::sleep_until(std::min(sent, Clock::now()) + PauseFor(session));
      revision = session.revision();
    }
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
