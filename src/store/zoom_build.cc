#include "store/zoom_build.h"

#include <map>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/strings.h"
#include "store/row_tables.h"

namespace sonde::store {
namespace {

Status ScanInto(const Queryable& tables, bool sort, ZoomWriter& writer) {
  std::string sql = "SELECT slice_id, track_id, depth, ts, dur, name FROM slice_";
  if (sort) sql += " ORDER BY slice_id";
  return tables.Scan(sql, [&](const Chunk& chunk) -> Status {
    const auto ids = chunk.Values<int32_t>(0);
    const auto tracks = chunk.Values<int32_t>(1);
    const auto depths = chunk.Values<int32_t>(2);
    const auto ts = chunk.Values<int64_t>(3);
    const auto dur = chunk.Values<int64_t>(4);
    const auto names = chunk.Values<int32_t>(5);
    for (size_t row = 0; row < chunk.rows(); ++row) {
      writer.Add({.slice_id = ids[row],
                  .ts = ts[row],
                  .dur = dur[row],
                  .track_id = tracks[row],
                  .name = names[row],
                  .depth = depths[row]});
    }
    return {};
  });
}

// The database's DISTINCT makes a large table first: 4 ms, also where there are no tasks.
Result<std::set<int32_t>> TaskStreams(const Queryable& tables) {
  std::set<int32_t> streams;
  int32_t last = kNone;  // tasks of a stream mostly follow each other
  SONDE_RETURN_IF_ERROR(
      tables.Scan("SELECT track_id FROM device_task_ WHERE slice_id >= 0 AND track_id >= 0",
                  [&](const Chunk& chunk) -> Status {
                    for (const int32_t track : chunk.Values<int32_t>(0)) {
                      if (track != last) streams.insert(track);
                      last = track;
                    }
                    return {};
                  }));
  return streams;
}

}  // namespace

// A look for each stream, in the order in which the tasks are stored: to sort all would take
// longer.
Status AddTaskLanes(const Queryable& tables, ZoomWriter& writer, bool sort) {
  SONDE_ASSIGN_OR_RETURN(const std::set<int32_t> streams, TaskStreams(tables));
  if (streams.empty()) return {};
  std::unordered_map<int32_t, int32_t> names;
  SONDE_ASSIGN_OR_RETURN(const ResultTable kinds,
                         tables.Query("SELECT kind_id, coalesce(name, -1) FROM task_kind_"));
  for (size_t row = 0; row < kinds.rows(); ++row) {
    names[static_cast<int32_t>(kinds.Int(0, row))] = static_cast<int32_t>(kinds.Int(1, row));
  }
  for (const int32_t track : streams) {
    if (writer.HasTrack(track)) continue;
    SONDE_RETURN_IF_ERROR(tables.Scan(
        base::Concat("SELECT slice_id, ts, dur, coalesce(kind_id, -1)::INTEGER FROM device_task_ "
                     "WHERE slice_id >= 0 AND track_id = ",
                     std::to_string(track), sort ? " ORDER BY ts, task_id" : ""),
        [&](const Chunk& chunk) -> Status {
          const auto ids = chunk.Values<int32_t>(0);
          const auto ts = chunk.Values<int64_t>(1);
          const auto dur = chunk.Values<int64_t>(2);
          const auto kind = chunk.Values<int32_t>(3);
          for (size_t row = 0; row < chunk.rows(); ++row) {
            const auto name = names.find(kind[row]);
            writer.AddTask({.slice_id = ids[row],
                            .ts = ts[row],
                            .dur = dur[row],
                            .track_id = track,
                            .name = name == names.end() ? kNone : name->second,
                            .depth = 0});
          }
          return {};
        }));
  }
  return {};
}

void AddTaskLanes(const RowTables& rows, ZoomWriter& writer) {
  const std::span<const DeviceTaskRow> tasks = rows.Rows<DeviceTaskRow>();
  std::map<int32_t, std::vector<uint32_t>> streams;
  auto stream = streams.end();  // of the task before: mostly of this one too
  for (size_t i = 0; i < tasks.size(); ++i) {
    const int32_t track = tasks[i].track_id;
    if (tasks[i].slice_id < 0 || track < 0) continue;
    if (stream == streams.end() || stream->first != track)
      stream = streams.try_emplace(track).first;
    stream->second.push_back(static_cast<uint32_t>(i));
  }
  std::unordered_map<int32_t, int32_t> names;
  for (const TaskKindRow& kind : rows.Rows<TaskKindRow>()) names[kind.kind_id] = kind.name;
  for (const auto& [track, members] : streams) {
    if (writer.HasTrack(track)) continue;
    for (const uint32_t i : members) {
      const auto name = names.find(tasks[i].kind_id);
      writer.AddTask({.slice_id = tasks[i].slice_id,
                      .ts = tasks[i].ts,
                      .dur = tasks[i].dur,
                      .track_id = track,
                      .name = name == names.end() ? kNone : name->second,
                      .depth = 0});
    }
  }
}

// Slices are stored in the order of their numbers, if one writer wrote them; where that does not
// hold, the database brings them into order first.
Result<ZoomWriter> BuildZoomIndex(const Queryable& tables, int64_t store_id,
                                  const std::string& path) {
  SONDE_ASSIGN_OR_RETURN(ZoomWriter writer, ZoomWriter::Create(path, store_id));
  SONDE_RETURN_IF_ERROR(ScanInto(tables, false, writer));
  SONDE_RETURN_IF_ERROR(AddTaskLanes(tables, writer, false));
  if (!writer.in_order()) {
    SONDE_ASSIGN_OR_RETURN(writer, ZoomWriter::Create(path, store_id));
    SONDE_RETURN_IF_ERROR(ScanInto(tables, true, writer));
    SONDE_RETURN_IF_ERROR(AddTaskLanes(tables, writer, true));
  }
  SONDE_RETURN_IF_ERROR(writer.Finish().Annotate("while making the zoom index"));
  return writer;
}

}  // namespace sonde::store
