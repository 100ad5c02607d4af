#include "serve/counters.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/strings.h"

namespace sonde::serve {

using base::Concat;

Result<std::vector<CounterPoint>> Counters::Curve(const store::Queryable& store, int32_t track,
                                                  const CounterWindow& window) const {
  SONDE_ASSIGN_OR_RETURN(const auto values, Kept(store, track));
  if (values == nullptr) return Ask(store, track, window);
  return Draw(*values, window);
}

Result<std::shared_ptr<const Counters::Values>> Counters::Kept(const store::Queryable& store,
                                                               int32_t track) const {
  if (auto known = kept_.Find(track)) return *known;
  const std::string from = Concat("FROM counter WHERE track_id = ", std::to_string(track));
  SONDE_ASSIGN_OR_RETURN(const auto count, store.Query(Concat("SELECT count(*) ", from)));
  // Missing counters are not remembered: requests may name any.
  if (count.Int(0, 0) == 0) return std::make_shared<const Values>();
  std::shared_ptr<Values> read;
  if (static_cast<size_t>(count.Int(0, 0)) <= longest_) {
    read = std::make_shared<Values>();
    SONDE_RETURN_IF_ERROR(store.Scan(Concat("SELECT ts, value ", from, " ORDER BY ts"),
                                     [&](const store::Chunk& chunk) -> Status {
                                       const auto ts = chunk.Values<int64_t>(0);
                                       const auto value = chunk.Values<double>(1);
                                       read->ts.insert(read->ts.end(), ts.begin(), ts.end());
                                       read->values.insert(read->values.end(), value.begin(),
                                                           value.end());
                                       return {};
                                     }));
  }
  const size_t count_kept = read == nullptr ? 0 : read->ts.size();
  return kept_.Keep(track, read, count_kept);
}

std::vector<CounterPoint> Counters::Draw(const Values& values, const CounterWindow& window) {
  const auto& ts = values.ts;
  auto i =
      static_cast<size_t>(std::lower_bound(ts.begin(), ts.end(), window.begin_ns) - ts.begin());
  std::vector<CounterPoint> points;
  if (i > 0) {
    const double value = values.values[i - 1];
    points.push_back({ts[i - 1], value, value, value});
  }
  while (i < ts.size() && ts[i] < window.end_ns) {
    const double value = values.values[i];
    CounterPoint point{ts[i], value, value, value};
    for (; i < ts.size() && ts[i] - point.ts < window.pixel_ns; ++i) {
      point.last = values.values[i];
      point.low = std::min(point.low, point.last);
      point.high = std::max(point.high, point.last);
    }
    points.push_back(point);
  }
  return points;
}

Result<std::vector<CounterPoint>> Counters::Ask(const store::Queryable& store, int32_t track,
                                                const CounterWindow& window) {
  const std::string from = Concat(" FROM counter WHERE track_id = ", std::to_string(track));
  const std::string begin = std::to_string(window.begin_ns);
  const std::string sql =
      Concat("(SELECT ts, value, value, value", from, " AND ts < ", begin,
             " ORDER BY ts DESC LIMIT 1) UNION ALL (SELECT min(ts) AS ts, min(value), max(value), "
             "arg_max(value, ts)",
             from, " AND ts >= ", begin, " AND ts < ", std::to_string(window.end_ns),
             " GROUP BY (ts - ", begin, ") // ", std::to_string(window.pixel_ns), ") ORDER BY ts");
  std::vector<CounterPoint> points;
  SONDE_RETURN_IF_ERROR(store.Scan(sql, [&](const store::Chunk& chunk) -> Status {
    for (size_t row = 0; row < chunk.rows(); ++row) {
      points.push_back({chunk.Values<int64_t>(0)[row], chunk.Values<double>(1)[row],
                        chunk.Values<double>(2)[row], chunk.Values<double>(3)[row]});
    }
    return {};
  }));
  return points;
}

}  // namespace sonde::serve
