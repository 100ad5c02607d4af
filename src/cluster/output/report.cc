#include "cluster/output/report.h"

#include <algorithm>

#include "base/files.h"
#include "base/strings.h"
#include "cluster/output/chart.h"
#include "cluster/output/write.h"

namespace sonde::cluster {
namespace {

using base::Concat;

constexpr size_t kMostReportRows = 500;

constexpr std::string_view kStyle = R"(
:root { color-scheme: light dark; --text: #1b1f24; --soft: #57606a; --line: #d0d7de;
  --ground: #ffffff; --fill: #4477aa; --mark: #cc3311; }
@media (prefers-color-scheme: dark) { :root { --text: #e6edf3; --soft: #9198a1; --line: #3d444d;
  --ground: #0d1117; --fill: #6699cc; --mark: #ee7733; } }
body { font: 14px/1.45 system-ui, sans-serif; color: var(--text); background: var(--ground);
  max-width: 1080px; margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.5em; } h2 { font-size: 1.15em; margin-top: 2em; }
p, li { max-width: 46em; } .soft { color: var(--soft); }
.scroll { overflow: auto; max-height: 32em; border: 1px solid var(--line); }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: 3px 8px; border-bottom: 1px solid var(--line); text-align: left;
  white-space: nowrap; max-width: 28em; overflow: hidden; text-overflow: ellipsis; }
th { position: sticky; top: 0; background: var(--ground); cursor: pointer; }
td.number { text-align: right; }
svg { width: 100%; height: auto; margin: .5em 0; } svg text { font-size: 12px; }
.label { fill: var(--text); text-anchor: end; } .tick { fill: var(--soft); text-anchor: middle; }
.grid { stroke: var(--line); } .whisker { stroke: var(--soft); }
.box { fill: var(--fill); } .median { fill: var(--mark); }
)";

// Sorts a table by the column whose heading is clicked.
constexpr std::string_view kScript = R"(
for (const head of document.querySelectorAll("th")) head.addEventListener("click", () => {
  const body = head.closest("table").tBodies[0], at = head.cellIndex;
  const down = head.dataset.down !== "1"; head.dataset.down = down ? "1" : "0";
  const value = (row) => row.cells[at].dataset.value ?? row.cells[at].textContent;
  const rows = [...body.rows].sort((a, b) => {
    const x = value(a), y = value(b), d = Number(x) - Number(y);
    return (Number.isNaN(d) ? x.localeCompare(y) : d) * (down ? -1 : 1);
  });
  body.append(...rows);
});
)";

std::string CellHtml(const Cell& cell, double divisor) {
  if (std::holds_alternative<std::monostate>(cell)) return "<td></td>";
  if (const auto* text = std::get_if<std::string>(&cell)) {
    return Concat("<td title=\"", Escaped(*text), "\">", Escaped(*text), "</td>");
  }
  const auto* integer = std::get_if<int64_t>(&cell);
  const double value = integer != nullptr ? static_cast<double>(*integer) : std::get<double>(cell);
  std::string shown = std::to_string(integer != nullptr ? *integer : 0);
  const std::string exact = base::PythonDoubleText(value / divisor);
  if (integer == nullptr || divisor != 1) {
    char rounded[64];
    std::snprintf(rounded, sizeof(rounded), "%.6g", value / divisor);
    shown = rounded;
  }
  return Concat("<td class=\"number\" data-value=\"", exact, "\" title=\"", exact, "\">", shown,
                "</td>");
}

std::string TableHtml(const Table& table) {
  const TableInfo& info = table.info();
  std::string html = Concat("<h2>", Escaped(info.reference_name), "</h2><p class=\"soft\">",
                            Escaped(info.result.meaning), "; ", std::to_string(table.rows()),
                            table.rows() == 1 ? " row" : " rows");
  if (table.rows() > kMostReportRows) {
    html += Concat(", the first ", std::to_string(kMostReportRows), " of which are shown");
  }
  html += Concat("</p>", ChartSvg(table), "<div class=\"scroll\"><table><thead><tr>");
  std::vector<double> divisors;
  for (size_t i = 0; i < info.names.size(); ++i) {
    const bool is_shown = info.names[i].text != "-";
    const TextColumn heading = TextHeading(is_shown ? info.names[i] : ColumnNames{"#", ""});
    divisors.push_back(heading.divisor);
    html += Concat("<th title=\"", Escaped(info.result.columns[i].meaning), "\">",
                   Escaped(heading.heading), "</th>");
  }
  html += "</tr></thead><tbody>";
  for (size_t row = 0; row < std::min(table.rows(), kMostReportRows); ++row) {
    html += "<tr>";
    for (size_t i = 0; i < table.columns(); ++i) html += CellHtml(table.At(row, i), divisors[i]);
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>";
}

}  // namespace

std::string ReportHtml(const Mode& mode, const Outcome& outcome) {
  std::string html = Concat(
      "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\"><title>",
      mode.name, "</title><style>", kStyle, "</style></head><body><h1>", mode.name, "</h1><p>",
      Escaped(mode.summary), ".</p>");
  if (!outcome.findings.empty()) html += "<ul>";
  for (const recipes::Finding& finding : outcome.findings) {
    html += Concat("<li>", Escaped(recipes::TextOf(finding, recipes::Language::kEnglish)), "</li>");
  }
  if (!outcome.findings.empty()) html += "</ul>";
  for (const std::string& notice : outcome.notices) {
    html += Concat("<p class=\"soft\">", Escaped(notice), "</p>");
  }
  for (const Table& table : outcome.tables) {
    if (table.rows() > 0) html += TableHtml(table);
  }
  return html + Concat("<script>", kScript, "</script></body></html>\n");
}

Status WriteReport(const Mode& mode, const Outcome& outcome, const std::string& folder,
                   Written& written) {
  const std::string path = base::JoinPath(base::JoinPath(folder, mode.folder), "report.html");
  SONDE_RETURN_IF_ERROR(base::WriteFileAtomically(path, ReportHtml(mode, outcome)));
  written.files.push_back(path);
  return {};
}

}  // namespace sonde::cluster
