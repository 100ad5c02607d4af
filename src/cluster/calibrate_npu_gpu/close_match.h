// The text of some that is most like another, as Python's difflib.get_close_matches finds it.
//
//   ratio   2 * characters in common runs / characters of both (base/host/common_runs.h), of
//   characters
//           that are popular in a long text none begins a run
// Characters are bytes. Pure, any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sonde::cluster {

double MatchRatio(std::string_view text, std::string_view wanted);

// Of those with the greatest ratio, `cutoff` at least, the last by name; null: there is none.
const std::string* CloseMatch(std::string_view wanted, const std::vector<std::string>& choices,
                              double cutoff);

}  // namespace sonde::cluster
