// Ranges of threads as rows, and the arrows between threads.
#include <algorithm>
#include <numeric>
#include <queue>
#include <tuple>

#include "base/strings.h"
#include "capture/mindspore_names.h"
#include "importers/mindspore/issues.h"
#include "importers/mindspore/trace.h"

namespace sonde::importers::mindspore {

int32_t RangeRows::Add(const Range& range, capture::Scope scope) {
  const int32_t thread = Thread(range);
  const int32_t track = rows_.ThreadTrack(capture::TrackKind::kThread, thread);
  const int32_t slice = rows_.AddSlice(
      track, range.begin, SpanNs(range.begin, range.end), rows_.names.Intern(range.name),
      range.category.empty() ? store::kNone : rows_.names.Intern(range.category));
  threads_.resize(static_cast<size_t>(slice) + 1, store::kNone);
  threads_[static_cast<size_t>(slice)] = thread;
  store::FrameworkOpRow op;
  op.slice_id = slice;
  op.scope = capture::NumberOf(scope);
  rows_.ops.push_back(op);
  if (range.flow != kNoFlow) ends_.push_back({range.flow, range.begin, thread, slice});
  return slice;
}

void RangeRows::AddLaunch(int32_t slice, std::string_view kernel) {
  const store::SliceRow& row = rows_.slices[static_cast<size_t>(slice)];
  store::TaskKindRow kind;
  kind.name = rows_.names.Intern(kernel);
  kind.op_type = rows_.names.Intern(capture::MindsporeOperatorType(kernel));
  kind.core = rows_.names.Intern("CPU");
  store::DeviceTaskRow task;
  task.slice_id = slice;
  const store::TrackRow& track = rows_.tracks[static_cast<size_t>(row.track_id)];
  task.track_id = rows_.CpuStream(track.process_id, track.thread_id);
  task.ts = row.ts;
  task.dur = row.dur;
  task.kind_id = rows_.Kind(kind);
  task.launch_slice_id = slice;
  rows_.tasks.push_back(task);
}

void RangeRows::AddHandOver(const Range& range) {
  if (range.flow == kNoFlow) return;
  ends_.push_back({range.flow, range.begin, Thread(range), store::kNone});
}

// The slice that is open on the thread at the moment of each hand-over goes to end.slice as
// -2 - index, so that tasks (>= 0) and moments stay apart.
void RangeRows::FindSlices() {
  std::vector<int32_t> order(threads_.size());
  std::iota(order.begin(), order.end(), 0);
  const auto slice = [&](int32_t i) -> const store::SliceRow& {
    return rows_.slices[static_cast<size_t>(i)];
  };
  const auto thread = [&](int32_t i) { return threads_[static_cast<size_t>(i)]; };
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return std::tuple(thread(a), slice(a).ts, -slice(a).dur) <
           std::tuple(thread(b), slice(b).ts, -slice(b).dur);
  });
  std::vector<End*> moments;
  for (End& end : ends_) {
    if (end.slice < 0) moments.push_back(&end);
  }
  std::stable_sort(moments.begin(), moments.end(), [](const End* a, const End* b) {
    return std::tie(a->thread, a->ts) < std::tie(b->thread, b->ts);
  });
  std::vector<int32_t> open;
  size_t next = 0;
  for (End* moment : moments) {
    while (next < order.size() && std::tuple(thread(order[next]), slice(order[next]).ts) <=
                                      std::tuple(moment->thread, moment->ts)) {
      if (!open.empty() && thread(open.back()) != thread(order[next])) open.clear();
      const int64_t begin = slice(order[next]).ts;
      while (!open.empty() && slice(open.back()).ts + slice(open.back()).dur <= begin) {
        open.pop_back();
      }
      open.push_back(order[next++]);
    }
    while (!open.empty() && (thread(open.back()) != moment->thread ||
                             slice(open.back()).ts + slice(open.back()).dur < moment->ts)) {
      open.pop_back();
    }
    moment->slice = open.empty() ? store::kNone : -2 - open.back();
  }
}

void RangeRows::Finish() {
  FindSlices();
  std::stable_sort(ends_.begin(), ends_.end(), [](const End& a, const End& b) {
    return std::tie(a.flow, a.ts) < std::tie(b.flow, b.ts);
  });
  const int32_t kind = rows_.names.Intern("enqueue_dequeue");
  std::queue<const End*> waiting;  // queued, not yet begun
  int64_t unpaired = 0;
  for (size_t i = 0; i < ends_.size(); ++i) {
    const End& end = ends_[i];
    if (i > 0 && ends_[i - 1].flow != end.flow) {
      unpaired += static_cast<int64_t>(waiting.size());
      waiting = {};
    }
    if (end.slice < 0) {
      waiting.push(&end);
    } else if (waiting.empty()) {
      ++unpaired;
    } else {
      store::FlowRow flow;
      flow.kind = kind;
      flow.key = static_cast<int64_t>(end.flow);
      flow.slice_out = waiting.front()->slice < -1 ? -2 - waiting.front()->slice : store::kNone;
      flow.slice_in = end.slice;
      rows_.flows.push_back(flow);
      waiting.pop();
    }
  }
  unpaired += static_cast<int64_t>(waiting.size());
  if (unpaired > 0) rows_.issues.Add(kNoHandOver, rows_.source, -1, unpaired);
}

std::string_view ScopePath(std::string_view name) {
  const size_t slash = name.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : name.substr(0, slash);
}

}  // namespace sonde::importers::mindspore
