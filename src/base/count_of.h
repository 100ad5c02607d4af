// A number and what it counts, in words: "1 row", "3 rows", "1 step is", "2 steps are".
//
// Results are the caller's. Any thread. No errors.
#pragma once

#include <concepts>
#include <string>
#include <string_view>

namespace sonde::base {

// `many` is what more than one (or none) is called: `one` with an "s", if it is empty.
template <std::integral Count>
std::string CountOf(Count count, std::string_view one, std::string_view many = {}) {
  std::string text = std::to_string(count);
  text += ' ';
  if (count == 1 || many.empty()) {
    text += one;
    if (count != 1) text += 's';
  } else {
    text += many;
  }
  return text;
}

}  // namespace sonde::base
