// The text of some that is most like another, as Python's difflib.get_close_matches finds it.
//
//   ratio   2 * characters in matching blocks / characters of both; the longest block that both
//           have is found first, then those before and behind it
//   junk    in texts of 200 characters and more such as make up more than one of a hundred begin no
//           block
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
