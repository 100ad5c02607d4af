// GET /api/window?lanes=&begin=&end=&pixel=: what to draw, straight from the zoom index,
// and the marks, which have no duration.
//
// The answer, little endian: u32 magic "SDW1", u32 lanes; for each lane i32 trace, track, depth and
// count n, then f64 begin[n], f64 duration[n], i32 slice[n], i32 name[n], u32 how many[n], and 4
// bytes more where n is odd.
#include <algorithm>
#include <cstring>

#include "serve/handlers.h"
#include "serve/slices.h"

namespace sonde::serve {
namespace {

constexpr uint32_t kMagic = 0x31574453;
constexpr size_t kMaxWindowBytes = size_t{64} << 20U;

template <class T>
void Append(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void AppendLane(const Trace& trace, const LaneKey& lane, int32_t depth,
                const std::vector<store::ZoomSlice>& slices, std::string& out) {
  Append(out, lane.trace);
  Append(out, lane.track);
  Append(out, depth);
  Append(out, static_cast<uint32_t>(slices.size()));
  for (const auto& slice : slices) Append(out, static_cast<double>(slice.ts - trace.base_ns));
  for (const auto& slice : slices) Append(out, static_cast<double>(slice.dur));
  for (const auto& slice : slices) Append(out, slice.slice_id);
  for (const auto& slice : slices) Append(out, slice.name);
  for (const auto& slice : slices) Append(out, slice.count);
  if (slices.size() % 2 != 0) Append(out, uint32_t{0});
}

}  // namespace

Result<HttpAnswer> HandleWindow(Session& session, const HttpRequest& request) {
  SONDE_ASSIGN_OR_RETURN(const auto lanes, ParseLanes(request));
  SONDE_ASSIGN_OR_RETURN(const Window window, ParseWindow(request));
  SONDE_ASSIGN_OR_RETURN(const int64_t pixel, request.Int("pixel"));
  // A screen has some thousand pixels: a finer grid is a mistake, or an attack.
  if (pixel < 1 || (window.end - window.begin) / pixel > 32'768) {
    return base::InvalidArgumentError("'pixel' must be at least 1/32768 of the window");
  }
  HttpAnswer answer{.type = "application/octet-stream"};
  uint32_t count = 0;
  Append(answer.body, kMagic);
  Append(answer.body, count);
  std::vector<store::ZoomSlice> slices;
  for (const LaneKey& lane : lanes) {
    SONDE_ASSIGN_OR_RETURN(const auto trace, session.Find(lane.trace));
    for (int32_t depth = 0; depth < std::min(lane.depths, 2500); ++depth) {
      slices.clear();
      const store::ZoomWindow zoom{window.begin + trace->base_ns, window.end + trace->base_ns,
                                   pixel};
      trace->zoom.Query(lane.track, depth, zoom, slices);
      if (depth == trace->marks.DepthOf(lane.track)) {
        SONDE_RETURN_IF_ERROR(trace->marks.Query(*trace->tables, lane.track, zoom, slices));
      }
      AppendLane(*trace, lane, depth, slices, answer.body);
      ++count;
    }
    if (answer.body.size() > kMaxWindowBytes) return base::InvalidArgumentError("too many lanes");
  }
  std::memcpy(answer.body.data() + sizeof(kMagic), &count, sizeof(count));
  return answer;
}

}  // namespace sonde::serve
