// The requests of a session as a track of the timeline: each on a lane of its own while it lasts,
// its phases ("tokenize", "queue", "prefill", "decode") below it.
//
// Units: nanoseconds. Pure, any thread.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "store/name_pool.h"
#include "store/rows.h"

namespace sonde::importers::server {

struct RequestTrack {
  store::TrackRow track;
  std::vector<store::SliceRow> slices;      // numbered in the order of depth and time
  std::vector<int32_t> slices_of_requests;  // of each request, in the order of the requests
};

// `first_slice` and `track_id` are the next free numbers; `process_id`: of the track.
RequestTrack MakeRequestTrack(std::span<const store::RequestRow> requests, int32_t process_id,
                              int32_t track_id, int32_t first_slice, store::NamePool& names);

}  // namespace sonde::importers::server
