// Pages that need nothing else: styles, charts and scripts stand in them, light and dark follow the
// reader's system. Pure, any thread.
#pragma once

#include <string>
#include <string_view>

namespace sonde::report {

// A foreign text for HTML and SVG.
std::string Escaped(std::string_view text);

struct Page {
  std::string_view language;  // "en"
  std::string_view title;     // also its heading
  std::string_view style;     // what the common style lacks
};

// `body` follows the heading. The common style has the colours --text, --soft, --line, --ground,
// --card, --fill and --mark, tables, .soft and .scroll.
std::string PageHtml(const Page& page, std::string_view body);

}  // namespace sonde::report
