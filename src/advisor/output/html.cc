// The report as one page that needs nothing else: styles and pictures stand in it, light and dark
// follow the reader's system. Texts of traces are escaped.
#include <algorithm>
#include <cmath>

#include "advisor/output/write.h"
#include "base/strings.h"
#include "cluster/output/chart.h"

namespace sonde::advisor {
namespace {

using base::Concat;
using cluster::Escaped;

constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --text: #1b1f24; --soft: #57606a; --line: #d0d7de;
  --ground: #ffffff; --card: #f6f8fa; --fill: #4477aa; }
@media (prefers-color-scheme: dark) { :root { --text: #e6edf3; --soft: #9198a1; --line: #3d444d;
  --ground: #0d1117; --card: #151b23; --fill: #6699cc; } }
body { font: 14px/1.5 system-ui, sans-serif; color: var(--text); background: var(--ground);
  max-width: 1080px; margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.5em; } h2 { font-size: 1.2em; margin-top: 1.6em; }
details { border: 1px solid var(--line); border-left: 6px solid var(--line); border-radius: 4px;
  background: var(--card); margin: .6em 0; padding: .4em .9em; }
summary { cursor: pointer; font-weight: 600; } .soft { color: var(--soft); }
.high { border-left-color: #B5495B; } .medium { border-left-color: #fcaf17; }
.low { border-left-color: #65c294; } .pre { white-space: pre-wrap; }
.key { display: inline-block; width: 1em; height: 1em; vertical-align: -2px; margin: 0 .3em 0 1em; }
.scroll { overflow: auto; max-height: 26em; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 3px 8px; border-bottom: 1px solid var(--line); text-align: left;
  vertical-align: top; white-space: pre-wrap; max-width: 32em; overflow-wrap: anywhere; }
th { position: sticky; top: 0; background: var(--card); }
code { background: var(--ground); border: 1px solid var(--line); border-radius: 3px;
  padding: 1px 4px; } svg text { fill: var(--text); font-size: 12px; }
)";

constexpr size_t kShownRows = 10;

struct Words {
  std::string_view title, priority, high, medium, low, evidence, suggestions, more, place, sure,
      silent, of_reference;
};
constexpr Words kEnglish = {"Performance Optimization Suggestions",
                            "Optimization Priority:",
                            "High",
                            "Medium",
                            "Low",
                            "Evidence",
                            "Suggestions",
                            " more rows in the workbook",
                            "See it in the timeline: start",
                            "confidence",
                            "Rules that were not asked, and what they lack",
                            "a rule of Sonde"};
constexpr Words kChinese = {"性能优化建议",
                            "优化优先级：",
                            "高",
                            "中",
                            "低",
                            "依据",
                            "建议",
                            " 行见工作簿",
                            "在时间线中查看：启动",
                            "置信度",
                            "未判断的规则及其缺少的数据",
                            "Sonde 的规则"};

const Words& WordsOf(const Report& report) {
  return report.language == Language::kChinese ? kChinese : kEnglish;
}

// Bars of the advice by what they could gain, else by their time, the largest first.
std::string Picture(const Report& report) {
  struct Bar {
    std::string_view title;
    double us;
  };
  std::vector<Bar> bars;
  for (const Advice& advice : report.advice) {
    if (advice.rule->section == Section::kOverall) continue;
    if (advice.evidence.gain_us > 0) bars.push_back({advice.title, advice.evidence.gain_us});
  }
  std::stable_sort(bars.begin(), bars.end(),
                   [](const Bar& a, const Bar& b) { return a.us > b.us; });
  if (bars.empty()) return {};
  constexpr int kHeight = 22;
  constexpr double kWidth = 480;
  const bool is_chinese = report.language == Language::kChinese;
  std::string svg =
      Concat("<p class=\"soft\">",
             is_chinese ? "每条建议最多可节省的时间" : "What each advice could gain at most",
             "</p><svg role=\"img\" width=\"960\" "
             "viewBox=\"0 0 960 ",
             std::to_string(kHeight * bars.size()), "\">");
  for (size_t i = 0; i < bars.size(); ++i) {
    const std::string y = std::to_string(kHeight * i);
    const std::string text_y = std::to_string(kHeight * i + 15);
    const int width = std::max(1, static_cast<int>(kWidth * bars[i].us / bars[0].us));
    svg += Concat("<text x=\"0\" y=\"", text_y, "\">", Escaped(bars[i].title),
                  "</text><rect x=\"300\" y=\"", y, "\" height=\"16\" width=\"",
                  std::to_string(width), "\" fill=\"var(--fill)\"/><text x=\"",
                  std::to_string(308 + width), "\" y=\"", text_y, "\">",
                  base::FormatDuration(static_cast<int64_t>(bars[i].us * 1e3)), "</text>");
  }
  return svg + "</svg>";
}

std::string TableHtml(const Report& report, const AdviceSheet& sheet) {
  if (sheet.rows.empty()) return {};
  const bool is_short = sheet.rows.size() <= 2 * kShownRows;
  const size_t shown = is_short ? sheet.rows.size() : kShownRows;
  std::string html = "<div class=\"scroll\"><table><thead><tr>";
  for (const std::string& column : sheet.columns) html += Concat("<th>", Escaped(column), "</th>");
  html += "</tr></thead><tbody>";
  for (size_t i = 0; i < shown; ++i) {
    html += "<tr>";
    for (const Value& value : sheet.rows[i]) {
      html += Concat("<td>", Escaped(TextOf(value)), "</td>");
    }
    html += "</tr>\n";
  }
  html += "</tbody></table></div>";
  if (shown < sheet.rows.size()) {
    html += Concat("<p class=\"soft\">", std::to_string(sheet.rows.size() - shown),
                   WordsOf(report).more, "</p>");
  }
  return html;
}

// The page of the trace shows the slice; the port is the reader's choice.
std::string PlaceHtml(const Report& report, const Advice& advice) {
  const std::string command = PlaceCommand(advice);
  if (command.empty()) return {};
  const std::string port = std::to_string(kViewPort);
  return Concat("<p>", WordsOf(report).place, " <code>", Escaped(command), " --port ", port,
                "</code> → <a href=\"http://127.0.0.1:", port,
                "/#slice=0:", std::to_string(advice.evidence.place_slice),
                "\">#slice=0:", std::to_string(advice.evidence.place_slice), "</a></p>");
}

// One of those that share a block.
std::string PartHtml(const Report& report, const Advice& advice) {
  const Words& words = WordsOf(report);
  std::string html = Concat("<p class=\"pre\">", Escaped(advice.description), "</p>");
  if (!advice.suggestions.empty()) {
    html += Concat("<p><b>", words.suggestions, "</b></p><ol>");
    for (const std::string& text : advice.suggestions) {
      html += Concat("<li class=\"pre\">", Escaped(text), "</li>");
    }
    html += "</ol>";
  }
  char sure[32];
  std::snprintf(sure, sizeof(sure), "%.2g", advice.rule->confidence);
  html += Concat("<p class=\"soft\">", words.evidence, ": ", Escaped(EvidenceText(report, advice)),
                 "; ", words.sure, " ", sure, advice.rule->is_reference ? "" : "; ",
                 advice.rule->is_reference ? "" : words.of_reference, "</p>");
  html += PlaceHtml(report, advice) + TableHtml(report, advice.sheet);
  for (const AdviceSheet& sheet : advice.more_sheets) {
    html += Concat("<p>", Escaped(sheet.name), "</p>", TableHtml(report, sheet));
  }
  return html;
}

// The blocks of a section: advice with one title behind each other is one.
std::string SectionHtml(const Report& report, Section section) {
  std::string html;
  const Advice* last = nullptr;
  for (const Advice& advice : report.advice) {
    if (advice.rule->section != section) continue;
    if (last == nullptr || last->block != advice.block || last->rank != advice.rank) {
      html += Concat(last == nullptr ? "" : "</details>\n", "<details open class=\"",
                     NameOf(advice.priority), "\" data-rule=\"", Escaped(advice.rule->name),
                     "\"><summary>", Escaped(advice.block), "</summary>");
    }
    html += PartHtml(report, advice);
    last = &advice;
  }
  if (last == nullptr) return {};
  return Concat("<section><h2>", NameOf(section), "</h2>\n", html, "</details>\n</section>");
}

std::string SilencesHtml(const Report& report) {
  if (report.silences.empty()) return {};
  std::string html =
      Concat("<details><summary>", WordsOf(report).silent, "</summary><ul class=\"soft\">");
  for (const Silence& silence : report.silences) {
    html += Concat("<li>", Escaped(silence.rule), ": ", Escaped(silence.why), "</li>");
  }
  return html + "</ul></details>";
}

std::string Legend(const Words& words) {
  return Concat("<p>", words.priority, "<span class=\"key\" style=\"background:#B5495B\"></span>",
                words.high, "<span class=\"key\" style=\"background:#fcaf17\"></span>",
                words.medium, "<span class=\"key\" style=\"background:#65c294\"></span>", words.low,
                "</p>");
}

}  // namespace

std::string HtmlOf(const Report& report) {
  const Words& words = WordsOf(report);
  std::string html = Concat(
      "<!doctype html><html lang=\"", report.language == Language::kChinese ? "zh" : "en",
      "\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">",
      "<title>", words.title, "</title><style>", kStyle, "</style></head><body><h1>", words.title,
      "</h1><p class=\"soft\">", Escaped(report.path), "</p>", Legend(words), Picture(report));
  for (size_t i = 0; i < kSections; ++i) html += SectionHtml(report, static_cast<Section>(i));
  return html + SilencesHtml(report) + "</body></html>\n";
}

}  // namespace sonde::advisor
