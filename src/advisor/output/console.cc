#include <algorithm>
#include <array>

#include "advisor/output/write.h"
#include "base/strings.h"

namespace sonde::advisor {
namespace {

using base::Concat;

constexpr size_t kColumns = 4;
using Row = std::array<std::string, kColumns>;

size_t WidthOf(std::string_view line) {
  size_t width = 0;
  for (const char c : line) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) ++width;
    if (byte >= 0xC0) width += byte >= 0xE0 ? 2 : 1;
  }
  return width;
}

// Framed, each row below a line, texts of several lines in one row.
std::string Framed(const std::vector<Row>& rows) {
  std::array<size_t, kColumns> widths{};
  for (const Row& row : rows) {
    for (size_t i = 0; i < kColumns; ++i) {
      for (const std::string_view line : base::Split(row[i], '\n')) {
        widths[i] = std::max(widths[i], WidthOf(line));
      }
    }
  }
  std::string rule = "+";
  for (const size_t width : widths) rule += std::string(width + 2, '-') + "+";
  std::string text = rule + "\n";
  for (const Row& row : rows) {
    size_t height = 1;
    for (const std::string& cell : row) height = std::max(height, base::Split(cell, '\n').size());
    for (size_t line = 0; line < height; ++line) {
      text += '|';
      for (size_t i = 0; i < kColumns; ++i) {
        const auto lines = base::Split(row[i], '\n');
        const std::string_view part = line < lines.size() ? lines[line] : std::string_view();
        text += Concat(" ", part, std::string(widths[i] - WidthOf(part), ' '), " |");
      }
      text += '\n';
    }
    text += rule + "\n";
  }
  return text;
}

std::string TableOf(const Report& report, bool is_reference) {
  const bool is_chinese = report.language == Language::kChinese;
  std::vector<Row> rows = {is_chinese ? Row{"No.", "类型", "描述", "建议"}
                                      : Row{"No.", "Category", "Description", "Suggestion"}};
  for (const Advice& advice : report.advice) {
    if (advice.rule->is_reference != is_reference || advice.is_for_files) continue;
    std::string suggestions;
    for (size_t i = 0; i < advice.suggestions.size(); ++i) {
      suggestions += Concat(i == 0 ? "" : "\n", std::to_string(i + 1), ". ", advice.suggestions[i]);
    }
    rows.push_back(
        {std::to_string(rows.size()), advice.title, advice.description, std::move(suggestions)});
  }
  return rows.size() > 1 ? Framed(rows) : std::string();
}

}  // namespace

std::string ConsoleText(const Report& report) {
  const bool is_chinese = report.language == Language::kChinese;
  if (report.advice.empty()) return "Finish analysis, no optimization suggestions\n";
  std::string text = TableOf(report, true);
  const std::string ours = TableOf(report, false);
  if (!ours.empty()) {
    text += Concat(is_chinese ? "\nmsprof-analyze 没有的规则：\n"
                              : "\nOf rules that msprof-analyze does not have:\n",
                   ours);
  }
  text += is_chinese ? "\n依据：\n" : "\nEvidence:\n";
  for (const Advice& advice : report.advice) {
    const std::string rank =
        advice.rank >= 0 ? Concat(" (rank ", std::to_string(advice.rank), ")") : "";
    text += Concat("  ", advice.title, rank, ": ", EvidenceText(report, advice), "\n");
  }
  return text;
}

}  // namespace sonde::advisor
