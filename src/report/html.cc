#include "report/html.h"

#include "base/strings.h"

namespace sonde::report {
namespace {

constexpr std::string_view kCommonStyle = R"(
:root { color-scheme: light dark; --text: #1b1f24; --soft: #57606a; --line: #d0d7de;
  --ground: #ffffff; --card: #f6f8fa; --fill: #4477aa; --mark: #cc3311; }
@media (prefers-color-scheme: dark) { :root { --text: #e6edf3; --soft: #9198a1; --line: #3d444d;
  --ground: #0d1117; --card: #151b23; --fill: #6699cc; --mark: #ee7733; } }
body { font: 14px/1.5 system-ui, sans-serif; color: var(--text); background: var(--ground);
  max-width: 1080px; margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.5em; } h2 { font-size: 1.2em; margin-top: 1.6em; } .soft { color: var(--soft); }
summary { cursor: pointer; } .scroll { overflow: auto; max-height: 30em; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 3px 8px; border-bottom: 1px solid var(--line); text-align: left; }
th { position: sticky; top: 0; background: var(--ground); }
)";

std::string_view EntityOf(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    default:
      return {};
  }
}

}  // namespace

std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const std::string_view entity = EntityOf(c);
    entity.empty() ? out += c : out += entity;
  }
  return out;
}

std::string PageHtml(const Page& page, std::string_view body) {
  return base::Concat("<!doctype html><html lang=\"", page.language,
                      "\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
                      "content=\"width=device-width\"><title>",
                      page.title, "</title><style>", kCommonStyle, page.style,
                      "</style></head><body><h1>", page.title, "</h1>", body, "</body></html>\n");
}

}  // namespace sonde::report
