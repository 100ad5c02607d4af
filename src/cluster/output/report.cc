#include "cluster/output/report.h"

#include <algorithm>

#include "base/count_of.h"
#include "base/files.h"
#include "base/strings.h"
#include "cluster/output/chart.h"
#include "cluster/output/write.h"
#include "report/chart.h"
#include "report/html.h"

namespace sonde::cluster {
namespace {

using base::Concat;
using report::Escaped;

constexpr size_t kMostReportRows = 500;

constexpr std::string_view kStyle = R"(
p, li { max-width: 46em; } .scroll { border: 1px solid var(--line); } table { width: 100%; }
th, td { white-space: nowrap; max-width: 28em; overflow: hidden; text-overflow: ellipsis; }
th { cursor: pointer; } td.number { text-align: right; }
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
                            Escaped(info.result.meaning), "; ", base::CountOf(table.rows(), "row"));
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
  std::string html = Concat("<p>", Escaped(mode.summary), ".</p>");
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
  html += Concat("<script>", kScript, "</script>");
  const std::string style = Concat(kStyle, report::kChartStyle);
  return report::PageHtml({.language = "en", .title = mode.name, .style = style}, html);
}

Status WriteReport(const Mode& mode, const Outcome& outcome, const std::string& folder,
                   Written& written) {
  const std::string path = base::JoinPath(base::JoinPath(folder, mode.folder), "report.html");
  SONDE_RETURN_IF_ERROR(base::WriteFileAtomically(path, ReportHtml(mode, outcome)));
  written.files.push_back(path);
  return {};
}

}  // namespace sonde::cluster
