#include "exporters/format/viewer_times.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

namespace sonde::exporters {

int64_t ViewerNs(int64_t ns) {
  // The whole microseconds are exact in a double; adding the rest rounds as reading the text does.
  const int64_t text_us = ns / 1000;
  const double us = static_cast<double>(text_us) + static_cast<double>(ns % 1000) / 1000.0;
  const auto whole_us = static_cast<int64_t>(us);
  // A double that holds a whole number is taken for an integer, and those are exact.
  if (static_cast<double>(whole_us) == us) return whole_us * 1000;
  return static_cast<int64_t>(us * 1000.0);
}

void FitDurations(std::span<RowEvent> events) {
  const size_t count = events.size();
  std::vector<int64_t> viewer_ns(count);
  for (size_t i = 0; i < count; ++i) viewer_ns[i] = ViewerNs(events[i].start_ns);
  // The first event that does not lie in event i.
  std::vector<uint32_t> next(count);
  for (size_t i = count; i-- > 0;) {
    size_t j = i + 1;
    while (j < count && events[j].start_ns < events[i].end_ns) j = next[j];
    next[i] = static_cast<uint32_t>(j);
  }
  struct Open {
    int64_t end_ns;         // as recorded
    int64_t fitted_end_ns;  // as written, for viewers that read exactly
    int64_t viewer_end_ns;
  };
  std::vector<Open> open;
  for (size_t i = 0; i < count; ++i) {
    RowEvent& event = events[i];
    while (!open.empty() && open.back().end_ns <= event.start_ns) open.pop_back();
    // A viewer takes an event of no length for one that has ended before it begins.
    int64_t viewer_end_ns = viewer_ns[i] + std::max<int64_t>(event.end_ns - event.start_ns, 1);
    if (next[i] < count) viewer_end_ns = std::min(viewer_end_ns, viewer_ns[next[i]]);
    event.dur_ns = viewer_end_ns - viewer_ns[i];
    if (!open.empty()) {
      event.dur_ns = std::min({event.dur_ns, open.back().viewer_end_ns - viewer_ns[i],
                               open.back().fitted_end_ns - event.start_ns});
    }
    event.dur_ns = std::max<int64_t>(event.dur_ns, 0);
    open.push_back({event.end_ns, event.start_ns + event.dur_ns, viewer_ns[i] + event.dur_ns});
  }
}

}  // namespace sonde::exporters
