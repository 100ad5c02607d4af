// Order, parents, depth, tracks and slice numbers of a thread's ranges.
#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>

#include "importers/capture/issues.h"
#include "importers/capture/stage.h"
#include "importers/common/nester.h"

namespace sonde::importers::capture_import {
namespace {

using capture::RecordKind;

constexpr auto kNestedKinds = static_cast<size_t>(TrackKind::kCollectiveWork);

bool Before(const Node& a, const Node& b) { return BeginsBefore(a.ts, a.end, b.ts, b.end); }

// Ranges are recorded when they end, so their order is a post-order of the tree. The position of
// each in the order of begin follows from the sizes of its subtree and of those before, without a
// sort. Places where that does not hold are found by OrderByBegin.
std::vector<uint32_t> PreorderPlaces(const std::vector<Node>& nodes) {
  const auto count = static_cast<uint32_t>(nodes.size());
  std::vector<uint32_t> size(count);
  std::vector<uint32_t> parent(count, count);
  std::vector<uint32_t> roots;  // subtrees that no later node has taken in yet
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t total = 1;
    while (!roots.empty() && nodes[roots.back()].ts >= nodes[i].ts) {
      parent[roots.back()] = i;
      total += size[roots.back()];
      roots.pop_back();
    }
    size[i] = total;
    roots.push_back(i);
  }
  // From the end: every subtree takes the last free places in its parent's.
  std::vector<uint32_t> places(count);
  std::vector<uint32_t> free_end(size_t{count} + 1);
  free_end[count] = count;
  for (uint32_t i = count; i-- > 0;) {
    uint32_t& end = free_end[parent[i]];
    places[i] = end - size[i];
    free_end[i] = end;
    end = places[i];
  }
  return places;
}

void OrderByBegin(std::vector<Node>& nodes) {
  const std::vector<uint32_t> places = PreorderPlaces(nodes);
  std::vector<Node> ordered(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) ordered[places[i]] = nodes[i];
  nodes = std::move(ordered);
  if (!std::is_sorted(nodes.begin(), nodes.end(), Before)) {
    std::stable_sort(nodes.begin(), nodes.end(), Before);
  }
}

// A step that continued after a pause was recorded in parts with one number: they are one range.
void JoinSteps(std::vector<Node>& nodes) {
  constexpr size_t kNone = SIZE_MAX;
  size_t step = kNone;
  size_t kept = 0;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].kind == RecordKind::kStep) {
      if (step != kNone && nodes[step].sequence == nodes[i].sequence) {
        nodes[step].end = nodes[i].end;
        continue;
      }
      step = kept;
    }
    if (kept != i) nodes[kept] = nodes[i];
    ++kept;
  }
  nodes.resize(kept);
}

// Tracks for ranges that may overlap: each range goes to one that is free at its begin.
class FlatTracks {
 public:
  FlatTracks(ThreadStage& stage, TrackKind kind, uint32_t first_overflow)
      : stage_(stage), kind_(kind), next_overflow_(first_overflow) {}

  // Nodes come in order of begin.
  void Place(Node& node) {
    const auto track = static_cast<uint32_t>(tracks_.Take(node.ts, node.end, [this] {
      stage_.tracks.push_back({kind_, next_overflow_++, -1, {0}});
      return static_cast<int32_t>(stage_.tracks.size()) - 1;
    }));
    node.track = track;
    node.depth = 0;
    node.parent = kNoNode;
    ++stage_.tracks[track].lane_counts[0];
  }

 private:
  ThreadStage& stage_;
  TrackKind kind_;
  uint32_t next_overflow_;
  FreeTracks tracks_;
};

class ThreadNester {
 public:
  ThreadNester(ThreadStage& stage, store::ImportIssues& issues) : stage_(stage), issues_(issues) {
    first_track_.fill(kNoTrack);
  }

  void Run() {
    OrderByBegin(stage_.nodes);
    JoinSteps(stage_.nodes);
    SortInstants();
    size_t flow = 0;
    size_t memory = 0;
    const auto count = static_cast<int32_t>(stage_.nodes.size());
    for (int32_t i = 0; i < count; ++i) {
      TakeInstants(flow, memory, stage_.nodes[static_cast<size_t>(i)].ts);
      Place(i);
    }
    TakeInstants(flow, memory, kOpenEnd);
    if (!stage_.marks.empty()) FirstTrack(TrackKind::kThread);
  }

 private:
  static constexpr uint32_t kNoTrack = UINT32_MAX;

  struct Frame {
    int64_t end;
    int32_t node;
  };
  using Stack = Nester<Frame>;

  uint32_t FirstTrack(TrackKind kind) {
    uint32_t& track = first_track_[static_cast<size_t>(kind)];
    if (track == kNoTrack) {
      track = static_cast<uint32_t>(stage_.tracks.size());
      stage_.tracks.push_back({kind, 0, -1, {}});
    }
    return track;
  }

  FlatTracks& Overflow(TrackKind kind) {
    std::optional<FlatTracks>& tracks = overflow_[static_cast<size_t>(kind)];
    if (!tracks) tracks.emplace(stage_, kind, 1);
    return *tracks;
  }

  void Place(int32_t index) {
    Node& node = stage_.nodes[static_cast<size_t>(index)];
    const TrackKind kind = TrackOf(node.kind);
    Stack& stack = stacks_[static_cast<size_t>(kind)];
    stack.CloseUntil(node.ts);
    if (kind == TrackKind::kThread) {
      Stack& modules = stacks_[static_cast<size_t>(TrackKind::kModule)];
      modules.CloseUntil(node.ts);
      if (!modules.empty()) node.module = NodeAt(modules.innermost().node).name;
    }
    if (!stack.Holds(node.end)) {
      issues_.Add(kOverlap, "");
      Overflow(kind).Place(node);
      return;
    }
    node.depth = static_cast<uint32_t>(stack.depth());
    if (!stack.empty()) node.parent = stack.innermost().node;
    node.track = FirstTrack(kind);
    std::vector<uint32_t>& lanes = stage_.tracks[node.track].lane_counts;
    if (node.depth >= lanes.size()) lanes.resize(size_t{node.depth} + 1);
    ++lanes[node.depth];
    stack.Open({node.end, index});
  }

