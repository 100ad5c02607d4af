// Limits from which the rules of findings fire, and their sources. Included by the rules
// that use one, and by no header: a new limit recompiles only these.
#pragma once

#include <string_view>

namespace sonde::recipes {

struct Limit {
  double value;
  std::string_view unit;
  std::string_view source;
};

inline constexpr Limit kUnevenShare = {
    0.05, "", "the advisor of msprof-analyze names uneven ranks from (max - min) / mean > 0.05 on"};
inline constexpr Limit kWaitedShare = {
    0.5, "",
    "of what it computes longer, others must have waited half: noise does not make ranks wait"};
inline constexpr Limit kDeliveredShare = {
    0.01, "", "delivered times are rounded otherwise than ours, by far less than this"};
inline constexpr Limit kDeliveredUs = {100, "us",
                                       "and what is less than this changes no conclusion"};
inline constexpr Limit kReasonShare = {
    0.5, "", "a part that explains less than half of an excess does not explain it alone"};
inline constexpr Limit kSlowSpreads = {
    6, "", "spreads above the usual: of normally distributed requests one of a thousand million"};
inline constexpr Limit kSlowRequestShare = {
    1, "",
    "of its usual time longer: neighbours on a busy machine caused 0.9 where nothing was planted"};
inline constexpr Limit kSlowTtftShare = {1, "", "the same of the time to the first token: twice"};
inline constexpr Limit kSlowPauseShare = {2, "", "the same of the longest pause: three times"};
inline constexpr Limit kSlowRequestMs = {20, "ms", "a reader of the answer notices no less"};
inline constexpr Limit kSlowTtftMs = {50, "ms", "the same before the first token"};
inline constexpr Limit kSlowPauseMs = {100, "ms", "the same between two tokens"};
inline constexpr Limit kCoverageShare = {
    0.99, "", "of what a summary speaks for; what is missing below it may change its figures"};
inline constexpr Limit kCopiesShare = {
    0.05, "", "of the device's time: as the advisor's rule for copies of pageable memory"};
inline constexpr Limit kSlowLinkShare = {
    0.2, "",
    "links of one kind differ by load and distance by a tenth; beyond a fifth of the median it "
    "is worth a look"};

}  // namespace sonde::recipes
