// Layers next to the operators: garbage collection, markers of the user, counters.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/host/json_writer.h"
#include "base/strings.h"
#include "exporters/ascend_text/trace_view.h"
#include "exporters/format/lanes.h"
#include "exporters/format/layers.h"
#include "exporters/format/viewer_times.h"

namespace sonde::exporters {
namespace {

using recipes::TraceData;

std::string_view MarkerType(std::string_view kind) {
  if (kind == "push_pop") return "push/pop";
  if (kind == "start_end") return "start/end";
  return "marker";
}

// A mark on its row; ranges of the user may overlap, so that a thread can have several rows.
struct PlacedMark {
  const store::MarkRow* mark;
  int64_t pid;
  int64_t tid;  // of the thread
  int64_t lane;
  RowEvent time;
};

bool SameRow(const PlacedMark& a, const PlacedMark& b) {
  return std::tie(a.pid, a.tid, a.lane) == std::tie(b.pid, b.tid, b.lane);
}

// By row and start.
std::vector<PlacedMark> PlaceMarks(const TraceData& data) {
  std::vector<PlacedMark> placed;
  for (const store::MarkRow& mark : data.marks) {
    if (mark.track_id < 0) continue;
    const store::TrackRow& track = data.tracks[static_cast<size_t>(mark.track_id)];
    placed.push_back({&mark,
                      LayerPid(data.PidOf(track.process_id), Layer::kMarkers, kHostDevice),
                      data.TidOf(track.thread_id),
                      0,
                      {mark.ts, mark.dur < 0 ? data.last_ns : mark.ts + mark.dur, 0}});
  }
  const auto by_time = [](const PlacedMark& a, const PlacedMark& b) {
    if (a.time.start_ns != b.time.start_ns) return a.time.start_ns < b.time.start_ns;
    return a.time.end_ns > b.time.end_ns;
  };
  std::stable_sort(placed.begin(), placed.end(), by_time);
  std::map<std::pair<int64_t, int64_t>, NestingLanes> lanes;
  for (PlacedMark& mark : placed) {
    mark.lane = static_cast<int64_t>(
        lanes[{mark.pid, mark.tid}].Place(mark.time.start_ns, mark.time.end_ns));
  }
  std::stable_sort(placed.begin(), placed.end(), [](const PlacedMark& a, const PlacedMark& b) {
    return std::tie(a.pid, a.tid, a.lane) < std::tie(b.pid, b.tid, b.lane);
  });
  return placed;
}

void FitMarks(std::span<PlacedMark> row) {
  std::vector<RowEvent> times;
  for (const PlacedMark& mark : row) times.push_back(mark.time);
  FitDurations(times);
  for (size_t i = 0; i < row.size(); ++i) row[i].time = times[i];
}

void AppendMarkerProcess(const TraceData& data, const PlacedMark& mark, LineBuffer& out) {
  const store::TrackRow& track = data.tracks[static_cast<size_t>(mark.mark->track_id)];
  std::string_view name;
  if (track.process_id >= 0) {
    name = data.Name(data.processes[static_cast<size_t>(track.process_id)].name);
  }
  AppendProcessNames(
      {mark.pid, name.empty() ? "process" : name, "CPU", static_cast<int64_t>(Layer::kMarkers)},
      out);
}

void AppendMark(const TraceData& data, const PlacedMark& mark, LineBuffer& out) {
  out.Append(R"(,{"name":)");
  out.Append(base::JsonQuote(data.Name(mark.mark->message)));
  out.Append(R"(,"pid":)");
  out.Int(mark.pid);
  out.Append(R"(,"tid":)");
  out.Int(LaneTid(mark.tid, mark.lane));
  out.Append(R"(,"ts":")");
  out.Microseconds(mark.time.start_ns);
  out.Append(R"(","dur":)");
  out.MicrosecondsShort(mark.time.dur_ns);
  out.Append(R"(,"args":{"event_type":")");
  out.Append(MarkerType(data.Name(mark.mark->kind)));
  out.Append(R"(","domain":)");
  out.Append(base::JsonQuote(data.Name(mark.mark->domain)));
  out.Append(R"(},"ph":"X"})");
}

}  // namespace

void AppendGarbageCollections(const TraceData& data, LineBuffer& out) {
  std::set<std::pair<int64_t, int64_t>> rows;
  for (const int32_t id : data.SlicesOfKinds({recipes::TrackKind::kGarbageCollection})) {
    const store::SliceRow& slice = data.Slice(id);
    const store::TrackRow& track = data.TrackOf(slice);
    const int64_t pid = LayerPid(data.PidOf(track.process_id), Layer::kGarbageCollection, 0);
    const int64_t tid = data.TidOf(track.thread_id);
    if (rows.insert({pid, tid}).second) {
      AppendProcessNames({pid, "Python GC", "CPU", static_cast<int64_t>(Layer::kGarbageCollection)},
                         out);
      AppendThreadNames(pid, tid, "Python GC", 0, out);
    }
    out.Append(R"(,{"ph":"X","name":"GC","pid":)");
    out.Int(pid);
    out.Append(R"(,"tid":)");
    out.Int(tid);
    out.Append(R"(,"ts":")");
    out.Microseconds(slice.ts);
    out.Append(R"(","dur":)");
    out.MicrosecondsShort(data.DurationNs(slice));
    out.Append(R"(,"cat":"GC","args":{}})");
  }
}

void AppendMarkers(const TraceData& data, LineBuffer& out) {
  std::vector<PlacedMark> marks = PlaceMarks(data);
  std::set<int64_t> named;
  for (size_t begin = 0; begin < marks.size();) {
    size_t end = begin;
    while (end < marks.size() && SameRow(marks[begin], marks[end])) ++end;
    const PlacedMark& first = marks[begin];
    if (named.insert(first.pid).second) AppendMarkerProcess(data, first, out);
    AppendThreadNames(first.pid, LaneTid(first.tid, first.lane), ThreadLabel(first.tid), first.tid,
                      out);
    FitMarks(std::span(marks).subspan(begin, end - begin));
    for (; begin < end; ++begin) AppendMark(data, marks[begin], out);
  }
}

void AppendCounterProcesses(const CounterLanes& lanes, LineBuffer& out) {
  for (const CounterLanes::Process& process : lanes.processes()) {
    const std::string label =
        process.is_device ? base::Concat("NPU ", std::to_string(process.device)) : "CPU";
    AppendProcessNames({process.pid, process.name, label, process.sort_index}, out);
  }
}

void AppendCounters(const TraceData& data, const CounterLanes& lanes, bool with_modules,
                    size_t begin, size_t end, LineBuffer& out) {
  for (size_t i = begin; i < end; ++i) {
    const store::CounterRow& counter = data.counters[i];
    const CounterLanes::Lane& lane = lanes.Of(counter);
    if (lane.is_of_module && !with_modules) continue;
    out.Append(R"(,{"name":)");
    out.Append(lane.name);
    out.Append(R"(,"ts":")");
    out.Microseconds(counter.ts);
    out.Append(R"(","pid":)");
    out.Int(lane.pid);
    out.Append(R"(,"tid":0,"args":)");
    AppendCounterValue(lane, counter.value, out);
    out.Append(R"(,"ph":"C"})");
  }
}

}  // namespace sonde::exporters
