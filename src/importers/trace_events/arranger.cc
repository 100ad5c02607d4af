#include "importers/trace_events/arranger.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/host/parallel.h"
#include "base/strings.h"
#include "importers/common/impossible_times.h"
#include "importers/trace_events/edges.h"
#include "importers/trace_events/impossible.h"
#include "importers/trace_events/issues.h"

namespace sonde::importers::trace_events {
namespace {

constexpr int64_t kOpenEnd = std::numeric_limits<int64_t>::max();
static_assert(kMostDepth <= std::numeric_limits<uint16_t>::max());

}  // namespace

Arranger::Arranger(EventStage& stage)
    : stage_(stage),
      slices_(stage.staged_.slices),
      order_(base::SpillAllocator<uint32_t>(stage.pool())),
      parent_(base::SpillAllocator<uint32_t>(stage.pool())),
      depth_(base::SpillAllocator<uint16_t>(stage.pool())),
      moments_(base::SpillAllocator<Moment>(stage.pool())) {}

int64_t Arranger::EndOf(const StagedSlice& slice) const {
  return slice.dur < 0 ? kOpenEnd : slice.ts + slice.dur;
}

Status Arranger::Run() {
  if (slices_.size() + stage_.staged_.edges.size() >
      static_cast<size_t>(std::numeric_limits<int32_t>::max() / 2)) {
    return base::OutOfRangeError("the trace holds more slices than a store can number (2^30)");
  }
  EdgePairs(stage_).Run();
  AddTracksOfMarks();
  AddBase();
  // Tasks that need no order may run in parallel.
  Status written;
  base::TaskGroup background(stage_.options_.threads);
  if (stage_.options_.threads > 1) {
    background.Run([this] { stage_.PairFlows(); });
    background.Run([&] { written = stage_.WriteArguments(); });
  }
  BucketByTrack();
  CollectMoments();
  for (size_t track = 0; track + 1 < begins_.size(); ++track) {
    OrderTrack(begins_[track], begins_[track + 1]);
    NestTrack(track, begins_[track], begins_[track + 1]);
  }
  BindLanes();
  LabelTracks();
  NumberTracks();
  NumberSlices();
  background.Wait();
  return written;
}

// A mark of a thread without slices needs a track that assigns it to the thread. Kineto writes some
// that are of no thread: they stay without one.
void Arranger::AddTracksOfMarks() {
  stage_.instants().ForEach([&](uint32_t, const InstantEvent& instant) {
    const ThreadEntry& thread = stage_.tracks_.threads[static_cast<size_t>(instant.thread)];
    if (instant.taken || thread.tracks[0] >= 0) return;
    const ProcessEntry& process = stage_.tracks_.processes[static_cast<size_t>(thread.process)];
    if (thread.tid.empty() && process.pid.empty()) return;
    stage_.tracks_.Track(instant.thread, 0);
  });
}

// Adds the file's base time, and finds the first and last moment.
void Arranger::AddBase() {
  Staged& staged = stage_.staged_;
  const int64_t base = stage_.base_ns_;
  // Unchanged pages stay in the pool's file.
  const auto shift = [base](uint32_t, auto& event) { event.ts += base; };
  if (base != 0) {
    slices_.ForEach(shift);
    staged.instants.ForEach(shift);
    staged.counters.ForEach(shift);
    staged.flows.ForEach(shift);
  }
  FindRange();
  if (Distance(stage_.first_ns_, stage_.last_ns_) <= kApartNs) return;
  ImpossibleTimes(stage_).LeaveOutApart();
  FindRange();
}

void Arranger::FindRange() {
  int64_t first = kOpenEnd;
  int64_t last_begin = std::numeric_limits<int64_t>::min();
  int64_t last = last_begin;
  const auto take = [&](int64_t ts, int64_t dur) {
    first = std::min(first, ts);
    last_begin = std::max(last_begin, ts);
    last = std::max(last, ts + std::max<int64_t>(dur, 0));
  };
  std::as_const(slices_).ForEach([&](uint32_t, const StagedSlice& slice) {
    if (slice.track >= 0) take(slice.ts, slice.dur);
  });
  const Staged& staged = stage_.staged_;
  staged.instants.ForEach([&](uint32_t, const InstantEvent& instant) {
    if (!instant.left_out) take(instant.ts, 0);
  });
  staged.counters.ForEach([&](uint32_t, const CounterValue& value) {
    if (value.track >= 0) take(value.ts, 0);
  });
  if (first > last) return;
  stage_.first_ns_ = first;
  stage_.last_begin_ns_ = last_begin;
  stage_.last_ns_ = last;
}

void Arranger::BucketByTrack() {
  const size_t tracks = stage_.tracks_.tracks.size();
  begins_.assign(tracks + 1, 0);
  std::as_const(slices_).ForEach([&](uint32_t, const StagedSlice& slice) {
    if (slice.track >= 0) ++begins_[static_cast<size_t>(slice.track) + 1];
  });
  std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
  std::vector<size_t> next(begins_.begin(), begins_.end() - 1);
  order_.resize(begins_.back());
  std::as_const(slices_).ForEach([&](uint32_t place, const StagedSlice& slice) {
    if (slice.track >= 0) order_[next[static_cast<size_t>(slice.track)]++] = place;
  });
  parent_.assign(slices_.places(), kNoPlace);
  depth_.assign(slices_.places(), 0);
  lanes_.resize(tracks);
}

// By thread, of each the ends of flows before the instants; then by time.
void Arranger::CollectMoments() {
  const Staged& staged = stage_.staged_;
  const size_t threads = stage_.tracks_.threads.size();
  std::vector<size_t> instants(threads);
  moment_begins_.assign(threads + 1, 0);
  staged.flows.ForEach([&](uint32_t, const FlowEnd& flow) {
    if (!flow.of_span) ++moment_begins_[static_cast<size_t>(flow.thread) + 1];
  });
  staged.instants.ForEach([&](uint32_t, const InstantEvent& instant) {
    ++instants[static_cast<size_t>(instant.thread)];
  });
  for (size_t i = 0; i < threads; ++i) moment_begins_[i + 1] += moment_begins_[i] + instants[i];
  moments_.resize(moment_begins_.back());
  std::vector<size_t> next(moment_begins_.begin(), moment_begins_.end() - 1);
  staged.flows.ForEach([&](uint32_t place, const FlowEnd& flow) {
    if (flow.of_span) return;
    moments_[next[static_cast<size_t>(flow.thread)]++] = {flow.ts, place, true, flow.enclosing};
  });
  const std::vector<size_t> of_instants = next;
  staged.instants.ForEach([&](uint32_t place, const InstantEvent& instant) {
    moments_[next[static_cast<size_t>(instant.thread)]++] = {instant.ts, place, false, true};
  });
  for (size_t i = 0; i < threads; ++i) {
    SortMoments(moment_begins_[i], of_instants[i], moment_begins_[i + 1]);
  }
}

// Two lists of moments become one. Most are in order as they come.
void Arranger::SortMoments(size_t begin, size_t of_instants, size_t end) {
  const auto before = [](const Moment& a, const Moment& b) { return a.ts < b.ts; };
  const auto at = [&](size_t place) { return moments_.begin() + static_cast<ptrdiff_t>(place); };
  for (const auto& [from, to] : {std::pair(begin, of_instants), std::pair(of_instants, end)}) {
    if (!std::is_sorted(at(from), at(to), before)) std::stable_sort(at(from), at(to), before);
  }
  if (begin < of_instants && of_instants < end) {
    std::inplace_merge(at(begin), at(of_instants), at(end), before);
  }
}

std::span<const Arranger::Moment> Arranger::MomentsOf(int32_t thread) const {
  const auto i = static_cast<size_t>(thread);
  return {moments_.data() + moment_begins_[i], moment_begins_[i + 1] - moment_begins_[i]};
}

// By begin, the longer first, then as in the file.
bool Arranger::IsBefore(uint32_t a, uint32_t b) const {
  const StagedSlice& x = slices_[a];
  const StagedSlice& y = slices_[b];
  return BeginsBefore(x.ts, EndOf(x), y.ts, EndOf(y));
}

void Arranger::SortTrack(size_t begin, size_t end) {
  const auto first = order_.begin() + static_cast<ptrdiff_t>(begin);
  const auto last = order_.begin() + static_cast<ptrdiff_t>(end);
  const auto before = [this](uint32_t a, uint32_t b) { return IsBefore(a, b); };
  if (!base::IsSorted(first, last, stage_.pool(), before)) std::stable_sort(first, last, before);
}

void Arranger::OrderTrack(size_t begin, size_t end) {
  SortTrack(begin, end);
  const std::span<const uint32_t> places(order_.data() + begin, end - begin);
  if (ImpossibleTimes(stage_).RepairOverruns(places)) SortTrack(begin, end);
}

void Arranger::NestTrack(size_t track, size_t begin, size_t end) {
  const TrackEntry entry = stage_.tracks_.tracks[track];
  const bool takes_moments = entry.thread >= 0 && entry.lane == 0;
  size_t moment = 0;
  size_t moments_end = 0;
  if (takes_moments) {
    moment = moment_begins_[static_cast<size_t>(entry.thread)];
    moments_end = moment_begins_[static_cast<size_t>(entry.thread) + 1];
  }
  open_.Clear();
  std::vector<uint32_t> aside;
  base::SpillSteps steps(stage_.pool());
  for (size_t i = begin; i < end; ++i) {
    steps.Next();
    const uint32_t place = order_[i];
    const StagedSlice& slice = slices_[place];
    TakeMoments(moment, moments_end, slice.ts, place);
    if (stage_.equal_parents_.empty()) [[likely]] {
      open_.CloseUntil(slice.ts);
    } else {
      const auto outer = stage_.equal_parents_.find(place);
      open_.CloseUntil(slice.ts, [&](const Frame& frame) {
        return outer != stage_.equal_parents_.end() && frame.place == outer->second;
      });
    }
    if (!open_.Holds(EndOf(slice))) {
      aside.push_back(place);
      continue;
    }
    Place(place, static_cast<int32_t>(track));
  }
  TakeMoments(moment, moments_end, kOpenEnd, kNoPlace);
  if (aside.empty()) return;
  if (takes_moments) BindAside(entry.thread, aside);
  MoveAside(aside, static_cast<int32_t>(track));
}

void Arranger::Place(uint32_t place, int32_t track) {
  const size_t depth = open_.depth();
  if (depth > 0) parent_[place] = open_.innermost().place;
  depth_[place] = static_cast<uint16_t>(depth);
  std::vector<uint32_t>& lanes = lanes_[static_cast<size_t>(track)];
  if (depth >= lanes.size()) lanes.resize(depth + 1);
  ++lanes[depth];
  open_.Open({EndOf(slices_[place]), place});
}

// Slices that do not nest: each goes to a further track that is free when it begins.
void Arranger::MoveAside(const std::vector<uint32_t>& places, int32_t track) {
  FreeTracks further;
  for (const uint32_t place : places) {
    StagedSlice& slice = slices_[place];
    slice.track = further.Take(slice.ts, EndOf(slice), [&] {
      TrackEntry entry = stage_.tracks_.tracks[static_cast<size_t>(track)];
      entry.is_overflow = true;
      lanes_.push_back({0});
      return stage_.tracks_.Add(entry);
    });
    ++lanes_[static_cast<size_t>(slice.track)][0];
  }
  stage_.issues_.Add(kOverlap, stage_.path_, -1, static_cast<int64_t>(places.size()));
}

// Those before `until`, where the slice `next_place` begins. A moment at which a slice begins
// belongs to it.
void Arranger::TakeMoments(size_t& next, size_t end, int64_t until, uint32_t next_place) {
  for (; next < end && moments_[next].ts < until; ++next) {
    const Moment& moment = moments_[next];
    open_.CloseBefore(moment.ts);
    const uint32_t innermost = open_.empty() ? kNoPlace : open_.innermost().place;
    if (moment.enclosing) {
      Bind(moment, innermost);
      continue;
    }
    const std::vector<Frame>& frames = open_.frames();
    const auto begins_now = std::find_if(frames.begin(), frames.end(), [&](const Frame& frame) {
      return slices_[frame.place].ts == moment.ts;
    });
    if (begins_now != frames.end()) {
      Bind(moment, begins_now->place);
    } else if (next_place != kNoPlace) {
      Bind(moment, next_place);
    } else {
      Bind(moment, innermost);
    }
  }
}

void Arranger::BindLanes() {
  for (size_t track = 0; track + 1 < begins_.size(); ++track) {
    const TrackEntry& entry = stage_.tracks_.tracks[track];
    if (entry.thread < 0 || entry.lane == 0) continue;
    BindAside(entry.thread, {order_.data() + begins_[track], begins_[track + 1] - begins_[track]});
  }
}

// Where an end of an arrow is the begin of a slice on a further track of its thread, it belongs to
// that slice, unless its present one begins then, too.
void Arranger::BindAside(int32_t thread, std::span<const uint32_t> places) {
  const Blocks<FlowEnd>& flows = stage_.staged_.flows;
  const std::span<const Moment> moments = MomentsOf(thread);
  auto moment = moments.begin();
  const auto last = moments.end();
  for (const uint32_t place : places) {
    const int64_t begin = slices_[place].ts;
    while (moment != last && moment->ts < begin) ++moment;
    for (; moment != last && moment->ts == begin; ++moment) {
      if (!moment->is_flow) continue;
      const int32_t bound = flows[moment->place].slice;
      if (bound < 0 || slices_[static_cast<uint32_t>(bound)].ts != begin) Bind(*moment, place);
    }
  }
}

// Keeps the place; NumberSlices turns it into a slice_id.
void Arranger::Bind(const Moment& moment, uint32_t place) {
  int32_t& slice = moment.is_flow ? stage_.staged_.flows[moment.place].slice
                                  : stage_.staged_.instants[moment.place].slice;
  slice = place == kNoPlace ? store::kNone : static_cast<int32_t>(place);
}

// Those with events.
Arranger::Known Arranger::UsedOnes() const {
  const TrackTable& table = stage_.tracks_;
  Known used{std::vector<bool>(table.processes.size()), std::vector<bool>(table.threads.size())};
  for (const TrackEntry& track : table.tracks) {
    if (track.thread >= 0) used.threads[static_cast<size_t>(track.thread)] = true;
    used.processes[static_cast<size_t>(track.process)] = true;
  }
  stage_.instants().ForEach([&](uint32_t, const InstantEvent& instant) {
    used.threads[static_cast<size_t>(instant.thread)] = true;
  });
  TakeProcessesOfThreads(used);
  return used;
}

// Those, and others with facts in the file: Kineto names idle devices.
Arranger::Known Arranger::NamedOnes(const Known& used) const {
  const TrackTable& table = stage_.tracks_;
  Known named = used;
  for (size_t i = 0; i < named.threads.size(); ++i) {
    if (table.threads[i].name >= 0) named.threads[i] = true;
  }
  for (size_t i = 0; i < named.processes.size(); ++i) {
    const ProcessEntry& process = table.processes[i];
    if (process.name >= 0 || process.labels >= 0) named.processes[i] = true;
  }
  for (const ProcessFact& fact : stage_.facts()) {
    named.processes[static_cast<size_t>(fact.process)] = true;
  }
  TakeProcessesOfThreads(named);
  return named;
}

void Arranger::TakeProcessesOfThreads(Known& known) const {
  for (size_t i = 0; i < known.threads.size(); ++i) {
    const int32_t process = stage_.tracks_.threads[i].process;
    if (known.threads[i]) known.processes[static_cast<size_t>(process)] = true;
  }
}

// In the usual order; those without events come last.
void Arranger::NumberTracks() {
  const TrackTable& table = stage_.tracks_;
  Arrangement& out = stage_.arrangement_;
  const Known used = UsedOnes();
  const Known named = NamedOnes(used);
  const auto number = [](size_t count, const auto& is_used, const auto& key) {
    std::vector<size_t> order;
    for (size_t i = 0; i < count; ++i) {
      if (is_used(i)) order.push_back(i);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return key(a) < key(b); });
    std::vector<int32_t> ids(count, -1);
    for (size_t i = 0; i < order.size(); ++i) ids[order[i]] = static_cast<int32_t>(i);
    return ids;
  };
  out.process_ids = number(
      table.processes.size(), [&](size_t i) { return named.processes[i]; },
      [&](size_t i) {
        const ProcessEntry& process = table.processes[i];
        return std::tuple(!used.processes[i], process.sort_index, process.number);
      });
  out.thread_ids = number(
      table.threads.size(), [&](size_t i) { return named.threads[i]; },
      [&](size_t i) {
        const ThreadEntry& thread = table.threads[i];
        return std::tuple(out.process_ids[static_cast<size_t>(thread.process)], !used.threads[i],
                          thread.sort_index, thread.number);
      });
  out.track_ids = number(
      table.tracks.size(), [](size_t) { return true; },
      [&](size_t i) {
        const TrackEntry& track = table.tracks[i];
        const int32_t thread = track.thread < 0 ? std::numeric_limits<int32_t>::max()
                                                : out.thread_ids[static_cast<size_t>(track.thread)];
        return std::tuple(out.process_ids[static_cast<size_t>(track.process)], thread,
                          track.is_counter, track.lane, track.is_overflow,
                          track.is_counter ? stage_.names().Text(track.name) : std::string_view());
      });
  out.track_count = static_cast<int32_t>(table.tracks.size());
}

