#include "serve/describe.h"

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

Status AddTracks(const store::Store& store, TraceMessage& message) {
  SONDE_ASSIGN_OR_RETURN(
      const ResultTable rows,
      store.Query("SELECT t.track_id, coalesce(t.kind, ''), coalesce(t.name, ''), "
                  "coalesce(t.process_id, -1), coalesce(t.thread_id, -1), "
                  "coalesce(t.device_id, -1), coalesce(t.stream_id, -1), t.sort_index, "
                  "coalesce(s.depths, 0), coalesce(s.n, c.n, 0) FROM track t "
                  "LEFT JOIN (SELECT track_id, max(depth) + 1 AS depths, count(*) AS n "
                  "FROM slice_ GROUP BY 1) s USING (track_id) "
                  "LEFT JOIN (SELECT track_id, count(*) AS n FROM counter GROUP BY 1) c "
                  "USING (track_id) ORDER BY t.track_id"));
  for (size_t row = 0; row < rows.rows(); ++row) {
    message.tracks.push_back({.id = Narrow(rows, 0, row),
                              .kind = rows.Text(1, row),
                              .name = rows.Text(2, row),
                              .process = Narrow(rows, 3, row),
                              .thread = Narrow(rows, 4, row),
                              .device = Narrow(rows, 5, row),
                              .stream = Narrow(rows, 6, row),
                              .sort = Narrow(rows, 7, row),
                              .depths = Narrow(rows, 8, row),
                              .slices = rows.Int(9, row)});
  }
  return {};
}

}  // namespace

Status DescribeTrace(const store::Store& store, TraceMessage& message) {
  SONDE_RETURN_IF_ERROR(AddProcesses(store, message));
  SONDE_RETURN_IF_ERROR(AddTracks(store, message));
  // Counters may begin long before: they do not stretch the axis unless there is nothing else.
  SONDE_ASSIGN_OR_RETURN(
      const ResultTable rows,
      store.Query("SELECT count(*), coalesce(min(ts), (SELECT min(ts) FROM counter), 0), "
                  "coalesce(max(ts + greatest(dur, 0)), (SELECT max(ts) FROM counter), 0), "
                  "(SELECT count(*) FROM import_issue) FROM slice_"));
  message.slices = rows.Int(0, 0);
  message.begin = rows.Int(1, 0);
  message.end = rows.Int(2, 0);
  message.issues = Narrow(rows, 3, 0);
  return {};
}

}  // namespace sonde::serve
