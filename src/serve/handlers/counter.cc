// GET /api/counter?trace=&track=&begin=&end=&pixel=: a counter's curve.
//
// The answer, little endian: for each pixel in which the counter has values f64 begin, lowest,
// highest and last; before them, where there is one, the value that reaches into the window.
#include "serve/handlers.h"
#include "serve/slices.h"

namespace sonde::serve {
namespace {

void Append(std::string& out, double value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

}  // namespace

Result<HttpAnswer> HandleCounter(Session& session, const HttpRequest& request) {
  SONDE_ASSIGN_OR_RETURN(const int64_t id, request.Int("trace"));
  SONDE_ASSIGN_OR_RETURN(const int64_t track, request.Int("track"));
  SONDE_ASSIGN_OR_RETURN(const Window window, ParseWindow(request));
  SONDE_ASSIGN_OR_RETURN(const int64_t pixel, request.Int("pixel"));
  if (pixel < 1) return base::InvalidArgumentError("'pixel' must be at least 1");
  SONDE_ASSIGN_OR_RETURN(const auto trace, session.Find(id));
  const int64_t base = trace->base_ns;
  SONDE_ASSIGN_OR_RETURN(const auto points,
                         trace->counters.Curve(*trace->tables, static_cast<int32_t>(track),
                                               {window.begin + base, window.end + base, pixel}));
  HttpAnswer answer{.type = "application/octet-stream"};
  answer.body.reserve(points.size() * 4 * sizeof(double));
  for (const CounterPoint& point : points) {
    Append(answer.body, static_cast<double>(point.ts - base));
    Append(answer.body, point.low);
    Append(answer.body, point.high);
    Append(answer.body, point.last);
  }
  return answer;
}

}  // namespace sonde::serve
