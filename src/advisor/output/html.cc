// The report as one page that needs nothing else: styles and pictures stand in it, light and dark
// follow the reader's system. Texts of traces are escaped.
#include "report/html.h"

#include <algorithm>
#include <cmath>

#include "advisor/output/needs.h"
#include "advisor/output/write.h"
#include "base/strings.h"
#include "report/chart.h"

namespace sonde::advisor {
namespace {

using base::Concat;
using report::Escaped;

constexpr std::string_view kStyle = R"(
details { border: 1px solid var(--line); border-left: 6px solid var(--line); border-radius: 4px;
  background: var(--card); margin: .6em 0; padding: .4em .9em; }
summary { font-weight: 600; } .high { border-left-color: #B5495B; }
.medium { border-left-color: #fcaf17; } .low { border-left-color: #65c294; }
.pre { white-space: pre-wrap; }
.key { display: inline-block; width: 1em; height: 1em; vertical-align: -2px; margin: 0 .3em 0 1em; }
th, td { vertical-align: top; white-space: pre-wrap; max-width: 32em; overflow-wrap: anywhere; }
th { background: var(--card); }
code { background: var(--ground); border: 1px solid var(--line); border-radius: 3px;
  padding: 1px 4px; }
)";

constexpr size_t kShownRows = 10;

struct Words {
  std::string_view title, priority, high, medium, low, evidence, suggestions, more, place, sure,
      silent, of_reference, statement;
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
                            "a rule of Sonde",
                            "The rows behind it"};
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
                            "Sonde 的规则",
                            "所依据的各行"};

const Words& WordsOf(const Report& report) {
  return report.language == Language::kChinese ? kChinese : kEnglish;
}

// Bars of the advice by what they could gain, the largest first.
std::string Picture(const Report& report) {
  std::vector<report::ChartRow> bars;
  for (const Advice& advice : report.advice) {
    if (advice.rule->section == Section::kOverall || !(advice.evidence.gain_us > 0)) continue;
    bars.push_back({advice.title, {advice.evidence.gain_us * 1e3}});
  }
  if (bars.empty()) return {};
  std::stable_sort(bars.begin(), bars.end(),
                   [](const auto& a, const auto& b) { return a.values[0] > b.values[0]; });
  const std::string_view what = report.language == Language::kChinese
                                    ? "每条建议最多可节省的时间"
                                    : "What each advice could gain at most";
  return Concat("<p class=\"soft\">", what, "</p>", report::BarChart(bars, what, "ns"));
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

// How one asks for what was judged.
std::string StatementHtml(const Report& report, const Advice& advice) {
  const Evidence& evidence = advice.evidence;
  if (evidence.statement.empty()) return {};
  return Concat("<details><summary class=\"soft\">", WordsOf(report).statement, "</summary><pre>",
                Escaped(QueryCommand(advice)), "</pre></details>");
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
  html += PlaceHtml(report, advice) + StatementHtml(report, advice);
  html += TableHtml(report, advice.sheet);
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
    html += Concat("<li>", Escaped(silence.rule), ": ", Escaped(NeedText(silence, report.language)),
                   "</li>");
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
  std::string html =
      Concat("<p class=\"soft\">", Escaped(report.path), "</p>", Legend(words), Picture(report));
  for (size_t i = 0; i < kSections; ++i) html += SectionHtml(report, static_cast<Section>(i));
  html += SilencesHtml(report);
  const std::string style = Concat(kStyle, report::kChartStyle);
  const std::string_view language = report.language == Language::kChinese ? "zh" : "en";
  return report::PageHtml({.language = language, .title = words.title, .style = style}, html);
}

}  // namespace sonde::advisor