  Node& NodeAt(int32_t index) { return stage_.nodes[static_cast<size_t>(index)]; }

  void SortInstants() {
    const auto by_time = [](const auto& a, const auto& b) { return a.ts < b.ts; };
    if (!std::is_sorted(stage_.flows.begin(), stage_.flows.end(), by_time)) {
      std::stable_sort(stage_.flows.begin(), stage_.flows.end(), by_time);
    }
    if (!std::is_sorted(stage_.memory.begin(), stage_.memory.end(), by_time)) {
      std::stable_sort(stage_.memory.begin(), stage_.memory.end(), by_time);
    }
  }

  // The range of the thread's track that is open at `ts`; ranges that end at `ts` still are.
  int32_t OpenAt(int64_t ts) {
    Stack& stack = stacks_[static_cast<size_t>(TrackKind::kThread)];
    stack.CloseBefore(ts);
    return stack.empty() ? kNoNode : stack.innermost().node;
  }

  // Owners of the instants before `until`, where the next range begins.
  void TakeInstants(size_t& flow, size_t& memory, int64_t until) {
    while (true) {
      const bool flow_due = flow < stage_.flows.size() && stage_.flows[flow].ts < until;
      const bool memory_due = memory < stage_.memory.size() && stage_.memory[memory].ts < until;
      if (!flow_due && !memory_due) return;
      if (flow_due && (!memory_due || stage_.flows[flow].ts <= stage_.memory[memory].ts)) {
        stage_.flows[flow].node = OpenAt(stage_.flows[flow].ts);
        ++flow;
      } else {
        stage_.memory[memory].node = OpenAt(stage_.memory[memory].ts);
        ++memory;
      }
    }
  }

  ThreadStage& stage_;
  store::ImportIssues& issues_;
  std::array<Stack, kNestedKinds> stacks_;
  std::array<uint32_t, kNestedKinds> first_track_;
  std::array<std::optional<FlatTracks>, kNestedKinds> overflow_;
};

void AddFlat(ThreadStage& stage, std::vector<Node> list, TrackKind kind) {
  std::stable_sort(list.begin(), list.end(), Before);
  FlatTracks tracks(stage, kind, 0);
  for (Node& node : list) {
    tracks.Place(node);
    stage.nodes.push_back(node);
  }
}

}  // namespace

void Nest(ThreadStage& stage, std::vector<Node> spans, store::ImportIssues& issues) {
  ThreadNester(stage, issues).Run();
  AddFlat(stage, std::exchange(stage.works, {}), TrackKind::kCollectiveWork);
  AddFlat(stage, std::move(spans), TrackKind::kSpan);
}

std::vector<std::vector<Node>> PairSpans(const std::vector<ThreadStage>& stages,
                                         store::ImportIssues& issues) {
  struct Begin {
    const SpanEnd* begin;
    size_t stage;
    const SpanEnd* end;
    uint32_t end_thread;
  };
  std::vector<Begin> begins;
  std::unordered_map<uint64_t, size_t> open;
  for (size_t i = 0; i < stages.size(); ++i) {
    for (const SpanEnd& span : stages[i].spans) {
      if (!span.begin) continue;
      open[span.key] = begins.size();
      begins.push_back({&span, i, nullptr, 0});
    }
  }
  for (const ThreadStage& stage : stages) {
    for (const SpanEnd& span : stage.spans) {
      if (span.begin) continue;
      const auto found = open.find(span.key);
      if (found == open.end() || span.ts < begins[found->second].begin->ts) {
        issues.Add(kUnpairedSpan, "");
        continue;
      }
      begins[found->second].end = &span;
      begins[found->second].end_thread = stage.thread_index;
      open.erase(found);
    }
  }
  std::vector<std::vector<Node>> spans(stages.size());
  for (const Begin& begin : begins) {
    Node node;
    node.ts = begin.begin->ts;
    node.end = begin.end != nullptr ? begin.end->ts : kOpenEnd;
    node.name = begin.begin->name;
    node.args = begin.begin->args;
    node.domain = begin.begin->domain;
    node.kind = RecordKind::kSpanBegin;
    node.link = begin.end != nullptr ? begin.end_thread : stages[begin.stage].thread_index;
    spans[begin.stage].push_back(node);
  }
  return spans;
}

void Number(ThreadStage& stage, int32_t& next_track, int64_t& next_slice) {
  stage.first_slice = static_cast<int32_t>(next_slice);
  std::vector<std::vector<int64_t>> next(stage.tracks.size());
  std::vector<size_t> order(stage.tracks.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return stage.tracks[a].kind < stage.tracks[b].kind; });
  for (const size_t i : order) {
    stage.tracks[i].track_id = next_track++;
    for (const uint32_t count : stage.tracks[i].lane_counts) {
      next[i].push_back(next_slice);
      next_slice += count;
    }
  }
  stage.by_slice.resize(stage.nodes.size());
  for (size_t i = 0; i < stage.nodes.size(); ++i) {
    Node& node = stage.nodes[i];
    node.slice_id = static_cast<int32_t>(next[node.track][node.depth]++);
    stage.by_slice[static_cast<size_t>(node.slice_id - stage.first_slice)] =
        static_cast<uint32_t>(i);
  }
}

}  // namespace sonde::importers::capture_import
