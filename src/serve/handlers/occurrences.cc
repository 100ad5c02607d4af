// GET /api/occurrences?lanes=&begin=&end=&name=: the slices of one name in an area, by time.
#include <algorithm>

#include "base/strings.h"
#include "serve/handlers.h"
#include "serve/slices.h"

namespace sonde::serve {
namespace {

using base::Concat;

constexpr size_t kMaxOccurrenceSlices = 5000;

}  // namespace

Result<HttpAnswer> HandleOccurrences(Session& session, const HttpRequest& request) {
  SONDE_ASSIGN_OR_RETURN(const auto lanes, ParseLanes(request));
  SONDE_ASSIGN_OR_RETURN(const Window window, ParseWindow(request));
  SONDE_ASSIGN_OR_RETURN(const auto groups, GroupLanes(session, lanes));
  SliceListMessage message;
  for (const TracksOfTrace& group : groups) {
    const std::string where = Concat("WHERE ", AreaCondition(*group.trace, group.tracks, window),
                                     " AND name IN (SELECT name_id FROM name_ WHERE name = ",
                                     SqlText(request.Text("name")), ")");
    SONDE_ASSIGN_OR_RETURN(const auto total, group.trace->tables->Query(
                                                 Concat("SELECT count(*) FROM slice_ ", where)));
    message.total += total.Int(0, 0);
    SONDE_ASSIGN_OR_RETURN(const auto slices,
                           ReadSlices(*group.trace, Concat(where, " ORDER BY ts, slice_id LIMIT ",
                                                           std::to_string(kMaxOccurrenceSlices))));
    message.slices.insert(message.slices.end(), slices.begin(), slices.end());
  }
  std::stable_sort(message.slices.begin(), message.slices.end(),
                   [](const auto& a, const auto& b) { return a.ts < b.ts; });
  if (message.slices.size() > kMaxOccurrenceSlices) message.slices.resize(kMaxOccurrenceSlices);
  return HttpAnswer{.body = ToJson(message)};
}

}  // namespace sonde::serve
