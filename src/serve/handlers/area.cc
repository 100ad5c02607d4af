// GET /api/area?lanes=&begin=&end=: totals by name of the slices in an area of the timeline, of
// each what lies in the area.
#include <algorithm>
#include <map>

#include "base/strings.h"
#include "serve/handlers.h"
#include "serve/slices.h"

namespace sonde::serve {
namespace {

using base::Concat;

Status AddTotals(const TracksOfTrace& group, const Window& window,
                 std::map<std::string, TotalMessage>& totals) {
  const std::string area = AreaCondition(*group.trace, group.tracks, window);
  return group.trace->tables->Scan(
      Concat("WITH a AS (SELECT slice_id, name, parent_id, ", ClippedDuration(*group.trace, window),
             " AS dur FROM slice_ WHERE ", area,
             "), c AS (SELECT parent_id AS id, sum(dur)::BIGINT AS children FROM a GROUP BY 1) "
             "SELECT name, count(*), sum(dur)::BIGINT, "
             "sum(greatest(dur - coalesce(children, 0), 0))::BIGINT, min(dur), max(dur) "
             "FROM a LEFT JOIN c ON c.id = a.slice_id GROUP BY name"),
      [&](const store::Chunk& chunk) -> Status {
        for (size_t row = 0; row < chunk.rows(); ++row) {
          const std::string& name = group.trace->Name(chunk.Values<int32_t>(0)[row]);
          const auto at = [&](size_t column) { return chunk.Values<int64_t>(column)[row]; };
          auto [found, is_new] = totals.try_emplace(name);
          TotalMessage& total = found->second;
          total.name = name;
          total.count += at(1);
          total.total += at(2);
          total.self += at(3);
          total.min = is_new ? at(4) : std::min(total.min, at(4));
          total.max = std::max(total.max, at(5));
        }
        return {};
      });
}

}  // namespace

Result<HttpAnswer> HandleArea(Session& session, const HttpRequest& request) {
  SONDE_ASSIGN_OR_RETURN(const auto lanes, ParseLanes(request));
  SONDE_ASSIGN_OR_RETURN(const Window window, ParseWindow(request));
  SONDE_ASSIGN_OR_RETURN(const auto groups, GroupLanes(session, lanes));
  std::map<std::string, TotalMessage> totals;
  for (const TracksOfTrace& group : groups) {
    SONDE_RETURN_IF_ERROR(AddTotals(group, window, totals));
  }
  AreaMessage message;
  for (auto& [name, total] : totals) {
    message.slices += total.count;
    message.rows.push_back(std::move(total));
  }
  std::stable_sort(message.rows.begin(), message.rows.end(),
                   [](const auto& a, const auto& b) { return a.total > b.total; });
  return HttpAnswer{.body = ToJson(message)};
}

}  // namespace sonde::serve
