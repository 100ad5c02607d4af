// GET /api/counter?trace=&track=&begin=&end=&pixel=: a counter's curve.
//
// The answer, little endian: for each pixel in which the counter has values f64 begin, lowest,
// highest and last; before them, where there is one, the value that reaches into the window.
#include <algorithm>

#include "serve/handlers.h"
#include "serve/slices.h"

namespace sonde::serve {
namespace {

void Append(std::string& out, double value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void AppendPoint(std::string& out, int64_t ts, double low, double high, double last) {
  Append(out, static_cast<double>(ts));
  Append(out, low);
  Append(out, high);
  Append(out, last);
}

}  // namespace

Result<HttpAnswer> HandleCounter(Session& session, const HttpRequest& request) {
  SONDE_ASSIGN_OR_RETURN(const int64_t id, request.Int("trace"));
  SONDE_ASSIGN_OR_RETURN(const int64_t track, request.Int("track"));
  SONDE_ASSIGN_OR_RETURN(const Window window, ParseWindow(request));
  SONDE_ASSIGN_OR_RETURN(const int64_t pixel, request.Int("pixel"));
  if (pixel < 1) return base::InvalidArgumentError("'pixel' must be at least 1");
  SONDE_ASSIGN_OR_RETURN(const auto trace, session.Find(id));
  SONDE_ASSIGN_OR_RETURN(const auto counter, trace->Counter(static_cast<int32_t>(track)));
  const int64_t base = trace->base_ns;
  const auto first = std::lower_bound(counter->ts.begin(), counter->ts.end(), window.begin + base);
  auto i = static_cast<size_t>(first - counter->ts.begin());
  HttpAnswer answer{.type = "application/octet-stream"};
  if (i > 0) {
    const double value = counter->values[i - 1];
    AppendPoint(answer.body, counter->ts[i - 1] - base, value, value, value);
  }
  while (i < counter->ts.size() && counter->ts[i] < window.end + base) {
    const int64_t begin = counter->ts[i];
    double low = counter->values[i];
    double high = low;
    double last = low;
    for (; i < counter->ts.size() && counter->ts[i] < begin + pixel; ++i) {
      last = counter->values[i];
      low = std::min(low, last);
      high = std::max(high, last);
    }
    AppendPoint(answer.body, begin - base, low, high, last);
  }
  return answer;
}

}  // namespace sonde::serve
