// GET /api/slice?trace=&id=: everything that is known of one slice or mark.
#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "serve/handlers.h"
#include "serve/slices.h"

namespace sonde::serve {
namespace {

using base::Concat;
using store::ResultTable;

constexpr size_t kMaxAncestors = 200;

std::string CellText(const ResultTable& table, size_t column, size_t row) {
  const store::ResultColumn& values = table.columns()[column];
  if (values.IsNull(row)) return {};
  if (const auto* texts = std::get_if<std::vector<std::string>>(&values.values)) {
    return (*texts)[row];
  }
  if (const auto* doubles = std::get_if<std::vector<double>>(&values.values)) {
    return base::PythonDoubleText((*doubles)[row]);
  }
  return std::to_string(std::get<std::vector<int64_t>>(values.values)[row]);
}

// The rows of a table that belong to the slice (`where`), each filled cell a fact.
Status AddFacts(const Trace& trace, std::string_view table, const std::string& where,
                SliceMessage& message) {
  SONDE_ASSIGN_OR_RETURN(
      const ResultTable rows,
      trace.tables->Query(Concat("SELECT * FROM ", table, " WHERE ", where, " LIMIT 20")));
  for (size_t row = 0; row < rows.rows(); ++row) {
    for (size_t column = 0; column < rows.columns().size(); ++column) {
      const std::string& name = rows.columns()[column].name;
      if (name == "slice_id" || name == "ts" || name == "dur" || rows.IsNull(column, row)) continue;
      message.facts.push_back({std::string(table), name, CellText(rows, column, row)});
    }
  }
  return {};
}

// Of the row `owner`: "slice_ WHERE ...".
Status AddArguments(const Trace& trace, const std::string& owner, SliceMessage& message) {
  // The number by itself: with it the database finds the rows without reading all of them.
  SONDE_ASSIGN_OR_RETURN(const ResultTable set,
                         trace.tables->Query(Concat("SELECT args_id FROM ", owner)));
  if (set.rows() == 0 || set.IsNull(0, 0) || set.Int(0, 0) < 0) return {};
  SONDE_ASSIGN_OR_RETURN(
      const ResultTable rows,
      trace.tables->Query(Concat("SELECT key, value FROM args WHERE args_id = ",
                                 std::to_string(set.Int(0, 0)), " ORDER BY key")));
  for (size_t row = 0; row < rows.rows(); ++row) {
    message.facts.push_back({"args", CellText(rows, 0, row), CellText(rows, 1, row)});
  }
  return {};
}

Status AddStack(const Trace& trace, int64_t id, SliceMessage& message) {
  SONDE_ASSIGN_OR_RETURN(
      const ResultTable rows,
      trace.tables->Query(Concat("SELECT frame FROM callstack WHERE stack_id = (SELECT stack_id "
                                 "FROM framework_op WHERE slice_id = ",
                                 std::to_string(id), ") ORDER BY depth")));
  for (size_t row = 0; row < rows.rows(); ++row) message.stack.push_back(CellText(rows, 0, row));
  return {};
}

// One look for each: a recursive statement would read all slices for each.
Status AddParents(const Trace& trace, int64_t id, SliceMessage& message) {
  std::vector<std::string> ids;
  for (int64_t at = id; ids.size() < kMaxAncestors;) {
    SONDE_ASSIGN_OR_RETURN(
        const ResultTable rows,
        trace.tables->Query(Concat("SELECT coalesce(parent_id, -1) FROM slice_ WHERE slice_id = ",
                                   std::to_string(at))));
    at = rows.rows() == 0 ? -1 : rows.Int(0, 0);
    if (at < 0) break;
    ids.push_back(std::to_string(at));
  }
  if (ids.empty()) return {};
  SONDE_ASSIGN_OR_RETURN(
      message.ancestors,
      ReadSlices(trace, Concat("WHERE slice_id IN (", base::Join(ids, ","), ") ORDER BY depth")));
  return {};
}

void AddLink(std::string kind, bool out, SliceRefMessage slice, SliceMessage& message) {
  message.flows.push_back(
      {.kind = std::move(kind), .out = out, .slice = std::move(slice), .step = -1, .rank = -1});
}

// Pairs of a kind and the slice at the other end, as a statement gives them; pairs of an earlier
// statement are not repeated.
Status AddFlows(const Trace& trace, const std::string& sql, bool out, SliceMessage& message) {
  SONDE_ASSIGN_OR_RETURN(const ResultTable rows, trace.tables->Query(sql));
  const auto known = message.flows;
  for (size_t row = 0; row < rows.rows(); ++row) {
    const int64_t other = rows.Int(1, row);
    if (std::any_of(known.begin(), known.end(), [&](const FlowEndMessage& flow) {
          return flow.out == out && flow.slice.id == other;
        })) {
      continue;
    }
    SONDE_ASSIGN_OR_RETURN(const auto slices,
                           ReadSlices(trace, Concat("WHERE slice_id = ", std::to_string(other))));
    if (!slices.empty()) {
      AddLink(CellText(rows, 0, row), out, slices[0], message);
    }
  }
  return {};
}

// Steps are distinguished by number and rank, engines' steps by number and engine; links stand in
// the order of time.
Status NumberFlows(const Trace& trace, SliceMessage& message) {
  std::vector<std::string> ids;
  for (const FlowEndMessage& flow : message.flows) ids.push_back(std::to_string(flow.slice.id));
  if (ids.empty()) return {};
  const std::string these = Concat(" WHERE slice_id IN (", base::Join(ids, ","), ")");
  SONDE_ASSIGN_OR_RETURN(const ResultTable rows,
                         trace.tables->Query(Concat(
                             "SELECT slice_id, step_id, rank FROM step", these,
                             " UNION ALL SELECT slice_id, step_id, NULL FROM engine_step", these)));
  for (size_t row = 0; row < rows.rows(); ++row) {
    for (FlowEndMessage& flow : message.flows) {
      if (flow.slice.id != rows.Int(0, row) || rows.IsNull(1, row)) continue;
      flow.step = rows.Int(1, row);
      if (!rows.IsNull(2, row)) flow.rank = static_cast<int32_t>(rows.Int(2, row));
    }
  }
  std::stable_sort(message.flows.begin(), message.flows.end(), [](const auto& a, const auto& b) {
    return std::tie(a.slice.ts, a.rank) < std::tie(b.slice.ts, b.rank);
  });
  return {};
}

Status AddAllFlows(const Trace& trace, const std::string& id, SliceMessage& message) {
  constexpr std::string_view kLimit = " LIMIT 64";
  SONDE_RETURN_IF_ERROR(AddFlows(trace,
                                 Concat("SELECT kind, slice_in FROM flow WHERE slice_out = ", id,
                                        " AND slice_in >= 0", kLimit),
                                 true, message));
  SONDE_RETURN_IF_ERROR(AddFlows(trace,
                                 Concat("SELECT kind, slice_out FROM flow WHERE slice_in = ", id,
                                        " AND slice_out >= 0", kLimit),
                                 false, message));
  // Launches of the framework have no arrow of their own in every format.
  for (const std::string_view table : {"device_task", "communication_op"}) {
    SONDE_RETURN_IF_ERROR(
        AddFlows(trace,
                 Concat("SELECT 'launch', slice_id FROM ", table, "_ WHERE launch_slice_id = ", id,
                        " AND slice_id >= 0 AND slice_id <> ", id, kLimit),
                 true, message));
    SONDE_RETURN_IF_ERROR(
        AddFlows(trace,
                 Concat("SELECT 'launch', launch_slice_id FROM ", table, "_ WHERE slice_id = ", id,
                        " AND launch_slice_id >= 0 AND launch_slice_id <> ", id, kLimit),
                 false, message));
  }
  return {};
}

// The task on the lane of a stream that the slice is: an arrow leads there.
Status AddTask(const Trace& trace, SliceMessage& message) {
  SONDE_ASSIGN_OR_RETURN(
      const ResultTable rows,
      trace.tables->Query(Concat("SELECT track_id FROM device_task_ WHERE slice_id = ",
                                 std::to_string(message.slice.id), " LIMIT 1")));
  if (rows.rows() == 0) return {};
  SliceRefMessage task = message.slice;
  task.track = static_cast<int32_t>(rows.Int(0, 0));
  task.depth = 0;
  if (trace.HasTaskLane(task.track)) AddLink("task", true, std::move(task), message);
  return {};
}

Status AddSelf(const Trace& trace, SliceMessage& message) {
  const SliceRefMessage& slice = message.slice;
  const std::string begin = std::to_string(slice.ts + trace.base_ns);
  SONDE_ASSIGN_OR_RETURN(
      const ResultTable rows,
      trace.tables->Query(Concat(
          "SELECT count(*), coalesce(sum(greatest(dur, 0)), 0)::BIGINT FROM slice_ WHERE "
          "track_id = ",
          std::to_string(slice.track), " AND depth = ", std::to_string(slice.depth + 1),
          " AND ts >= ", begin,
          " AND ts <= ", std::to_string(slice.ts + trace.base_ns + std::max<int64_t>(slice.dur, 0)),
          " AND parent_id = ", std::to_string(slice.id))));
  message.children = rows.Int(0, 0);
  message.self = slice.dur < 0 ? -1 : std::max<int64_t>(0, slice.dur - rows.Int(1, 0));
  SONDE_ASSIGN_OR_RETURN(
      const ResultTable category,
      trace.tables->Query(Concat("SELECT coalesce(category, '') FROM slice WHERE slice_id = ",
                                 std::to_string(slice.id))));
  message.category = category.Text(0, 0);
  return {};
}

// A request has a span of its own among those of all, and a slice of the front-end that served it:
// what is known of the request, and the steps that it took part in, are shown at both.
Status AddRequest(const Trace& trace, SliceMessage& message) {
  const SliceRefMessage& slice = message.slice;
  const std::string where = Concat("slice_id = ", std::to_string(slice.id),
                                   " OR (ts = ", std::to_string(slice.ts + trace.base_ns),
                                   " AND name = ", SqlText(slice.name), ")");
  SONDE_ASSIGN_OR_RETURN(
      const ResultTable request,
      trace.tables->Query(Concat("SELECT slice_id, ts - ", std::to_string(trace.base_ns),
                                 ", name FROM request WHERE ", where, " LIMIT 1")));
  if (request.rows() == 0) return {};
  SONDE_RETURN_IF_ERROR(AddFacts(trace, "request", where, message));
  const int64_t served = request.IsNull(0, 0) ? -1 : request.Int(0, 0);
  if (served < 0) return {};
  // The other one of the two.
  const std::string other =
      served == slice.id
          ? Concat("WHERE ts = ", std::to_string(request.Int(1, 0) + trace.base_ns),
                   " AND depth = 0 AND name IN (SELECT name_id FROM name_ WHERE name = ",
                   SqlText(request.Text(2, 0)), ") AND slice_id <> ", std::to_string(slice.id),
                   " LIMIT 1")
          : Concat("WHERE slice_id = ", std::to_string(served));
  SONDE_ASSIGN_OR_RETURN(const auto twins, ReadSlices(trace, other));
  for (const SliceRefMessage& twin : twins) {
    AddLink("request", served != slice.id, twin, message);
  }
  if (served == slice.id) return {};
  return AddAllFlows(trace, std::to_string(served), message);
}

Result<SliceMessage> DescribeSlice(const Trace& trace, int64_t id) {
  const std::string where = Concat("slice_id = ", std::to_string(id));
  SONDE_ASSIGN_OR_RETURN(const auto slices, ReadSlices(trace, Concat("WHERE ", where)));
  if (slices.empty()) {
    return base::NotFoundError(Concat("there is no slice ", std::to_string(id)));
  }
  SliceMessage message;
  message.slice = slices[0];
  SONDE_RETURN_IF_ERROR(AddSelf(trace, message));
  SONDE_RETURN_IF_ERROR(AddArguments(trace, Concat("slice_ WHERE ", where), message));
  for (const char* table : {"framework_op", "device_task", "communication_op", "api_call", "mark",
                            "step", "engine_step"}) {
    SONDE_RETURN_IF_ERROR(AddFacts(trace, table, where, message));
  }
  SONDE_RETURN_IF_ERROR(AddStack(trace, id, message));
  SONDE_RETURN_IF_ERROR(AddParents(trace, id, message));
  SONDE_RETURN_IF_ERROR(AddAllFlows(trace, std::to_string(id), message));
  SONDE_RETURN_IF_ERROR(AddTask(trace, message));
  SONDE_RETURN_IF_ERROR(AddRequest(trace, message));
  SONDE_RETURN_IF_ERROR(NumberFlows(trace, message));
  return message;
}

Result<SliceMessage> DescribeMark(const Trace& trace, int64_t id) {
  const std::string where = Concat("mark_id = ", std::to_string(id));
  SONDE_ASSIGN_OR_RETURN(const auto marks,
                         ReadMarks(trace, Concat("WHERE slice_id < 0 AND ", where)));
  if (marks.empty()) return base::NotFoundError(Concat("there is no mark ", std::to_string(id)));
  SliceMessage message;
  message.slice = marks[0];
  message.category = "mark";
  SONDE_RETURN_IF_ERROR(AddArguments(trace, Concat("mark_ WHERE ", where), message));
  SONDE_RETURN_IF_ERROR(AddFacts(trace, "mark", where, message));
  const std::string ts = std::to_string(message.slice.ts + trace.base_ns);
  SONDE_ASSIGN_OR_RETURN(
      message.ancestors,
      ReadSlices(trace, Concat("WHERE track_id = ", std::to_string(message.slice.track),
                               " AND ts <= ", ts, " AND (dur < 0 OR ts + dur >= ", ts,
                               ") ORDER BY depth LIMIT ", std::to_string(kMaxAncestors))));
  return message;
}

}  // namespace

Result<HttpAnswer> HandleSlice(Session& session, const HttpRequest& request) {
  SONDE_ASSIGN_OR_RETURN(const int64_t trace_id, request.Int("trace"));
  SONDE_ASSIGN_OR_RETURN(const int64_t id, request.Int("id"));
  SONDE_ASSIGN_OR_RETURN(const auto trace, session.Find(trace_id));
  SONDE_ASSIGN_OR_RETURN(const SliceMessage message, IsMark(id)
                                                         ? DescribeMark(*trace, SliceToMarkId(id))
                                                         : DescribeSlice(*trace, id));
  return HttpAnswer{.body = ToJson(message)};
}

}  // namespace sonde::serve