void Arranger::NumberSlices() {
  Arrangement& out = stage_.arrangement_;
  std::vector<size_t> by_id(lanes_.size());
  for (size_t i = 0; i < by_id.size(); ++i) by_id[static_cast<size_t>(out.track_ids[i])] = i;
  int32_t next = 0;
  for (const size_t track : by_id) {
    for (uint32_t& count : lanes_[track]) {  // becomes the next number of the lane
      const auto slices = static_cast<int32_t>(count);
      count = static_cast<uint32_t>(next);
      next += slices;
    }
  }
  out.by_slice.resize(order_.size());
  out.depths.resize(order_.size());
  out.preorder.resize(order_.size());
  base::SpillVector<int32_t> id_of_place(parent_.size(), store::kNone,
                                         base::SpillAllocator<int32_t>(stage_.pool()));
  base::SpillSteps steps(stage_.pool());
  for (size_t i = 0; i < order_.size(); ++i) {
    steps.Next();
    const uint32_t place = order_[i];
    const auto id = lanes_[static_cast<size_t>(slices_[place].track)][depth_[place]]++;
    out.by_slice[id] = place;
    out.depths[id] = depth_[place];
    out.preorder[i] = static_cast<int32_t>(id);
    id_of_place[place] = static_cast<int32_t>(id);
  }
  out.parents.resize(order_.size());
  for (size_t id = 0; id < out.parents.size(); ++id) {
    steps.Next();
    const uint32_t parent = parent_[out.by_slice[id]];
    out.parents[id] = parent == kNoPlace ? store::kNone : id_of_place[parent];
  }
  parent_.clear();
  const auto translate = [&](uint32_t, auto& event) {
    if (event.slice >= 0) event.slice = id_of_place[static_cast<size_t>(event.slice)];
  };
  stage_.staged_.flows.ForEach(translate);
  stage_.staged_.instants.ForEach(translate);
}

Status EventStage::Arrange(int64_t base_ns) {
  base_ns_ = base_ns;
  return Arranger(*this).Run();
}

}  // namespace sonde::importers::trace_events
