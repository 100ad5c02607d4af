// Events of the timeline by name and start, for tables with the same events. Each is matched at
// most once.
//
// Memory from a pool, 24 bytes an event. One thread; nothing is added after the first is taken.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <tuple>

#include "base/host/spill.h"
#include "store/rows.h"

namespace sonde::importers::text_import {

class PlaceIndex {
 public:
  explicit PlaceIndex(base::SpillPool* pool) : events_(base::SpillAllocator<Event>(pool)) {}

  void Reserve(size_t count) { events_.reserve(count); }
  void Add(int32_t name, int64_t ts, int32_t index) {
    events_.push_back({ts, name, index});
    in_order_ = false;
  }

  // The event of this name that begins nearest to `start`; store::kNone where there is none left
  // within the tolerance.
  int32_t TakeNearest(int32_t name, int64_t start, int64_t tolerance) {
    if (!in_order_) Sort();
    auto best = events_.end();
    auto at = std::lower_bound(events_.begin(), events_.end(), Event{start - tolerance, name, 0},
                               IsBefore);
    for (; at != events_.end() && at->name == name && at->ts <= start + tolerance; ++at) {
      if (at->index < 0) continue;
      if (best == events_.end() || std::abs(at->ts - start) < std::abs(best->ts - start)) best = at;
    }
    if (best == events_.end()) return store::kNone;
    const int32_t index = best->index;
    best->index = store::kNone;
    return index;
  }

 private:
  struct Event {
    int64_t ts;
    int32_t name;
    int32_t index;
  };
  static bool IsBefore(const Event& a, const Event& b) {
    return std::tie(a.name, a.ts) < std::tie(b.name, b.ts);
  }
  // Those of one place stay in the order in which they came: by index.
  void Sort() {
    std::sort(events_.begin(), events_.end(), [](const Event& a, const Event& b) {
      return std::tie(a.name, a.ts, a.index) < std::tie(b.name, b.ts, b.index);
    });
    in_order_ = true;
  }

  base::SpillVector<Event> events_;
  bool in_order_ = false;
};

}  // namespace sonde::importers::text_import
