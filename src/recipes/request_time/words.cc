#include <algorithm>
#include <charconv>
#include <optional>

#include "base/strings.h"
#include "recipes/request_time/request_time.h"

namespace sonde::recipes {
namespace {

using base::Concat;

std::string TimeText(int64_t ns) {
  char buffer[40];
  const bool is_long = ns >= 1'000'000'000;
  const double value = static_cast<double>(ns) / (is_long ? 1e9 : 1e6);
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value, std::chars_format::fixed,
                                 is_long ? 2 : 1);
  return Concat(std::string_view(buffer, end.ptr), is_long ? " s" : " ms");
}

// One part and its excess: a key and its arguments.
std::vector<std::string> PartWords(RequestPart part, int64_t ns, int32_t slow_rank) {
  std::vector<std::string> words = {Concat("request_cause.", KeyOfPart(part)), TimeText(ns)};
  if (part == RequestPart::kRankWait) words.push_back(std::to_string(slow_rank));
  return words;
}

std::string AsArgument(const std::vector<std::string>& words) {
  return Concat("@", base::Join(words, "|"));
}

std::optional<int64_t> ParseTime(std::string_view text) {
  constexpr std::pair<std::string_view, double> kUnits[] = {{"ms", 1e6}, {"us", 1e3}, {"s", 1e9}};
  for (const auto& [unit, ns] : kUnits) {
    if (!text.ends_with(unit)) continue;
    const std::string_view number = text.substr(0, text.size() - unit.size());
    double value = 0;
    const auto end = std::from_chars(number.data(), number.data() + number.size(), value);
    constexpr double kLongest = 1e15;
    const double whole = value * ns;
    if (end.ec != std::errc() || end.ptr != number.data() + number.size()) return std::nullopt;
    if (!(whole >= 1 && whole <= kLongest)) return std::nullopt;
    return static_cast<int64_t>(whole);
  }
  return std::nullopt;
}

}  // namespace

Result<Objectives> ParseObjectives(std::string_view text) {
  Objectives objectives;
  for (const auto& item : base::Split(text, ',')) {
    const size_t equals = item.find('=');
    const std::string_view name = std::string_view(item).substr(0, equals);
    int64_t* target = name == "ttft"  ? &objectives.ttft_ns
                      : name == "itl" ? &objectives.itl_ns
                      : name == "e2e" ? &objectives.e2e_ns
                                      : nullptr;
    const auto time = equals == std::string::npos
                          ? std::nullopt
                          : ParseTime(std::string_view(item).substr(equals + 1));
    if (target == nullptr || !time) {
      return base::InvalidArgumentError(
          Concat("an objective must be ttft, itl or e2e with a time, as in ttft=500ms,itl=50ms; '",
                 item, "' is none"));
    }
    *target = *time;
  }
  return objectives;
}

std::vector<std::string> ReasonParts(const RequestTime& time) {
  const auto words = [&](const RequestReason& reason) {
    return PartWords(reason.part, reason.excess_ns, time.slow_rank);
  };
  if (time.is_slow && time.reasons.size() > 1) {
    return {"request_reason.two", AsArgument(words(time.reasons[0])),
            AsArgument(words(time.reasons[1]))};
  }
  if (time.is_slow && !time.reasons.empty()) return words(time.reasons[0]);
  const auto& parts = time.whole.parts.ns;
  const auto longest = std::max_element(parts.begin(), parts.end());
  const auto part = static_cast<RequestPart>(longest - parts.begin());
  return {"request_reason.usual", Concat("@request_part.", KeyOfPart(part)), TimeText(*longest)};
}

std::string ReasonOf(const RequestTime& time, Language language) {
  const std::vector<std::string> parts = ReasonParts(time);
  return FilledText(parts[0], {parts.begin() + 1, parts.end()}, language);
}

std::vector<std::string> CauseParts(const RequestTimes& times, const SlowCause& cause) {
  const bool changes = TimeText(cause.p99_ns) != TimeText(cause.p99_without_ns);
  return {changes ? "slow_request" : "slow_request.below_p99",
          TimeText(cause.p99_ns),
          TimeText(cause.p99_without_ns),
          std::to_string(cause.requests),
          std::to_string(times.requests.size()),
          AsArgument(PartWords(cause.part, cause.wait_ns, cause.slow_rank)),
          TimeText(cause.begin_ns - times.begin_ns),
          TimeText(cause.end_ns - times.begin_ns)};
}

}  // namespace sonde::recipes
