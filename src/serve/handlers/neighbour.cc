// GET /api/neighbour?trace=&id=&step=1|-1&same=name|lane: the next or previous slice or mark.
#include "base/strings.h"
#include "serve/handlers.h"
#include "serve/slices.h"

namespace sonde::serve {
namespace {

using base::Concat;

// Rows of a table of slices or marks that are as this one, and the next of them.
struct Like {
  const char* table;
  const char* id;
  const char* name;
  const char* lane;   // a second column that names it, or none
  const char* among;  // which rows of the table there are
};

std::string NextOf(const Like& like, int64_t id, bool by_name, bool next) {
  const std::string of = Concat("FROM ", like.table, " WHERE ", like.id, " = ", std::to_string(id));
  const auto as = [&](const char* column) {
    return Concat(column, " = (SELECT ", column, " ", of, ")");
  };
  std::string same = by_name ? as(like.name) : as("track_id");
  if (!by_name && like.lane != nullptr) same += Concat(" AND ", as(like.lane));
  const char* const order = next ? " ASC" : " DESC";
  return Concat("WHERE ", like.among, " AND ", same, " AND (ts, ", like.id, ") ", next ? ">" : "<",
                " (SELECT (ts, ", like.id, ") ", of, ") ORDER BY ts", order, ", ", like.id, order,
                " LIMIT 1");
}

}  // namespace

// `same` = name: of that name, anywhere in the trace. lane: on the same lane. A list of one or
// none.
Result<HttpAnswer> HandleNeighbour(Session& session, const HttpRequest& request) {
  SONDE_ASSIGN_OR_RETURN(const int64_t trace_id, request.Int("trace"));
  SONDE_ASSIGN_OR_RETURN(const int64_t id, request.Int("id"));
  SONDE_ASSIGN_OR_RETURN(const int64_t step, request.Int("step"));
  SONDE_ASSIGN_OR_RETURN(const auto trace, session.Find(trace_id));
  const bool by_name = request.Text("same") == "name";
  SliceListMessage message;
  if (IsMark(id)) {
    const Like mark{"mark_", "mark_id", "message", nullptr, "slice_id < 0"};
    SONDE_ASSIGN_OR_RETURN(message.slices,
                           ReadMarks(*trace, NextOf(mark, SliceToMarkId(id), by_name, step >= 0)));
  } else {
    const Like slice{"slice_", "slice_id", "name", "depth", "true"};
    SONDE_ASSIGN_OR_RETURN(message.slices,
                           ReadSlices(*trace, NextOf(slice, id, by_name, step >= 0)));
  }
  message.total = static_cast<int64_t>(message.slices.size());
  return HttpAnswer{.body = ToJson(message)};
}

}  // namespace sonde::serve
