// GET /api/neighbour?trace=&id=&step=1|-1&same=name|lane: the next or previous slice.
#include "base/strings.h"
#include "serve/handlers.h"
#include "serve/slices.h"

namespace sonde::serve {

using base::Concat;

// `same` = name: of that name, anywhere in the trace. lane: on the same lane. A list of one or
// none.
Result<HttpAnswer> HandleNeighbour(Session& session, const HttpRequest& request) {
  SONDE_ASSIGN_OR_RETURN(const int64_t trace_id, request.Int("trace"));
  SONDE_ASSIGN_OR_RETURN(const int64_t id, request.Int("id"));
  SONDE_ASSIGN_OR_RETURN(const int64_t step, request.Int("step"));
  SONDE_ASSIGN_OR_RETURN(const auto trace, session.Find(trace_id));
  const std::string of = Concat("FROM slice_ WHERE slice_id = ", std::to_string(id));
  const std::string same =
      request.Text("same") == "name"
          ? Concat("name = (SELECT name ", of, ")")
          : Concat("track_id = (SELECT track_id ", of, ") AND depth = (SELECT depth ", of, ")");
  const bool next = step >= 0;
  SliceListMessage message;
  SONDE_ASSIGN_OR_RETURN(
      message.slices, ReadSlices(*trace, Concat("WHERE ", same, " AND (ts, slice_id) ",
                                                next ? ">" : "<", " (SELECT (ts, slice_id) ", of,
                                                ") ORDER BY ts ", next ? "ASC" : "DESC",
                                                ", slice_id ", next ? "ASC" : "DESC", " LIMIT 1")));
  message.total = static_cast<int64_t>(message.slices.size());
  return HttpAnswer{.body = ToJson(message)};
}

}  // namespace sonde::serve
