#include "importers/server/request_slices.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace sonde::importers::server {
namespace {

using store::RequestRow;
using store::SliceRow;

constexpr int64_t kOpen = INT64_MAX;

struct Phase {
  int32_t name;
  int64_t begin;
  int64_t end;
};

class Maker {
 public:
  Maker(int32_t process_id, int32_t track_id, store::NamePool& names)
      : category_(names.Intern("span")),
        names_{names.Intern("tokenize"), names.Intern("queue"), names.Intern("prefill"),
               names.Intern("decode")} {
    track_.track.track_id = track_id;
    track_.track.kind = category_;
    track_.track.name = names.Intern("Requests");
    track_.track.process_id = process_id;
    track_.track.sort_index = -1;  // above the threads
  }

  // In the order of arrival.
  void Add(const RequestRow& row) {
    const int64_t end = row.dur < 0 ? kOpen : row.ts + row.dur;
    const int32_t depth = 2 * FreeLane(row.ts, end);
    const auto place = static_cast<int32_t>(track_.slices.size());
    places_.push_back(place);
    AddSlice(row.name, row.ts, end, depth, store::kNone);
    for (const Phase& phase : Phases(row, end)) {
      if (phase.begin < row.ts || phase.end <= phase.begin || phase.end > end) continue;
      AddSlice(phase.name, phase.begin, phase.end, depth + 1, place);
    }
  }

  RequestTrack Take(int32_t first_slice) {
    std::vector<int32_t> order(track_.slices.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int32_t>(i);
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      const SliceRow& x = At(a);
      const SliceRow& y = At(b);
      return x.depth != y.depth ? x.depth < y.depth : x.ts < y.ts;
    });
    std::vector<int32_t> numbers(order.size());
    for (size_t i = 0; i < order.size(); ++i) {
      numbers[static_cast<size_t>(order[i])] = first_slice + static_cast<int32_t>(i);
    }
    RequestTrack sorted{track_.track, {}, {}};
    for (const int32_t place : places_) {
      sorted.slices_of_requests.push_back(numbers[static_cast<size_t>(place)]);
    }
    for (const int32_t place : order) {
      SliceRow row = At(place);
      row.slice_id = numbers[static_cast<size_t>(place)];
      if (row.parent_id >= 0) row.parent_id = numbers[static_cast<size_t>(row.parent_id)];
      sorted.slices.push_back(row);
    }
    return sorted;
  }

 private:
  const SliceRow& At(int32_t place) const { return track_.slices[static_cast<size_t>(place)]; }

  int32_t FreeLane(int64_t begin, int64_t end) {
    const auto free = std::find_if(lane_ends_.begin(), lane_ends_.end(),
                                   [&](int64_t lane_end) { return lane_end <= begin; });
    const auto lane = static_cast<int32_t>(free - lane_ends_.begin());
    if (free == lane_ends_.end()) {
      lane_ends_.push_back(end);
    } else {
      *free = end;
    }
    return lane;
  }

  // Unrecorded moments are -1, and so is every phase that they bound.
  std::array<Phase, 4> Phases(const RequestRow& row, int64_t end) const {
    const int64_t queued = row.queued_ts;
    const int64_t last = row.dur < 0 ? end : row.last_token_ts;
    // Without a token (so far, an embedding, or given up before) its last phase lasts to the end.
    const bool has_token = row.output_tokens > 0;
    const int64_t scheduled = row.scheduled_ts < 0 && !has_token ? end : row.scheduled_ts;
    return {Phase{names_[0], row.ts, row.tokenized_ts}, Phase{names_[1], queued, scheduled},
            Phase{names_[2], row.scheduled_ts, has_token ? row.first_token_ts : end},
            Phase{names_[3], row.first_token_ts, last}};
  }

  void AddSlice(int32_t name, int64_t begin, int64_t end, int32_t depth, int32_t parent) {
    SliceRow row;
    row.ts = begin;
    row.dur = end == kOpen ? -1 : end - begin;
    row.track_id = track_.track.track_id;
    row.name = name;
    row.category = category_;
    row.depth = depth;
    row.parent_id = parent;
    track_.slices.push_back(row);
  }

  int32_t category_;
  std::array<int32_t, 4> names_;
  RequestTrack track_;
  std::vector<int64_t> lane_ends_;
  std::vector<int32_t> places_;  // of the slices of requests, in the order of arrival
};

}  // namespace

RequestTrack MakeRequestTrack(std::span<const RequestRow> requests, int32_t process_id,
                              int32_t track_id, int32_t first_slice, store::NamePool& names) {
  std::vector<const RequestRow*> by_time;
  for (const RequestRow& row : requests) by_time.push_back(&row);
  std::stable_sort(by_time.begin(), by_time.end(),
                   [](const RequestRow* a, const RequestRow* b) { return a->ts < b->ts; });
  Maker maker(process_id, track_id, names);
  for (const RequestRow* row : by_time) maker.Add(*row);
  RequestTrack track = maker.Take(first_slice);
  const std::vector<int32_t> in_order = track.slices_of_requests;
  for (size_t i = 0; i < by_time.size(); ++i) {
    track.slices_of_requests[static_cast<size_t>(by_time[i] - requests.data())] = in_order[i];
  }
  return track;
}

}  // namespace sonde::importers::server
