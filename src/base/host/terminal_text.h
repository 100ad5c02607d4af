// Foreign text on its way to a terminal: names in a trace may hold sequences that clear the screen,
// change its title or hide what follows.
//
// Control characters become '?', those of C1 (U+0080 to U+009F) and bytes that are no UTF-8 too, as
// do the marks that reverse the direction of writing. Pure.
#pragma once

#include <string>
#include <string_view>

namespace sonde::base {

// Line breaks and tabs stay.
std::string ForTerminal(std::string_view text);
// Line breaks and tabs become blanks.
std::string ForTerminalLine(std::string_view text);
// JSON as it is, but with "\u009b" and the like for what a terminal would obey: the same values.
std::string JsonForTerminal(std::string_view json);

}  // namespace sonde::base
