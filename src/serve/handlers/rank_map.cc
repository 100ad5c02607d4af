// GET /api/rank_map?map=&measure=&first=&ranks=&first_step=&steps=&middle=0|1&order=0|1: a tile of
// the times of the steps of more ranks than are read (serve/rank_map.h). POST /api/rank?map=&rank=:
// begins to read the trace of one of them; its number in the session.
#include "serve/rank_map.h"

#include <algorithm>

#include "base/strings.h"
#include "serve/handlers.h"

namespace sonde::serve {

Result<HttpAnswer> HandleRankMap(Session& session, const HttpRequest& request) {
  SONDE_ASSIGN_OR_RETURN(const int64_t map, request.Int("map"));
  SONDE_ASSIGN_OR_RETURN(const auto found, session.FindMap(map));
  TileRequest tile;
  const auto measure = std::ranges::find(kMeasures, request.Text("measure"));
  if (measure == kMeasures.end()) {
    return base::InvalidArgumentError(
        base::Concat("there is no measure '", request.Text("measure"), "'"));
  }
  tile.measure = static_cast<size_t>(measure - kMeasures.begin());
  SONDE_ASSIGN_OR_RETURN(tile.first_rank, request.Int("first", 0));
  SONDE_ASSIGN_OR_RETURN(tile.ranks, request.Int("ranks", 0));
  SONDE_ASSIGN_OR_RETURN(tile.first_step, request.Int("first_step", 0));
  SONDE_ASSIGN_OR_RETURN(tile.steps, request.Int("steps", 0));
  tile.is_compared = request.Text("middle") == "1";
  tile.is_sorted = request.Text("order") == "1";
  SONDE_ASSIGN_OR_RETURN(const RankTileMessage message, found->Tile(tile));
  return HttpAnswer{.body = ToJson(message)};
}

Result<HttpAnswer> HandleRank(Session& session, const HttpRequest& request) {
  SONDE_ASSIGN_OR_RETURN(const int64_t map, request.Int("map"));
  SONDE_ASSIGN_OR_RETURN(const int64_t rank, request.Int("rank"));
  OpenedRankMessage message;
  SONDE_ASSIGN_OR_RETURN(message.trace, session.OpenRank(map, rank));
  return HttpAnswer{.body = ToJson(message)};
}

}  // namespace sonde::serve
