#include "serve/slices.h"

#include <utility>

#include "base/strings.h"

namespace sonde::serve {
namespace {

using base::Concat;

constexpr size_t kMaxLanes = 4096;

std::optional<int32_t> ParseId(std::string_view text) {
  const auto value = base::ParseInt64(text);
  if (!value || *value < 0 || *value > INT32_MAX) return std::nullopt;
  return static_cast<int32_t>(*value);
}

}  // namespace

Result<std::vector<SliceRefMessage>> ReadSlices(const Trace& trace, const std::string& tail) {
  std::vector<SliceRefMessage> slices;
  SONDE_RETURN_IF_ERROR(trace.tables->Scan(
      Concat("SELECT slice_id, track_id, name, ts, dur, depth::INTEGER FROM slice_ ", tail),
      [&](const store::Chunk& chunk) -> Status {
        for (size_t row = 0; row < chunk.rows(); ++row) {
          slices.push_back({.trace = trace.id,
                            .id = chunk.Values<int32_t>(0)[row],
                            .track = chunk.Values<int32_t>(1)[row],
                            .name = trace.Name(chunk.Values<int32_t>(2)[row]),
                            .ts = chunk.Values<int64_t>(3)[row] - trace.base_ns,
                            .dur = chunk.Values<int64_t>(4)[row],
                            .depth = chunk.Values<int32_t>(5)[row]});
        }
        return {};
      }));
  return slices;
}

Result<std::vector<SliceRefMessage>> ReadMarks(const Trace& trace, const std::string& tail) {
  std::vector<SliceRefMessage> marks;
  SONDE_RETURN_IF_ERROR(
      trace.tables->Scan(Concat("SELECT mark_id, track_id, message, ts FROM mark_ ", tail),
                         [&](const store::Chunk& chunk) -> Status {
                           for (size_t row = 0; row < chunk.rows(); ++row) {
                             const int32_t on = chunk.Values<int32_t>(1)[row];
                             const int32_t track = on < 0 ? trace.marks.no_track() : on;
                             const int64_t id = MarkToSliceId(chunk.Values<int32_t>(0)[row]);
                             marks.push_back({.trace = trace.id,
                                              .id = static_cast<int32_t>(id),
                                              .track = track,
                                              .name = trace.Name(chunk.Values<int32_t>(2)[row]),
                                              .ts = chunk.Values<int64_t>(3)[row] - trace.base_ns,
                                              .dur = 0,
                                              .depth = trace.marks.DepthOf(track)});
                           }
                           return {};
                         }));
  return marks;
}

Result<std::vector<LaneKey>> ParseLanes(const HttpRequest& request) {
  const std::string text = request.Text("lanes");
  std::vector<LaneKey> lanes;
  if (text.empty()) return lanes;
  for (const std::string_view item : base::Split(text, ',')) {
    const auto parts = base::Split(item, ':');
    const auto trace = ParseId(parts[0]);
    const auto track = parts.size() > 1 ? ParseId(parts[1]) : std::nullopt;
    const auto depths = parts.size() > 2 ? ParseId(parts[2]) : std::optional<int32_t>(0);
    if (!trace || !track || !depths || parts.size() > 3 || lanes.size() == kMaxLanes) {
      return base::InvalidArgumentError("'lanes' must be trace:track:depths,... (at most 4096)");
    }
    lanes.push_back({*trace, *track, *depths});
  }
  return lanes;
}

Result<Window> ParseWindow(const HttpRequest& request) {
  Window window;
  SONDE_ASSIGN_OR_RETURN(window.begin, request.Int("begin"));
  SONDE_ASSIGN_OR_RETURN(window.end, request.Int("end"));
  constexpr int64_t kLimit = int64_t{1} << 61U;  // sums with the base stay in range
  if (window.end < window.begin || window.begin < -kLimit || window.end > kLimit) {
    return base::InvalidArgumentError("'begin' and 'end' must be a window of time");
  }
  return window;
}

std::string AreaCondition(const Trace& trace, const std::vector<int32_t>& tracks,
                          const Window& window) {
  std::vector<std::string> ids;
  std::vector<std::string> streams;
  for (const int32_t track : tracks) {
    (trace.HasTaskLane(track) ? streams : ids).push_back(std::to_string(track));
  }
  std::string on_lanes = Concat("track_id IN (", ids.empty() ? "-1" : base::Join(ids, ","), ")");
  if (!streams.empty()) {
    on_lanes = Concat("(", on_lanes, " OR slice_id IN (SELECT slice_id FROM device_task_ WHERE ",
                      "track_id IN (", base::Join(streams, ","), ")))");
  }
  const std::string begin = std::to_string(window.begin + trace.base_ns);
  return Concat(on_lanes, " AND ts < ", std::to_string(window.end + trace.base_ns),
                " AND (ts >= ", begin, " OR ts + greatest(dur, 0) > ", begin, ")");
}

std::string ClippedDuration(const Trace& trace, const Window& window) {
  return Concat("(least(ts + greatest(dur, 0), ", std::to_string(window.end + trace.base_ns),
                ") - greatest(ts, ", std::to_string(window.begin + trace.base_ns), "))");
}

Result<std::vector<TracksOfTrace>> GroupLanes(const Session& session,
                                              const std::vector<LaneKey>& lanes) {
  std::map<int32_t, std::vector<int32_t>> by_trace;
  for (const LaneKey& lane : lanes) by_trace[lane.trace].push_back(lane.track);
  std::vector<TracksOfTrace> groups;
  for (auto& [id, tracks] : by_trace) {
    SONDE_ASSIGN_OR_RETURN(auto trace, session.Find(id));
    groups.push_back({std::move(trace), std::move(tracks)});
  }
  return groups;
}

std::string SqlText(std::string_view text) {
  return Concat("'", base::ReplaceAll(text, "'", "''"), "'");
}

}  // namespace sonde::serve
