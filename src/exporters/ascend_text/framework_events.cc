#include "exporters/ascend_text/framework_events.h"

#include <algorithm>
#include <map>
#include <utility>

#include "exporters/format/viewer_times.h"

namespace sonde::exporters {
namespace {

using recipes::TraceData;

// Whether the slice is drawn as an operator: markers have a layer of their own. What is no operator
// (works of collectives, entries of queues between threads) lies among them.
bool IsDrawn(const TraceData& data, int32_t slice_id) {
  const int32_t op = data.OpOf(slice_id);
  if (op < 0) return true;
  return recipes::IsOperator(data.ops[static_cast<size_t>(op)].scope);
}

class Collector {
 public:
  Collector(const TraceData& data, const FrameworkRows& rows) : data_(data), rows_(rows) {}

  void AddTracks() {
    for (const store::TrackRow& track : data_.tracks) {
      const bool is_work = data_.IsOfKind(track, recipes::TrackKind::kCollectiveWork);
      if (!data_.IsOfKind(track, recipes::TrackKind::kThread) && !is_work) continue;
      const auto id = static_cast<size_t>(track.track_id);
      std::vector<FrameworkEvent>& row = RowOf(track.process_id, rows_.OfTrack(track.track_id));
      row.reserve(row.size() + data_.track_begin[id + 1] - data_.track_begin[id]);
      for (size_t i = data_.track_begin[id]; i < data_.track_begin[id + 1]; ++i) {
        if (IsDrawn(data_, data_.preorder[i])) row.push_back({data_.preorder[i], -1, 0});
      }
    }
  }

  // Those of a thread come by start: one run a row, merged with the operators that are there.
  void AddPython(const std::vector<PythonEvent>& python) {
    std::map<std::pair<int32_t, int64_t>, std::vector<FrameworkEvent>> runs;
    for (size_t i = 0; i < python.size(); ++i) {
      const store::SliceRow& slice = data_.Slice(python[i].slice_id);
      runs[{data_.TrackOf(slice).process_id, rows_.OfSlice(slice)}].push_back(
          {slice.slice_id, static_cast<int32_t>(i), 0});
    }
    for (auto& [key, run] : runs) {
      std::vector<FrameworkEvent>& row = rows_of_events_[key];
      const auto middle = static_cast<std::ptrdiff_t>(row.size());
      row.insert(row.end(), run.begin(), run.end());
      std::inplace_merge(row.begin(), row.begin() + middle, row.end(),
                         [&](const FrameworkEvent& a, const FrameworkEvent& b) {
                           const store::SliceRow& x = data_.Slice(a.slice_id);
                           const store::SliceRow& y = data_.Slice(b.slice_id);
                           if (x.ts != y.ts) return x.ts < y.ts;
                           return data_.EndNs(x) > data_.EndNs(y);
                         });
    }
  }

  std::vector<FrameworkEvent> Take() {
    std::vector<FrameworkEvent> all;
    std::vector<RowEvent> times;
    for (auto& [key, row] : rows_of_events_) {
      times.clear();
      for (const FrameworkEvent& event : row) {
        const store::SliceRow& slice = data_.Slice(event.slice_id);
        times.push_back({slice.ts, data_.EndNs(slice), 0});
      }
      FitDurations(times);
      for (size_t i = 0; i < row.size(); ++i) row[i].dur_ns = times[i].dur_ns;
      if (all.empty()) {
        all = std::move(row);
      } else {
        all.insert(all.end(), row.begin(), row.end());
      }
    }
    return all;
  }

 private:
  std::vector<FrameworkEvent>& RowOf(int32_t process_id, int64_t tid) {
    return rows_of_events_[{process_id, tid}];
  }

  const TraceData& data_;
  const FrameworkRows& rows_;
  std::map<std::pair<int32_t, int64_t>, std::vector<FrameworkEvent>> rows_of_events_;
};

}  // namespace

FrameworkEvents FrameworkEvents::Make(const TraceData& data, const FrameworkRows& rows) {
  FrameworkEvents made;
  made.python = PythonEvents(data);
  Collector collector(data, rows);
  collector.AddTracks();
  collector.AddPython(made.python.events);
  made.events = collector.Take();
  return made;
}

}  // namespace sonde::exporters
