#include "serve/describe.h"

#include <algorithm>
#include <cstdint>
#include <map>

namespace sonde::serve {
namespace {

using store::ResultTable;

int32_t Narrow(const ResultTable& table, size_t column, size_t row) {
  return static_cast<int32_t>(table.Int(column, row));
}

Status AddProcesses(const store::Store& store, TraceMessage& message) {
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

Status AddTracks(const store::Store& store, const store::ZoomIndex& zoom, TraceMessage& message) {
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
                  "coalesce(t.device_id, -1), coalesce(t.stream_id, -1), t.sort_index, "
                  "coalesce(c.n, 0) FROM track t "
                  "LEFT JOIN (SELECT track_id, count(*) AS n FROM counter GROUP BY 1) c "
                  "USING (track_id) ORDER BY t.track_id"));
  for (size_t row = 0; row < rows.rows(); ++row) {
    const auto found = lanes.find(Narrow(rows, 0, row));
    const bool has_slices = found != lanes.end();
    message.tracks.push_back({.id = Narrow(rows, 0, row),
                              .kind = rows.Text(1, row),
                              .name = rows.Text(2, row),
                              .process = Narrow(rows, 3, row),
                              .thread = Narrow(rows, 4, row),
                              .device = Narrow(rows, 5, row),
                              .stream = Narrow(rows, 6, row),
                              .sort = Narrow(rows, 7, row),
                              .depths = has_slices ? found->second.depths : 0,
                              .slices = has_slices ? found->second.slices : rows.Int(8, row)});
  }
  return {};
}

}  // namespace

Status DescribeTrace(const store::Store& store, const store::ZoomIndex& zoom,
                     TraceMessage& message) {
  SONDE_RETURN_IF_ERROR(AddProcesses(store, message));
  SONDE_RETURN_IF_ERROR(AddTracks(store, zoom, message));
  message.slices = 0;
  message.begin = INT64_MAX;
  message.end = INT64_MIN;
  for (const store::ZoomFileLane& lane : zoom.lanes()) {
    if (lane.ids != 0) continue;  // slices of the host, once more
    const auto [begin, end] = zoom.ExtentOf(lane);
    message.slices += int64_t{lane.count};
    message.begin = std::min(message.begin, begin);
    message.end = std::max(message.end, end);
  }
  SONDE_ASSIGN_OR_RETURN(const ResultTable rows,
                         store.Query("SELECT (SELECT count(*) FROM import_issue), "
                                     "coalesce(min(ts), 0), coalesce(max(ts), 0) FROM counter"));
  message.issues = Narrow(rows, 0, 0);
  // Counters may begin long before: they do not stretch the axis unless there is nothing else.
  if (message.slices == 0) {
    message.begin = rows.Int(1, 0);
    message.end = rows.Int(2, 0);
  }
  return {};
}

}  // namespace sonde::serve
