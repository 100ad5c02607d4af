// Curves of the counters of a trace: what to draw of one in a window, at most one point a pixel.
//
// Counters of usual length are kept in memory once they were read, together up to a bound; longer
// ones are summed up by the database for each window, so that memory does not grow with the trace.
// Threads: any. Times: nanoseconds of the epoch. Errors: those of the store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/status.h"
#include "serve/track_cache.h"
#include "store/queryable.h"

namespace sonde::serve {

// The values within a pixel, from the first on.
struct CounterPoint {
  int64_t ts = 0;
  double low = 0;
  double high = 0;
  double last = 0;
};

struct CounterWindow {
  int64_t begin_ns = 0;
  int64_t end_ns = 0;
  int64_t pixel_ns = 1;  // at least 1
};

class Counters {
 public:
  // How many values of one counter, and of all together, stay in memory: 16 bytes each.
  static constexpr size_t kLongest = size_t{1} << 20U;
  static constexpr size_t kMostKept = size_t{4} << 20U;
  explicit Counters(size_t longest = kLongest, size_t most_kept = kMostKept)
      : longest_(longest), kept_(most_kept) {}

  // In the order of time; before them, where there is one, the value that reaches into the window.
  Result<std::vector<CounterPoint>> Curve(const store::Queryable& store, int32_t track,
                                          const CounterWindow& window) const;
  // Values that are in memory now.
  size_t kept() const { return kept_.kept(); }

 private:
  struct Values {
    std::vector<int64_t> ts;  // ascending
    std::vector<double> values;
  };
  // Null for a counter that is too long to be kept.
  Result<std::shared_ptr<const Values>> Kept(const store::Queryable& store, int32_t track) const;
  static std::vector<CounterPoint> Draw(const Values& values, const CounterWindow& window);
  static Result<std::vector<CounterPoint>> Ask(const store::Queryable& store, int32_t track,
                                               const CounterWindow& window);

  const size_t longest_;
  mutable TrackCache<Values> kept_;
};

}  // namespace sonde::serve
