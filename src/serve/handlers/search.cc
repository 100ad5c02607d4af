// GET /api/search?q=&regex=&case=&whole=&args=&trace=: slices and marks by name, over all traces or
// one.
#include <algorithm>

#include "base/strings.h"
#include "serve/handlers.h"
#include "serve/slices.h"

namespace sonde::serve {
namespace {

using base::Concat;

constexpr int64_t kMaxHits = 20'000;

// Condition on a name. '%' and '_' mean themselves.
std::string NameCondition(const HttpRequest& request) {
  const std::string wanted = request.Text("q");
  const bool exact_case = request.Text("case") == "1";
  if (request.Text("regex") == "1") {
    return Concat("regexp_matches(name, ", SqlText(wanted), exact_case ? ", 'c')" : ", 'i')");
  }
  const std::string name = exact_case ? "name" : "lower(name)";
  const std::string text = exact_case ? SqlText(wanted) : Concat("lower(", SqlText(wanted), ")");
  return request.Text("whole") == "1" ? Concat(name, " = ", text)
                                      : Concat("contains(", name, ", ", text, ")");
}

// Marks are few compared with slices; those that are slices have been found.
Status AddMarks(const Trace& trace, const std::string& names, bool args,
                SliceListMessage& message) {
  if (trace.marks.lanes().empty()) return {};
  const std::string by_args =
      args ? Concat(" OR args_id IN (SELECT args_id FROM args_text_ WHERE value IN ", names, ")")
           : "";
  const std::string where = Concat("WHERE slice_id < 0 AND (message IN ", names, by_args, ")");
  SONDE_ASSIGN_OR_RETURN(const auto total,
                         trace.tables->Query(Concat("SELECT count(*) FROM mark_ ", where)));
  message.total += total.Int(0, 0);
  SONDE_ASSIGN_OR_RETURN(
      const auto marks,
      ReadMarks(trace, Concat(where, " ORDER BY ts, mark_id LIMIT ", std::to_string(kMaxHits))));
  message.slices.insert(message.slices.end(), marks.begin(), marks.end());
  return {};
}

}  // namespace

Result<HttpAnswer> HandleSearch(Session& session, const HttpRequest& request) {
  if (request.Text("q").empty()) return base::InvalidArgumentError("there is nothing to search");
  SONDE_ASSIGN_OR_RETURN(const int64_t only, request.Int("trace", -1));
  const std::string names =
      Concat("(SELECT name_id FROM name_ WHERE ", NameCondition(request), ")");
  std::string where = Concat("WHERE name IN ", names);
  if (request.Text("args") == "1") {
    where += Concat(" OR args_id IN (SELECT args_id FROM args_text_ WHERE value IN ", names, ")");
  }
  SliceListMessage message;
  for (const auto& trace : session.Ready()) {
    if (only >= 0 && trace->id != only) continue;
    SONDE_ASSIGN_OR_RETURN(const auto total,
                           trace->tables->Query(Concat("SELECT count(*) FROM slice_ ", where)));
    message.total += total.Int(0, 0);
    SONDE_ASSIGN_OR_RETURN(const auto slices,
                           ReadSlices(*trace, Concat(where, " ORDER BY ts, slice_id LIMIT ",
                                                     std::to_string(kMaxHits))));
    message.slices.insert(message.slices.end(), slices.begin(), slices.end());
    SONDE_RETURN_IF_ERROR(AddMarks(*trace, names, request.Text("args") == "1", message));
  }
  std::stable_sort(message.slices.begin(), message.slices.end(),
                   [](const auto& a, const auto& b) { return a.ts < b.ts; });
  if (message.slices.size() > kMaxHits) message.slices.resize(kMaxHits);
  return HttpAnswer{.body = ToJson(message)};
}

}  // namespace sonde::serve
