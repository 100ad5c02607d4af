// The comparison as one page that needs nothing else: sentences, stages, causes, the difference as
// a flame graph and as a tree, sheets. Light and dark follow the reader's system; names of traces
// are escaped.
#include "report/html.h"

#include <algorithm>
#include <cmath>

#include "base/count_of.h"
#include "base/host/fixed.h"
#include "base/strings.h"
#include "compare/output/write.h"

namespace sonde::compare {
namespace {

using base::Concat;
using report::Escaped;

constexpr std::string_view kStyle = R"(
:root { --longer: #f2b8b5; --shorter: #a8d8b0; --same: #d8dee4; }
@media (prefers-color-scheme: dark) { :root { --longer: #7d3633; --shorter: #2c5e38;
  --same: #30363d; } }
body { max-width: 1280px; } .number { text-align: right; white-space: nowrap; }
th, td { padding: 3px 10px 3px 0; vertical-align: top; max-width: 32em; overflow-wrap: anywhere; }
th { color: var(--soft); font-weight: 400; }
.flame { position: relative; } .flame div { position: absolute; height: 19px; overflow: hidden;
  white-space: nowrap; font-size: 11px; line-height: 19px; padding: 0 2px; box-sizing: border-box;
  border-right: 1px solid var(--ground); background: var(--same); }
.flame .longer { background: var(--longer); } .flame .shorter { background: var(--shorter); }
.tree { margin-left: 1.2em; } .tree div { padding-left: 1.05em; }
.longer b { border-bottom: 3px solid var(--longer); }
.shorter b { border-bottom: 3px solid var(--shorter); }
)";

std::string Milliseconds(double value) { return base::Fixed(value, 3); }

std::string Signed(double value) { return Concat(value < 0 ? "" : "+", Milliseconds(value)); }

std::string NumberCell(double value) {
  return Concat("<td class=\"number\">", Milliseconds(value), "</td>");
}

std::string HtmlCell(std::string_view text) { return Concat("<td>", Escaped(text), "</td>"); }

std::string Headings(std::initializer_list<std::string_view> names) {
  std::string html = "<thead><tr>";
  for (const std::string_view name : names) html += Concat("<th>", name, "</th>");
  return html + "</tr></thead>";
}

// Both sides and their difference, with its interval where there is one.
std::string TimeCells(double base_ms, double comparison_ms, double low_ms, double high_ms,
                      Verdict verdict) {
  std::string html = NumberCell(base_ms) + NumberCell(comparison_ms);
  html += Concat("<td class=\"number\">", Signed(comparison_ms - base_ms), "</td>");
  html += verdict == Verdict::kOneStep
              ? std::string("<td></td>")
              : Concat("<td class=\"number\">", Signed(low_ms), " … ", Signed(high_ms), "</td>");
  return html + HtmlCell(TextOf(verdict));
}

std::string StagesHtml(const Judgement& judgement) {
  std::string html = "<h2>Stages of a step</h2><table>" +
                     Headings({"stage", "base ms", "under study ms", "difference ms",
                               "99 % interval", "verdict"}) +
                     "<tbody>";
  for (const Stage& stage : judgement.stages) {
    html += Concat("<tr>", HtmlCell(NameOf(stage)),
                   TimeCells(stage.base.mean_ms, stage.comparison.mean_ms, stage.low_ms,
                             stage.high_ms, stage.verdict),
                   "</tr>\n");
  }
  return html + "</tbody></table>";
}

std::string CausesHtml(const Judgement& judgement) {
  if (judgement.causes.empty()) return "<h2>Causes</h2><p>None was found.</p>";
  std::string html = "<h2>Causes, in milliseconds a step</h2><div class=\"scroll\"><table>" +
                     Headings({"cause", "of", "module", "base ms", "under study ms",
                               "difference ms", "interval", "verdict"}) +
                     "<tbody>";
  for (const Cause& cause : judgement.causes) {
    html += Concat(
        "<tr>", HtmlCell(TextOf(cause.cause)), HtmlCell(cause.subject), HtmlCell(cause.module),
        TimeCells(cause.base_ms, cause.comparison_ms, cause.low_ms, cause.high_ms, cause.verdict),
        "</tr>\n");
  }
  return html + "</tbody></table></div>";
}

// Colour by the change of a node as a share of its larger side.
std::string_view LeanOf(const TreeNode& node) {
  const double larger = std::max(node.base_ms, node.comparison_ms);
  constexpr double kSame = 0.02;
  const double lean = larger > 0 ? (node.comparison_ms - node.base_ms) / larger : 0;
  return lean > kSame ? "longer" : lean < -kSame ? "shorter" : "same";
}

std::string TimesText(const TreeNode& node) {
  return Concat(Milliseconds(node.base_ms), " → ", Milliseconds(node.comparison_ms), " ms");
}

using Children = std::vector<std::vector<size_t>>;  // by number of the node above

Children ChildrenOf(const std::vector<TreeNode>& tree) {
  Children children(tree.size());
  for (size_t i = 0; i < tree.size(); ++i) {
    if (tree[i].parent >= 0) children[static_cast<size_t>(tree[i].parent)].push_back(i);
  }
  return children;
}

// Boxes as wide as on the side where they take longer, each row below the one above it.
class Flame {
 public:
  Flame(const std::vector<TreeNode>& tree, const Children& children)
      : tree_(tree), children_(children) {}

  std::string Html() {
    Draw(0, 0, 100);
    constexpr int kRow = 20;
    return Concat(
        "<h2>Flame graph of the difference</h2><p class=\"soft\">red takes longer than "
        "in the base, green shorter</p><div class=\"flame\" style=\"height:",
        std::to_string(kRow * (deepest_ + 1)), "px\">", boxes_, "</div>");
  }

 private:
  static double Wider(const TreeNode& node) { return std::max(node.base_ms, node.comparison_ms); }

  void Draw(size_t at, double left, double width) {
    constexpr double kLeast = 0.2;  // percent
    if (width < kLeast) return;
    const TreeNode& node = tree_[at];
    deepest_ = std::max(deepest_, node.depth);
    const std::string name = Escaped(node.name);
    boxes_ += Concat("<div class=\"", LeanOf(node), "\" style=\"left:", Milliseconds(left),
                     "%;width:", Milliseconds(width), "%;top:", std::to_string(20 * node.depth),
                     "px\" title=\"", name, ": ", TimesText(node), "\">", name, "</div>\n");
    double whole = Wider(node);
    double sum = 0;
    for (const size_t child : children_[at]) sum += Wider(tree_[child]);
    whole = std::max(whole, sum);
    for (const size_t child : children_[at]) {
      const double share = whole > 0 ? width * Wider(tree_[child]) / whole : 0;
      Draw(child, left, share);
      left += share;
    }
  }

  const std::vector<TreeNode>& tree_;
  const Children& children_;
  std::string boxes_;
  int32_t deepest_ = 0;
};

void WriteNode(const std::vector<TreeNode>& tree, const Children& children, size_t at,
               std::string& html) {
  const TreeNode& node = tree[at];
  const std::string line =
      Concat("<span class=\"", LeanOf(node), "\"><b>", Escaped(node.name), "</b></span> ",
             TimesText(node), " (", Signed(node.comparison_ms - node.base_ms),
             ") <span class=\"soft\">", node.kind, ", ", TextOf(node.verdict), "</span>");
  if (children[at].empty()) {
    html += Concat("<div>", line, "</div>\n");
    return;
  }
  constexpr int32_t kOpen = 2;
  html += Concat("<details", node.depth < kOpen ? " open" : "", "><summary>", line,
                 "</summary><div class=\"tree\">");
  for (const size_t child : children[at]) WriteNode(tree, children, child, html);
  html += "</div></details>\n";
}

std::string TreeHtml(const std::vector<TreeNode>& tree) {
  if (tree.empty()) return {};
  const Children children = ChildrenOf(tree);
  std::string html = Flame(tree, children).Html();
  html += "<h2>The difference as a tree</h2>";
  WriteNode(tree, children, 0, html);
  return html;
}

std::string CellHtml(const Cell& cell) {
  if (const auto* integer = std::get_if<int64_t>(&cell)) {
    return Concat("<td class=\"number\">", std::to_string(*integer), "</td>");
  }
  if (const auto* real = std::get_if<double>(&cell)) {
    return Concat("<td class=\"number\">", std::isinf(*real) ? "INF" : NumberText(*real), "</td>");
  }
  const auto* text = std::get_if<std::string>(&cell);
  return HtmlCell(text == nullptr ? std::string_view() : *text);
}

std::string SheetHtml(const Sheet& sheet) {
  constexpr size_t kShown = 200;
  const size_t shown = std::min(sheet.rows.size(), kShown);
  std::string html =
      Concat("<details><summary>", sheet.info->name, ": ", base::CountOf(sheet.rows.size(), "row"),
             "</summary><p class=\"soft\">", Escaped(sheet.info->meaning),
             "</p><div class=\"scroll\"><table><thead><tr>");
  for (const Column& column : sheet.info->columns) {
    html += Concat("<th>", Escaped(FullName(column)), "</th>");
  }
  html += "</tr></thead><tbody>";
  for (size_t i = 0; i < shown; ++i) {
    html += "<tr>";
    for (const Cell& cell : sheet.rows[i].cells) html += CellHtml(cell);
    html += "</tr>\n";
  }
  html += "</tbody></table></div>";
  if (shown < sheet.rows.size()) {
    html += Concat("<p class=\"soft\">", std::to_string(sheet.rows.size() - shown),
                   " more rows: --export_type excel, csv or db has all</p>");
  }
  return html + "</details>\n";
}

std::string SentencesHtml(const Report& report) {
  std::string html = "<ul>";
  const std::string sentences = SentencesOf(report.judgement);
  for (const std::string_view line : base::Split(sentences, '\n')) {
    if (!line.empty()) html += Concat("<li>", Escaped(line), "</li>");
  }
  for (const std::string& notice : report.notices) {
    html += Concat("<li class=\"soft\">", Escaped(notice), "</li>");
  }
  return html + "</ul>";
}

}  // namespace

std::string HtmlOf(const Report& report) {
  std::string html = Concat("<p class=\"soft\">under study: ", Escaped(report.comparison_path),
                            "<br>base: ", Escaped(report.base_path), "</p>", SentencesHtml(report));
  html += StagesHtml(report.judgement) + CausesHtml(report.judgement);
  html += TreeHtml(report.judgement.tree) + "<h2>Tables</h2>\n";
  for (const Sheet& sheet : report.sheets) html += SheetHtml(sheet);
  return report::PageHtml({.language = "en", .title = "Two traces side by side", .style = kStyle},
                          html);
}

}  // namespace sonde::compare
