// Numbers with a fixed count of decimals. Pure, any thread.
#pragma once

#include <charconv>
#include <string>

namespace sonde::base {

// 1.5 to two decimals: "1.50"; not finite: "inf", "nan".
inline std::string Fixed(double value, int decimals) {
  char text[400];  // the largest double has 309 digits
  const auto end =
      std::to_chars(text, text + sizeof(text), value, std::chars_format::fixed, decimals);
  return {text, end.ptr};
}

}  // namespace sonde::base
