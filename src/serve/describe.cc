#include "serve/describe.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>

#include "capture/track_kinds.h"

namespace sonde::serve {
namespace {

using store::ResultTable;

int32_t Narrow(const ResultTable& table, size_t column, size_t row) {
  return static_cast<int32_t>(table.Int(column, row));
}

Status AddProcesses(const store::Queryable& store, TraceMessage& message) {
  SONDE_ASSIGN_OR_RETURN(
      const ResultTable rows,
      store.Query("SELECT process_id, pid, coalesce(name, ''), coalesce(host, '') FROM process "
                  "ORDER BY process_id"));
  for (size_t row = 0; row < rows.rows(); ++row) {
    message.processes.push_back({.id = Narrow(rows, 0, row),
                                 .pid = rows.Int(1, row),
                                 .name = rows.Text(2, row),
                                 .host = rows.Text(3, row)});
    if (message.host.empty()) message.host = rows.Text(3, row);
  }
  return {};
}

struct LanesOfTrack {
  int32_t depths = 0;
  int64_t slices = 0;
};

// The marks of a track are on the lane below its slices.
void AddMarks(const Marks& marks, TraceMessage& message) {
  if (marks.DepthOf(marks.no_track()) >= 0) {
    message.tracks.push_back({.id = marks.no_track(),
                              .kind = std::string(capture::TextOf(capture::TrackKind::kMark)),
                              .process = -1,
                              .thread = -1,
                              .device = -1,
                              .stream = -1});
  }
  for (TrackMessage& track : message.tracks) {
    const auto found = marks.lanes().find(track.id);
    if (found == marks.lanes().end()) continue;
    track.depths = found->second.depth + 1;
    track.marks = found->second.count;
  }
}

// From one moment to a later one, however far; 0 where it is earlier.
uint64_t Distance(int64_t from, int64_t to) {
  return to <= from ? 0 : static_cast<uint64_t>(to) - static_cast<uint64_t>(from);
}

// Where the trace begins and ends. Counters may begin long before, and a mark may be far off: they
// do not stretch the axis unless there is nothing else.
Status AddExtent(const store::Queryable& store, const store::ZoomIndex& zoom, const Marks& marks,
                 TraceMessage& message) {
  message.begin = INT64_MAX;
  message.end = INT64_MIN;
  for (const store::ZoomFileLane& lane : zoom.lanes()) {
    if (lane.ids != 0) continue;  // slices of the host, once more
    const auto [begin, end] = zoom.ExtentOf(lane);
    message.slices += int64_t{lane.count};
    message.begin = std::min(message.begin, begin);
    message.end = std::max(message.end, end);
  }
  if (message.slices > 0) {
    if (marks.lanes().empty()) return {};
    const uint64_t span = Distance(message.begin, message.end);
    const auto [begin, end] = std::pair(message.begin, message.end);
    if (Distance(marks.begin_ns(), begin) < span) message.begin = std::min(begin, marks.begin_ns());
    if (Distance(end, marks.end_ns()) < span) message.end = std::max(end, marks.end_ns());
    return {};
  }
  message.begin = marks.begin_ns();
  message.end = marks.end_ns();
  if (!marks.lanes().empty()) return {};
  SONDE_ASSIGN_OR_RETURN(
      const ResultTable rows,
      store.Query("SELECT coalesce(min(ts), 0), coalesce(max(ts), 0) FROM counter"));
  message.begin = rows.Int(0, 0);
  message.end = rows.Int(1, 0);
  return {};
}

Status AddTracks(const store::Queryable& store, const store::ZoomIndex& zoom,
                 TraceMessage& message) {
  std::map<int32_t, LanesOfTrack> lanes;
  for (const store::ZoomFileLane& lane : zoom.lanes()) {
    LanesOfTrack& of_track = lanes[lane.track_id];
    of_track.depths = std::max(of_track.depths, lane.depth + 1);
    of_track.slices += int64_t{lane.count};
  }
  SONDE_ASSIGN_OR_RETURN(
      const ResultTable rows,
      store.Query("SELECT t.track_id, coalesce(t.kind, ''), coalesce(t.name, ''), "
                  "coalesce(t.process_id, -1), coalesce(t.thread_id, -1), "
                  "coalesce(t.device_id, -1), coalesce(t.stream_id, -1), t.sort_index FROM track t "
                  "ORDER BY t.track_id"));
  for (size_t row = 0; row < rows.rows(); ++row) {
    const auto found = lanes.find(Narrow(rows, 0, row));
    const LanesOfTrack filled = found != lanes.end() ? found->second : LanesOfTrack{};
    message.tracks.push_back({.id = Narrow(rows, 0, row),
                              .kind = rows.Text(1, row),
                              .name = rows.Text(2, row),
                              .process = Narrow(rows, 3, row),
                              .thread = Narrow(rows, 4, row),
                              .device = Narrow(rows, 5, row),
                              .stream = Narrow(rows, 6, row),
                              .sort = Narrow(rows, 7, row),
                              .depths = filled.depths,
                              .slices = filled.slices});
  }
  return {};
}

}  // namespace

Status DescribeTrace(const store::Queryable& store, const store::ZoomIndex& zoom,
                     const Marks& marks, TraceMessage& message) {
  SONDE_RETURN_IF_ERROR(AddProcesses(store, message));
  SONDE_RETURN_IF_ERROR(AddTracks(store, zoom, message));
  AddMarks(marks, message);
  message.slices = 0;
  SONDE_RETURN_IF_ERROR(AddExtent(store, zoom, marks, message));
  SONDE_ASSIGN_OR_RETURN(const ResultTable rows, store.Query("SELECT count(*) FROM import_issue"));
  message.issues = Narrow(rows, 0, 0);
  return {};
}

}  // namespace sonde::serve
